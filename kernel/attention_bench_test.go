package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkAttention times whole calls on one thread, named for benchstat. `go
// run ./bench` times the same shapes beside the machine's FMA peak.
func BenchmarkAttention(b *testing.B) {
	for _, s := range []struct {
		name string
		c    attnCase
	}{
		{"A", attnCase{b: 1, h: 8, hkv: 8, lq: 1024, lk: 1024, d: 64, dv: 64}},
		{"B", attnCase{b: 1, h: 4, hkv: 4, lq: 2048, lk: 2048, d: 128, dv: 128, mask: Causal(0)}},
		{"C", attnCase{b: 1, h: 32, hkv: 8, lq: 1, lk: 4096, d: 128, dv: 128}},
		{"D", attnCase{b: 1, h: 12, hkv: 12, lq: 128, lk: 128, d: 64, dv: 64}},
		{"E", attnCase{b: 1, h: 4, hkv: 4, lq: 2048, lk: 2048, d: 128, dv: 128}},
		{"M", attnCase{b: 1, h: 12, hkv: 12, lq: 128, lk: 128, d: 32, dv: 32}},
		{"S1", attnCase{b: 1, h: 12, hkv: 12, lq: 1, lk: 1, d: 64, dv: 64}},
		{"S8", attnCase{b: 1, h: 12, hkv: 12, lq: 8, lk: 8, d: 64, dv: 64}},
		{"S16", attnCase{b: 1, h: 12, hkv: 12, lq: 16, lk: 16, d: 64, dv: 64}},
		{"S32", attnCase{b: 1, h: 12, hkv: 12, lq: 32, lk: 32, d: 64, dv: 64}},
	} {
		q, k, v := s.c.inputs()
		out := s.c.tensor(1, s.c.h, s.c.lq, s.c.dv, 0)
		flop := 4 * float64(s.c.h*s.c.lq*s.c.lk*s.c.d)
		if s.c.mask.n > 0 {
			flop /= 2
		}
		for i := range tiers {
			if tiers[i].lacks() != "" {
				continue
			}
			b.Run(fmt.Sprintf("shape=%s/tier=%s", s.name, tiers[i].name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := Attention(out, q, k, v, Options{Tier: tiers[i].name, Mask: s.c.mask, Threads: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
