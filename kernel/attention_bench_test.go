package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// A benchShape is one of the shapes that `go run ./bench` times beside the
// machine's FMA peak.
type benchShape struct {
	name string
	c    attnCase
}

var benchShapes = []benchShape{
	{"A", attnCase{b: 1, h: 8, hkv: 8, lq: 1024, lk: 1024, d: 64, dv: 64}},
	{"B", attnCase{b: 1, h: 4, hkv: 4, lq: 2048, lk: 2048, d: 128, dv: 128, mask: kernel.Causal(0)}},
	{"C", attnCase{b: 1, h: 32, hkv: 8, lq: 1, lk: 4096, d: 128, dv: 128}},
	{"D", attnCase{b: 1, h: 12, hkv: 12, lq: 128, lk: 128, d: 64, dv: 64}},
	{"E", attnCase{b: 1, h: 4, hkv: 4, lq: 2048, lk: 2048, d: 128, dv: 128}},
	{"M", attnCase{b: 1, h: 12, hkv: 12, lq: 128, lk: 128, d: 32, dv: 32}},
	{"S1", attnCase{b: 1, h: 12, hkv: 12, lq: 1, lk: 1, d: 64, dv: 64}},
	{"S4", attnCase{b: 1, h: 12, hkv: 12, lq: 4, lk: 4, d: 64, dv: 64}},
	{"S8", attnCase{b: 1, h: 12, hkv: 12, lq: 8, lk: 8, d: 64, dv: 64}},
	{"S16", attnCase{b: 1, h: 12, hkv: 12, lq: 16, lk: 16, d: 64, dv: 64}},
	{"S32", attnCase{b: 1, h: 12, hkv: 12, lq: 32, lk: 32, d: 64, dv: 64}},
}

// flop is the number of floating point operations that the bench counts: half
// for causal shapes.
func (s benchShape) flop() float64 {
	n := 4 * float64(s.c.h*s.c.lq*s.c.lk*s.c.d)
	if s.c.mask.n > 0 {
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
		q, k, v := s.c.inputs()
		out := s.c.tensor(1, s.c.h, s.c.lq, s.c.dv, 0)
		for i := range tiers {
			if tiers[i].lacks() != "" {
				continue
			}
			b.Run(fmt.Sprintf("shape=%s/tier=%s", s.name, tiers[i].name), func(b *testing.B) {
				o := kernel.Options{Exec: kernel.Exec{Tier: tiers[i].name, Threads: 1}, Mask: s.c.mask}
				s.run(b, func() error { return kernel.Attention(out, q, k, v, o) })
			})
		}
	}
}

// BenchmarkTypes times calls with other element types on one thread.
func BenchmarkTypes(b *testing.B) {
	for _, s := range benchShapes {
		for _, types := range []callTypes{
			{}, {kernel.Float16, kernel.Float16, kernel.Float16, kernel.Float16}, {kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.BFloat16}, {kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32},
		} {
			s.c.types = types
			q, k, v := s.c.typed(s.c.inputs())
			out := s.c.tensor(1, s.c.h, s.c.lq, s.c.dv, 0).as(types.out)
			for i := range tiers {
				if tiers[i].lacks() != "" {
					continue
				}
				b.Run(fmt.Sprintf("shape=%s/types=%v/tier=%s", s.name, types, tiers[i].name), func(b *testing.B) {
					o := kernel.Options{Exec: kernel.Exec{Tier: tiers[i].name, Threads: 1}, Mask: s.c.mask}
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
		if s.c.lq < 128 {
			continue
		}
		q, k, v := s.c.inputs()
		out := s.c.tensor(1, s.c.h, s.c.lq, s.c.dv, 0)
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
