package kvcache_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// benchCache is a cache of 4096 tokens of 8 key heads of 128 and one text in it.
func benchCache(b *testing.B, dtype kernel.DType, layout kvcache.PageLayout, size int) (*kvcache.Cache, *kvcache.Sequence, *kvcache.Batch) {
	c, err := kvcache.New(kvcache.Config{Heads: 8, HeadSize: 128, Type: dtype, Layout: layout, PageSize: size, Pages: 4096 / size})
	if err != nil {
		b.Fatal(err)
	}
	k, v := c.Memory(0)
	for _, t := range [...]kernel.Tensor{k, v} { // the first touch of a page of the system is none of the append
		fill(t.f32, 1)
		clear(unsafe.Slice((*byte)(t.other.data), t.other.n))
		if t.dtype == kernel.Float16 || t.dtype == kernel.BFloat16 {
			clear(t.u16())
		}
	}
	s := c.NewSequence()
	batch, err := c.NewBatch(s)
	if err != nil {
		b.Fatal(err)
	}
	return c, s, batch
}

var layoutNames = [...]string{HND: "HND", NHD: "NHD"}

// BenchmarkAppend times how tokens are added to a cache of 4096, and, as type=copy, the
// copying of their float32 keys and values to slices as large.
func BenchmarkAppend(b *testing.B) {
	const row = 8 * 128
	for _, n := range []int{1, 16, 512} {
		k, v := kernel.BLHD(random(n*row), 1, n, 8, 128), kernel.BLHD(random(n*row), 1, n, 8, 128)
		report := func(b *testing.B) {
			b.SetBytes(int64(8 * n * row))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/token")
		}
		b.Run(fmt.Sprintf("tokens=%d/type=copy", n), func(b *testing.B) {
			to, at := [2][]float32{filled(4096*row, 1), filled(4096*row, 1)}, 0
			for b.Loop() {
				if at == 4096 {
					at = 0
				}
				copy(to[0][at*row:], k.f32)
				copy(to[1][at*row:], v.f32)
				at += n
			}
			report(b)
		})
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8} {
			for _, layout := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
				for _, size := range []int{16, 64, 4096} {
					b.Run(fmt.Sprintf("tokens=%d/type=%v/layout=%s/pages=%d", n, dtype, layoutNames[layout], size), func(b *testing.B) {
						_, s, batch := benchCache(b, dtype, layout, size)
						b.ReportAllocs()
						for b.Loop() {
							if s.Len() == 4096 {
								s.cut(0)
							}
							if err := batch.Append(k, v); err != nil {
								b.Fatal(err)
							}
						}
						report(b)
					})
				}
			}
		}
	}
}

// BenchmarkFork times the forking of a prefix of 4096 tokens, and the end of the fork.
func BenchmarkFork(b *testing.B) {
	for _, size := range []int{16, 64} {
		b.Run(fmt.Sprintf("pages=%d", size), func(b *testing.B) {
			_, s, batch := benchCache(b, kernel.Float32, kvcache.HND, size)
			if err := batch.Extend(4096); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f, err := s.Fork(4096)
				if err != nil {
					b.Fatal(err)
				}
				f.Free()
			}
		})
	}
}

// BenchmarkPages times attention on keys and values in pages in some random order, and, as
// pages=none, on contiguous ones of the same order of heads and tokens.
func BenchmarkPages(b *testing.B) {
	for _, x := range []struct {
		name string
		c    attnCase
	}{
		{"decode", attnCase{b: 1, h: 32, hkv: 8, lq: 1, lk: 4096, d: 128, dv: 128}},
		{"draft", attnCase{b: 1, h: 32, hkv: 8, lq: 8, lk: 4096, d: 128, dv: 128}},
		{"chunk", attnCase{b: 1, h: 32, hkv: 8, lq: 64, lk: 4096, d: 128, dv: 128}},
		{"prefill", attnCase{b: 1, h: 4, hkv: 4, lq: 1024, lk: 1024, d: 128, dv: 128, mask: kernel.Causal(0)}},
		{"heads", attnCase{b: 1, h: 12, hkv: 12, lq: 128, lk: 128, d: 64, dv: 64}},
	} {
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			q, _, _ := x.c.inputs()
			out := x.c.tensor(1, x.c.h, x.c.lq, x.c.dv, 0)
			bench := func(name string, k, v kernel.Tensor) {
				b.Run(fmt.Sprintf("shape=%s/type=%v/%s", x.name, dtype, name), func(b *testing.B) {
					benchShape{x.name, x.c}.run(b, func() error {
						return kernel.Attention(out, q, k, v, kernel.Options{Mask: x.c.mask, Exec: kernel.Exec{Threads: 1}})
					})
				})
			}
			for _, layout := range pageLayouts {
				whole := x.c
				if layout == "NHD" {
					whole.layout = tokenMajor
				}
				_, k, v := whole.inputs()
				bench(fmt.Sprintf("layout=%s/pages=none", layout), k.as(dtype), v.as(dtype))
				for _, size := range []int{16, 64, 256} {
					pk, pv := paged(k, v, []int{x.c.lk}, size, layout, 1, 0)
					bench(fmt.Sprintf("layout=%s/pages=%d", layout, size), pk.memoryAs(dtype), pv.memoryAs(dtype))
				}
			}
		}
	}
}

// memoryAs converts the pages of a paged tensor to another type.
func (t kernel.Tensor) memoryAs(dtype kernel.DType) kernel.Tensor {
	table := t.table
	memory := kernel.Tensor{grid: t.storage(), f32: t.f32}
	return memory.as(dtype).Paged(table)
}
