package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A benchShape is a shape that `go run ./bench` times beside the machine's FMA peak.
type benchShape struct {
	name string
	c    contracttest.Case
}

var benchShapes = []benchShape{
	{"A", contracttest.Case{B: 1, H: 8, HKV: 8, Lq: 1024, Lk: 1024, D: 64, Dv: 64}},
	{"B", contracttest.Case{B: 1, H: 4, HKV: 4, Lq: 2048, Lk: 2048, D: 128, Dv: 128, Mask: contracttest.Causal(0)}},
	{"C", contracttest.Case{B: 1, H: 32, HKV: 8, Lq: 1, Lk: 4096, D: 128, Dv: 128}},
	{"D", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 128, Lk: 128, D: 64, Dv: 64}},
	{"E", contracttest.Case{B: 1, H: 4, HKV: 4, Lq: 2048, Lk: 2048, D: 128, Dv: 128}},
	{"M", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 128, Lk: 128, D: 32, Dv: 32}},
	{"S1", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 1, Lk: 1, D: 64, Dv: 64}},
	{"S4", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 4, Lk: 4, D: 64, Dv: 64}},
	{"S8", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 8, Lk: 8, D: 64, Dv: 64}},
	{"S16", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 16, Lk: 16, D: 64, Dv: 64}},
	{"S32", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 32, Lk: 32, D: 64, Dv: 64}},
}

// flop is the number of floating point operations that the bench counts: half
// for causal shapes.
func (s benchShape) flop() float64 {
	n := 4 * float64(s.c.H*s.c.Lq*s.c.Lk*s.c.D)
	if s.c.Mask.IsSet() {
		n /= 2
	}
	return n
}

// run times f, which does the shape once.
func (s benchShape) run(b *testing.B, f func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(s.flop()*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkAttention times whole calls on one thread, named for benchstat.
func BenchmarkAttention(b *testing.B) {
	for _, s := range benchShapes {
		q, k, v := s.c.Inputs()
		out := s.c.Out()
		for _, tier := range kernel.Tiers() {
			b.Run(fmt.Sprintf("shape=%s/tier=%s", s.name, tier), func(b *testing.B) {
				o := s.c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
				s.run(b, func() error { return kernel.Attention(out, q, k, v, &o) })
			})
		}
	}
}

// BenchmarkTypes times calls with other element types on one thread.
func BenchmarkTypes(b *testing.B) {
	for _, s := range benchShapes {
		for _, types := range []contracttest.Types{
			{}, contracttest.Uniform(kernel.Float16), contracttest.Uniform(kernel.BFloat16),
			contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32),
			contracttest.TypesOf(kernel.Float32, kernel.Float8E4M3, kernel.Float8E4M3, kernel.Float32),
		} {
			s.c.Types = types
			q, k, v := s.c.Typed(s.c.Inputs())
			out := s.c.Out()
			for _, tier := range kernel.Tiers() {
				b.Run(fmt.Sprintf("shape=%s/types=%v/tier=%s", s.name, types, tier), func(b *testing.B) {
					o := s.c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
					s.run(b, func() error { return kernel.Attention(out, q, k, v, &o) })
				})
			}
		}
	}
}

// BenchmarkQuantized times calls on one thread with float32, and with caches of integers that are
// widened and with sums of integers.
func BenchmarkQuantized(b *testing.B) {
	for _, s := range benchShapes {
		q, k, v := s.c.Inputs()
		out := s.c.Out()
		run := func(name string, k, v kernel.Tensor, quantized bool) {
			for _, tier := range kernel.Tiers() {
				b.Run(fmt.Sprintf("shape=%s/kind=%s/tier=%s", s.name, name, tier), func(b *testing.B) {
					o := s.c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: kernel.Scoring{DynamicInt12: quantized}})
					s.run(b, func() error { return kernel.Attention(out, q, k, v, &o) })
				})
			}
		}
		run("float32", k, v, false)
		for _, c := range []cache{{kernel.Int8, 0}, {kernel.Int8, 64}, {kernel.Int4, 32}} {
			k, v := c.of(k), c.of(v)
			run(c.String(), k, v, false)
			run(c.String()+",quantized", k, v, true)
		}
	}
}

// BenchmarkBFloat16 times calls on one thread with float32, and with tensors of bfloat16 without
// products in bfloat16 and with them.
func BenchmarkBFloat16(b *testing.B) {
	for _, s := range benchShapes {
		q, k, v := s.c.Inputs()
		out := s.c.Out()
		run := func(name string, q, k, v kernel.Tensor, rounds bool) {
			for _, tier := range kernel.Tiers() {
				b.Run(fmt.Sprintf("shape=%s/kind=%s/tier=%s", s.name, name, tier), func(b *testing.B) {
					o := s.c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: kernel.Scoring{BFloat16: rounds}})
					s.run(b, func() error { return kernel.Attention(out, q, k, v, &o) })
				})
			}
		}
		run("float32", q, k, v, false)
		half := func(x kernel.Tensor) kernel.Tensor { return contracttest.As(x, kernel.BFloat16) }
		q, k, v = half(q), half(k), half(v)
		run("bfloat16", q, k, v, false)
		run("bfloat16,products", q, k, v, true)
	}
}

// BenchmarkWidth times the large shapes with each tile width of a tier as the main one:
// the figures by which MainLanes is chosen.
func BenchmarkWidth(b *testing.B) {
	for _, s := range benchShapes {
		if s.c.Lq < 128 {
			continue
		}
		q, k, v := s.c.Inputs()
		out := s.c.Out()
		for _, tier := range kernel.Tiers() {
			if tier == contracttest.Generic() {
				continue
			}
			for _, lanes := range contracttest.Tier(b, tier).Widths {
				b.Run(fmt.Sprintf("shape=%s/tier=%s/width=%d", s.name, tier, lanes), func(b *testing.B) {
					tier, err := tier.Tuned(fmt.Sprintf("MainLanes=%d", lanes))
					if err != nil {
						b.Fatal(err)
					}
					o := s.c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
					s.run(b, func() error { return kernel.Attention(out, q, k, v, &o) })
				})
			}
		}
	}
}

// BenchmarkRagged times decoding on one thread and on two: sequences of very different
// lengths in one call, and one long sequence, whose blocks are spread over threads.
func BenchmarkRagged(b *testing.B) {
	const h, hkv, d = 8, 2, 64
	for name, lengths := range map[string][]int{
		"batch": {4000, 120, 900, 33, 2500, 17, 700, 1300, 260, 5, 6100, 350, 80, 1024, 2048, 12},
		"long":  {20000},
	} {
		keys, queries := []int{0}, []int{0}
		for x, n := range lengths {
			keys, queries = append(keys, keys[x]+n), append(queries, x+1)
		}
		tokens := keys[len(lengths)]
		q := kernel.Ragged(testutil.Floats(len(lengths)*h*d), queries, h, d)
		out := kernel.Ragged(make([]float32, len(lengths)*h*d), queries, h, d)
		k, v := kernel.Ragged(testutil.Floats(tokens*hkv*d), keys, hkv, d), kernel.Ragged(testutil.Floats(tokens*hkv*d), keys, hkv, d)
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Threads: threads}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(2*tokens*hkv*d*4*b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}

// BenchmarkAdditive is a decoder's step: a query each for 32 sequences of 512 states.
func BenchmarkAdditive(b *testing.B) {
	c := contracttest.Case{B: 32, H: 1, HKV: 1, Lq: 1, Lk: 512, D: 512, Dv: 512}
	q, k, v := c.Inputs()
	out, weights := c.Out(), testutil.Filled(c.D, .125)
	for _, tier := range kernel.Tiers() {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("tier=%s/threads=%d", tier, threads), func(b *testing.B) {
				for b.Loop() {
					if err := kernel.Additive(out, q, k, v, weights, &kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(32*512*512), "ns/tanh")
			})
		}
	}
}
