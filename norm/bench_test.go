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
			if !tier.Runs {
				continue
			}
			o := norm.Options{Exec: kernel.Exec{Tier: tier.Name, Threads: 1}}
			run("norm=RMS/tier="+tier.Name, func() error { return norm.RMS(t(y), t(x), w, 1e-5, o) })
			run("norm=Layer/tier="+tier.Name, func() error { return norm.Layer(t(y), t(x), w, bias, 1e-5, o) })
		}
		run("copy", func() error {
			copy(y, x)
			return nil
		})
	}
}
