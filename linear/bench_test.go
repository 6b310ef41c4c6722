package linear_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// BenchmarkLinear times layers with many rows (GFLOP/s) and few (GB/s of weights), on
// one thread, named for benchstat.
func BenchmarkLinear(b *testing.B) {
	for _, size := range [][3]int{
		{128, 768, 768}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
		{1, 768, 768}, {1, 8192, 4096}, {2, 8192, 4096}, {4, 8192, 4096}, {8, 8192, 4096}, {16, 8192, 4096}, {32, 8192, 4096},
	} {
		m, n, k := size[0], size[1], size[2]
		for _, c := range eachType(testCase{m: m, n: n, k: k}) {
			bytes, name := 2*n*k, c.dtype.String() // of the weights
			switch {
			case c.rounds:
				name = "bfloat16,products"
			case c.dtype == kernel.Float32:
				bytes *= 2
			}
			if c.format != 0 {
				bytes, name = n*k/32*blockSize(c.format), c.format.String()
			}
			if c.int8 {
				name += "/int8"
			}
			var x, out matrix
			var l *linear.Linear
			for _, tier := range kernel.Tiers() {
				b.Run(fmt.Sprintf("size=%dx%dx%d/type=%v/tier=%s", m, n, k, name, tier), func(b *testing.B) {
					if tier == contracttest.Generic() && m*n*k > 1<<27 {
						b.Skip("takes long")
					}
					if l == nil {
						r := testutil.Rand(1)
						x, out = c.input(&r, m, k), c.output()
						w := c.weights(&r)
						l = w.layer(b, nil)
					}
					for b.Loop() {
						if err := l.Apply(out.Matrix, x.Matrix, c.options(tier, 1)); err != nil {
							b.Fatal(err)
						}
					}
					ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					b.ReportMetric(2*float64(m)*float64(n)*float64(k)/ns, "GFLOP/s")
					b.ReportMetric(float64(bytes)/ns, "GB/s")
				})
			}
		}
	}
}

// BenchmarkNew packs weights, beside a copy of them into new memory. Run it with GOMAXPROCS=1
// for figures of one thread.
func BenchmarkNew(b *testing.B) {
	for _, size := range [][2]int{{384, 384}, {1536, 384}, {4096, 4096}} {
		benchmarkNew[float32](b, size[0], size[1])
		benchmarkNew[kernel.F16](b, size[0], size[1])
	}
}

func benchmarkNew[E kernel.Float](b *testing.B, n, k int) {
	w := hugepages.Make[E](n * k)
	for i := range w {
		w[i] = E(i % 91)
	}
	m := linear.DenseMatrix(w, n, k)
	for name, f := range map[string]func(){
		"copy":    func() { copy(hugepages.Make[E](n*k), w) },
		"rows":    func() { mustNew(b, m, nil) },
		"columns": func() { mustNew(b, linear.DenseMatrix(w, k, n).T(), nil) },
	} {
		b.Run(fmt.Sprintf("size=%dx%d/type=%v/weights=%s", n, k, m.DType(), name), func(b *testing.B) {
			b.SetBytes(int64(n * k * int(unsafe.Sizeof(w[0]))))
			for b.Loop() {
				f()
			}
		})
	}
}

// BenchmarkFromBlocks packs quantized weights on one thread.
func BenchmarkFromBlocks(b *testing.B) {
	const n, k = 1536, 2048
	for _, f := range slices.Concat(singleFormats, groupedFormats) {
		b.Run("format="+f.String(), func(b *testing.B) {
			c := testCase{n: n, k: k, format: f}
			r := testutil.Rand(1)
			w := c.weights(&r)
			for b.Loop() {
				w.layer(b, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*k/32), "ns/block")
		})
	}
}

// BenchmarkBackward times each gradient of square layers on one thread, with Apply beside it:
// GFLOP/s, and GB/s of dy for the bias.
func BenchmarkBackward(b *testing.B) {
	for _, size := range []int{128, 512, 1024} {
		for _, tier := range kernel.Tiers() {
			if tier == contracttest.Generic() {
				continue
			}
			c := backwardCase{m: size, n: size, k: size, seed: 1}
			d := c.data()
			l := mustNew(b, d.w.Matrix, nil)
			opts := linear.ProductOptions{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			run := func(name string, call func() error) {
				b.Run(fmt.Sprintf("size=%d/of=%s/tier=%s", size, name, tier), func(b *testing.B) {
					for b.Loop() {
						if err := call(); err != nil {
							b.Fatal(err)
						}
					}
					ns, n := float64(b.Elapsed().Nanoseconds())/float64(b.N), float64(size)
					if name == "Bias" {
						b.ReportMetric(4*n*n/ns, "GB/s")
					} else {
						b.ReportMetric(2*n*n*n/ns, "GFLOP/s")
					}
				})
			}
			backward := func(g linear.Gradients) func() error {
				return func() error { return linear.Backward(g, d.dy.Matrix, d.x.Matrix, d.w.Matrix, opts) }
			}
			run("Apply", func() error { return l.Apply(d.dx.Matrix, d.x.Matrix, options(tier, 1)) })
			run("Product", func() error { return linear.Product(d.dx.Matrix, d.x.Matrix, d.w.Matrix, opts) })
			run("X", backward(linear.Gradients{X: d.dx.Matrix}))
			run("W", backward(linear.Gradients{W: d.dw.Matrix}))
			run("Bias", backward(linear.Gradients{Bias: d.db}))
		}
	}
}
