//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
)

// A benchShape is one of the shapes that `go run ./bench` times beside the
// machine's FMA peak.
type benchShape struct {
	name string
	c    contracttest.Case
}

var benchShapes = []benchShape{
	{"A", contracttest.Case{B: 1, H: 8, HKV: 8, Lq: 1024, Lk: 1024, D: 64, Dv: 64}},
	{"B", contracttest.Case{B: 1, H: 4, HKV: 4, Lq: 2048, Lk: 2048, D: 128, Dv: 128, Mask: kernel.Causal(0)}},
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
	if s.c.Mask.n > 0 {
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
		out := s.c.Tensor(1, s.c.H, s.c.Lq, s.c.Dv, 0)
		for i := range tiers {
			if tiers[i].lacks() != "" {
				continue
			}
			b.Run(fmt.Sprintf("shape=%s/tier=%s", s.name, tiers[i].name), func(b *testing.B) {
				o := kernel.Options{Exec: kernel.Exec{Tier: tiers[i].name, Threads: 1}, Mask: s.c.Mask}
				s.run(b, func() error { return kernel.Attention(out, q, k, v, o) })
			})
		}
	}
}

// BenchmarkTypes times calls with other element types on one thread.
func BenchmarkTypes(b *testing.B) {
	for _, s := range benchShapes {
		for _, types := range []contracttest.Types{
			{}, {kernel.Float16, kernel.Float16, kernel.Float16, kernel.Float16}, {kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.BFloat16}, {kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32},
		} {
			s.c.Types = types
			q, k, v := s.c.Typed(s.c.Inputs())
			out := s.c.contracttest.As(Tensor(1, s.c.H, s.c.Lq, s.c.Dv, 0), types.Out)
			for i := range tiers {
				if tiers[i].lacks() != "" {
					continue
				}
				b.Run(fmt.Sprintf("shape=%s/types=%v/tier=%s", s.name, types, tiers[i].name), func(b *testing.B) {
					o := kernel.Options{Exec: kernel.Exec{Tier: tiers[i].name, Threads: 1}, Mask: s.c.Mask}
					s.run(b, func() error { return kernel.Attention(out, q, k, v, o) })
				})
			}
		}
	}
}

// BenchmarkWidth times the large shapes with each panel width of a tier as the
// main one: the figures by which a tier's main is chosen.
func BenchmarkWidth(b *testing.B) {
	for _, s := range benchShapes {
		if s.c.Lq < 128 {
			continue
		}
		q, k, v := s.c.Inputs()
		out := s.c.Tensor(1, s.c.H, s.c.Lq, s.c.Dv, 0)
		for i := range tiers {
			if tiers[i].lacks() != "" || tiers[i].name == "generic" {
				continue
			}
			for _, p := range tiers[i].panels {
				b.Run(fmt.Sprintf("shape=%s/tier=%s/width=%d", s.name, tiers[i].name, p.lanes), func(b *testing.B) {
					j := s.c.job(tiers[i].withMain(p.lanes), out, q, k, v)
					s.run(b, func() error { j.run(nil); return nil })
				})
			}
		}
	}
}
