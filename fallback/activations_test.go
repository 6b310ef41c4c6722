package fallback

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
)

// The slices hold what single numbers give, also in place.
func TestActivationSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for _, f := range []struct {
		name  string
		of    func(x float32) float32
		slice func(dst, src []float32)
		gated func(dst, gate, up []float32)
	}{{"SiLU", scalar.SiLU, unary(scalar.SiLU), gated(scalar.SiLU)}, {"GELU", scalar.GELU, unary(scalar.GELU), gated(scalar.GELU)}, {"GELUTanh", scalar.GELUTanh, unary(scalar.GELUTanh), gated(scalar.GELUTanh)}} {
		x, up, got := make([]float32, 100), make([]float32, 100), make([]float32, 99)
		fill(r, x)
		fill(r, up)
		check := func(gated bool) {
			t.Helper()
			for j, y := range got {
				want := f.of(x[j])
				if gated {
					want = float32(want * up[j])
				}
				if math.Float32bits(y) != math.Float32bits(want) {
					t.Fatalf("%s, gated %v: of %x, %x is %x, want %x", f.name, gated, x[j], up[j], y, want)
				}
			}
		}
		f.slice(got, x)
		check(false)
		f.gated(got, x, up)
		check(true)
		copy(got, x)
		f.slice(got, got)
		check(false)
		copy(got, x)
		f.gated(got, got, up)
		check(true)
		copy(got, up)
		f.gated(got, x, got)
		check(true)
	}
}
