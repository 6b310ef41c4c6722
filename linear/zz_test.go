package linear_test

import (
	"fmt"
	"os"
	"testing"
	"time"
	"slices"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	for _, size := range [][3]int{{128, 768, 768}, {512, 384, 384}, {512, 1536, 384}, {512, 384, 1536}, {16, 768, 768}, {8, 768, 768}, {4, 768, 768}, {2, 768, 768}, {1, 768, 768}, {16, 4096, 4096}, {8, 4096, 4096}, {4, 4096, 4096}, {2, 4096, 4096}, {1, 4096, 4096}} {
		m, n, k := size[0], size[1], size[2]
		c := testCase{m: m, n: n, k: k, kind: testutil.Mantissas}
		x, w, _ := c.inputs()
		out := c.output()
		l32, _ := linear.New(w.Matrix, nil, kernel.Exec{})
		lb, _ := linear.RoundBFloat16(w.Matrix, nil, kernel.Exec{})
		wb := w
		round(&wb, func(x float32) kernel.BF16 { return kernel.BF16(uint32(0)) })
		for _, tn := range []string{"avx512", "avx2"} {
			tier, err := kernel.TierNamed(tn)
			if err != nil {
				continue
			}
			var a, b []float64
			reps := max(1, 20_000_000/(m*n*k))
			for range 15 {
				for i, l := range []*linear.Linear{l32, lb} {
					s := time.Now()
					for range reps {
						l.Apply(out.Matrix, x.Matrix, linear.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
					}
					d := time.Since(s).Seconds() / float64(reps)
					if i == 0 {
						a = append(a, d)
					} else {
						b = append(b, d)
					}
				}
			}
			slices.Sort(a)
			slices.Sort(b)
			fmt.Printf("%-14s %-7s float32 %9.1f us %6.1f GF   bf16 %9.1f us   share %.3f (median %.3f)\n", fmt.Sprintf("%dx%dx%d", m, n, k), tn, a[0]*1e6, 2*float64(m*n*k)/a[0]/1e9, b[0]*1e6, a[0]/b[0], a[7]/b[7])
		}
	}
}
