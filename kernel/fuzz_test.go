package kernel

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// FuzzAttention draws shapes, layouts, masks, scales, threads, element types and poison, and
// compares every tier with the contract computed row by row. Numbers that make
// no valid call must give a typed error.
func FuzzAttention(f *testing.F) {
	f.Add(uint64(1), 1, 2, 1, 5, 300, 16, 16, 0, -1, 0, float32(0), 2, uint(37))
	f.Add(uint64(2), 2, 2, 2, 70, 70, 7, 9, 1, 0, -1, float32(0.5), 1, uint(74))
	f.Add(uint64(3), 1, 4, 2, 1, 513, 8, 8, 2, 512, 400, float32(0), 3, uint(111))
	f.Add(uint64(4), 3, 1, 1, 17, 257, 33, 1, 2, 240, 256, float32(-2), 4, uint(4))
	f.Add(uint64(5), 1, 6, 2, 25, 31, 64, 64, 0, 6, 9, float32(0), 2, uint(41))
	f.Add(uint64(6), 1, 3, 2, 4, 4, 4, 4, 0, 0, 0, float32(0), 1, uint(78))    // heads do not divide
	f.Add(uint64(7), 1, 1, 1, -4, 4, 4, 4, 0, 0, 0, float32(0), 1, uint(115))  // negative length
	f.Add(uint64(8), 1, 1, 1, 4, 4, 4, 4, 0, 0, 0, float32(1e30), -1, uint(8)) // negative threads
	f.Fuzz(func(t *testing.T, seed uint64, b, h, hkv, lq, lk, d, dv, lay, causal, length int, scale float32, threads int, types uint) {
		if max(b, h, hkv, lq, d, dv) > 100 || lk > 1100 || min(b, h, hkv, lq, lk, d, dv) < -100 ||
			max(1, b)*max(1, h)*max(1, lq)*max(1, lk)*max(1, d+dv) > 4<<20 || threads > 64 {
			t.Skip("too large for a fuzz step")
		}
		c := attnCase{b: b, h: h, hkv: hkv, lq: lq, lk: lk, d: d, dv: dv, scale: scale, seed: seed, layout: layout(uint(lay) % uint(layouts)), types: allTypes()[types%uint(len(allTypes()))]}
		if causal >= 0 {
			c.mask = Causal(causal - lk/2)
		}
		if length >= 0 {
			lengths := make([]int, max(b, 0))
			for i := range lengths {
				lengths[i] = max(0, length-i)
			}
			c.mask = c.mask.And(KeyLengths(lengths))
		}
		valid := min(b, h, hkv, lq, lk) >= 0 && min(d, dv) >= 1 && threads >= 0 &&
			(h == 0 || hkv != 0) && (hkv == 0 || h%hkv == 0) && (length <= lk || b == 0) &&
			!math.IsNaN(float64(scale)) && !math.IsInf(float64(scale), 0)
		if !valid {
			fuzzInvalid(t, c, threads)
			return
		}
		q, k, v := c.inputs()
		fuzzPoison(rng(seed), q, k, v)
		q, k, v = c.typed(q, k, v)
		want := c.contract(q, k, v)
		eachTier(t, func(t *testing.T, tier *tier) {
			got := c.run(t, q, k, v, Options{Tier: tier.name, Threads: threads})
			same(t, fmt.Sprint(c), &got, &want)
		})
	})
}

// fuzzPoison puts up to three special values into each input.
func fuzzPoison(r rng, tensors ...Tensor) {
	special := []float32{nan32, inf32, -inf32, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, 0x1p-140}
	for i := range tensors {
		t := &tensors[i]
		if r.intn(3) != 0 || t.shape[0] == 0 || t.shape[1] == 0 || t.shape[2] == 0 {
			continue
		}
		for range r.intn(4) {
			row := rowOf(t, r.intn(t.shape[0]), r.intn(t.shape[1]), r.intn(t.shape[2]))
			row[r.intn(len(row))] = special[r.intn(len(special))]
		}
	}
}

func fuzzInvalid(t *testing.T, c attnCase, threads int) {
	mem := func(b, h, l, d int) Tensor { return BHLD(filled(1<<16, canary), b, h, l, d) }
	out := mem(c.b, c.h, c.lq, c.dv)
	err := Attention(out, mem(c.b, c.h, c.lq, c.d), mem(c.b, c.hkv, c.lk, c.d), mem(c.b, c.hkv, c.lk, c.dv),
		Options{Scale: c.scale, Mask: c.mask, Threads: threads})
	var arg *ArgumentError
	if !errors.As(err, &arg) {
		t.Fatalf("%v threads %d: got %v, want an ArgumentError", c, threads, err)
	}
	for i, x := range out.f32 {
		if x != canary {
			t.Fatalf("out[%d] was overwritten", i)
		}
	}
}
