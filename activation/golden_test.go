package activation_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestGolden: these bits were computed once, and every tier and architecture has them. The numbers
// go from the tiniest to those beyond the limits of all functions.
func TestGolden(t *testing.T) {
	const n = 40000
	x, up := make([]float32, n), testutil.Floats(n)
	for i := range x {
		bits := uint32(i/2) * (0x43000000 / (n / 2)) // up to 128
		x[i] = math.Float32frombits(bits | uint32(i)<<31)
	}
	contracttest.EachDefault(t, func(t *testing.T) {
		dst := make([]float32, n)
		for _, f := range []struct {
			name, want string
			run        func() error
		}{
			{name: "SiLU", want: "54c6069263efc9733e452d7d535f78adb3eff0d04d587d1d8f183af9042f2986", run: func() error { return activation.SiLU(dst, x, kernel.Exec{}) }},
			{name: "GELU", want: "f561bfea3043477cc2a1c26abfb1c0c044d7f1110cdc3d54a86ff963e2a2ea1c", run: func() error { return activation.GELU(dst, x, kernel.Exec{}) }},
			{name: "GELUTanh", want: "e1c95253637dd4a3fe6ea8a8028b4a71eca1ed060fd9c3d9039db523ce37a3c1", run: func() error { return activation.GELUTanh(dst, x, kernel.Exec{}) }},
			{name: "SwiGLU", want: "5b8be54a22f6fd252d6576d6e0d107fd1285efcc428ef9a9a07c7dd369732806", run: func() error { return activation.SwiGLU(dst, x, up, kernel.Exec{}) }},
			{name: "GeGLU", want: "d6cbac0f90c243d28f47edb9ea8c1e568d9ddcfcfa8a64fa7dd5053d3340e091", run: func() error { return activation.GeGLU(dst, x, up, kernel.Exec{}) }},
			{name: "GeGLUTanh", want: "055467ad73428193a101c8fb1f8db3ad392e629783c713282cbce08c14bca7a6", run: func() error { return activation.GeGLUTanh(dst, x, up, kernel.Exec{}) }},
		} {
			if err := f.run(); err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			for _, y := range dst {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != f.want {
				t.Errorf("%s: sha256 %s, want %s", f.name, got, f.want)
			}
		}
	})
}
