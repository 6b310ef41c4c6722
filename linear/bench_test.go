package linear_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// BenchmarkLinear times layers with many rows (GFLOP/s) and few (GB/s of weights), on one
// thread, named for benchstat.
func BenchmarkLinear(b *testing.B) {
	for _, size := range [][3]int{
		{128, 768, 768}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
		{1, 768, 768}, {1, 8192, 4096}, {2, 8192, 4096}, {4, 8192, 4096}, {8, 8192, 4096}, {16, 8192, 4096}, {32, 8192, 4096},
	} {
		for dtype := range kernel.Int8 {
			m, n, k := size[0], size[1], size[2]
			c := linearCase{m: m, n: n, k: k, dtype: dtype}
			var x, out linear.Matrix
			var l *linear.Linear
			eachKernelTier(func(t *tier) {
				b.Run(fmt.Sprintf("size=%dx%dx%d/type=%v/tier=%s", m, n, k, dtype, t.name), func(b *testing.B) {
					if t.name == "generic" && m*n*k > 1<<27 {
						b.Skip("takes long")
					}
					if l == nil {
						r := rng(1)
						x, out = c.matrix(&r, m, k), c.output()
						l = mustLinear(b, c.weights(&r), nil)
					}
					for b.Loop() {
						if err := l.Apply(out, x, linear.Options{Exec: kernel.Exec{Tier: t.name, Threads: 1}}); err != nil {
							b.Fatal(err)
						}
					}
					ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					b.ReportMetric(2*float64(m)*float64(n)*float64(k)/ns, "GFLOP/s")
					b.ReportMetric(float64(4*len(l.f32)+2*len(l.u16))/ns, "GB/s")
				})
			})
		}
	}
}

// eachKernelTier calls f for every tier that runs here.
func eachKernelTier(f func(t *tier)) {
	for i := range tiers {
		if tiers[i].lacks() == "" {
			f(&tiers[i])
		}
	}
}
