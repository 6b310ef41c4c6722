package norm_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// BenchmarkNorm times 128 rows on one thread with each tier, and beside it a mere copy of them.
// It reports the time of an element.
func BenchmarkNorm(b *testing.B) {
	const rows = 128
	for _, d := range []int{384, 576, 4096} {
		x, y, w, bias := testutil.Floats(rows*d), make([]float32, rows*d), testutil.Floats(d), testutil.Floats(d)
		t := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, rows, 1, d) }
		run := func(name string, call func() error) {
			b.Run(fmt.Sprintf("%s/d=%d", name, d), func(b *testing.B) {
				for b.Loop() {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*d), "ns/elem")
			})
		}
		for _, tier := range kernel.Tiers() {
			o := norm.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			run("norm=RMS/tier="+tier.String(), func() error { return norm.RMSNorm(t(y), t(x), w, 1e-5, o) })
			run("norm=Layer/tier="+tier.String(), func() error { return norm.LayerNorm(t(y), t(x), w, bias, 1e-5, o) })
		}
		run("copy", func() error {
			copy(y, x)
			return nil
		})
	}
}

// BenchmarkBackward times the gradients of 128 rows on one thread. It reports the GB/s of dy, x and
// the gradient of x.
func BenchmarkBackward(b *testing.B) {
	const rows = 128
	for _, d := range []int{384, 4096} {
		x, dy, dx, w := testutil.Floats(rows*d), testutil.Floats(rows*d), make([]float32, rows*d), testutil.Floats(d)
		t := func(data []float32) kernel.Tensor { return kernel.BHLD(data, 1, 1, rows, d) }
		run := func(name string, call func(g norm.Gradients, dy, x kernel.Tensor, weight []float32, eps float32, o norm.BackwardOptions) error) {
			g := norm.Gradients{X: t(dx), Weight: make([]float32, d)}
			b.Run(fmt.Sprintf("norm=%s/d=%d", name, d), func(b *testing.B) {
				for b.Loop() {
					if err := call(g, t(dy), t(x), w, 1e-5, norm.BackwardOptions{Exec: kernel.Exec{Threads: 1}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(12*rows*float64(d)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
			})
		}
		run("RMS", norm.RMSNormBackward)
		run("Layer", norm.LayerNormBackward)
	}
}
