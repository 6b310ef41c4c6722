package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

var layoutNames = [...]string{kvcache.LayoutHND: "HND", kvcache.LayoutNHD: "NHD"}

// newBenchCache returns a cache with room for some tokens, a sequence in it, and a batch of
// that. All memory has been written to, as the first write to a page of the system is no
// part of what is measured.
func newBenchCache(b *testing.B, c kvcache.Config, tokens int) (*kvcache.Cache, *kvcache.Sequence, *kvcache.Batch) {
	c.Pages = tokens / c.PageSize
	cache, err := kvcache.New(c)
	if err != nil {
		b.Fatal(err)
	}
	k, v := cache.Memory(0)
	for _, memory := range [...]kernel.Tensor{k, v} {
		t := contracttest.View(&memory)
		clear(t.Bytes())
	}
	s := cache.NewSequence()
	batch, err := cache.NewBatch(s)
	if err != nil {
		b.Fatal(err)
	}
	return cache, s, batch
}

// BenchmarkAppend times how tokens are added to a cache of 4096 and, as type=copy, how
// their float32 keys and values are copied to slices as large.
func BenchmarkAppend(b *testing.B) {
	const row = 8 * 128
	for _, n := range []int{1, 16, 512} {
		random := func() kernel.Tensor { return kernel.BLHD(testutil.Floats(n*row), 1, n, 8, 128) }
		k, v := random(), random()
		report := func(b *testing.B) {
			b.SetBytes(int64(8 * n * row))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/token")
		}
		b.Run(fmt.Sprintf("tokens=%d/type=copy", n), func(b *testing.B) {
			to, at := [2][]float32{testutil.Filled(4096*row, 1), testutil.Filled(4096*row, 1)}, 0
			for b.Loop() {
				if at == 4096 {
					at = 0
				}
				copy(to[0][at*row:], contracttest.Floats(k))
				copy(to[1][at*row:], contracttest.Floats(v))
				at += n
			}
			report(b)
		})
		for _, dtype := range contracttest.KeyTypes() {
			for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
				for _, size := range []int{16, 64, 4096} {
					b.Run(fmt.Sprintf("tokens=%d/type=%v/layout=%s/pages=%d", n, dtype, layoutNames[layout], size), func(b *testing.B) {
						_, s, batch := newBenchCache(b, kvcache.Config{Heads: 8, HeadSize: 128, KeyType: dtype, ValueType: dtype, Layout: layout, PageSize: size}, 4096)
						b.ReportAllocs()
						for b.Loop() {
							if s.Len() == 4096 {
								if err := s.Truncate(0); err != nil {
									b.Fatal(err)
								}
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
			_, s, batch := newBenchCache(b, kvcache.Config{Heads: 8, HeadSize: 128, PageSize: size}, 4096)
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

// BenchmarkPages times attention over a cache whose pages are in a random order and, as
// pages=none, over contiguous keys and values with the same order of heads and tokens.
func BenchmarkPages(b *testing.B) {
	for _, x := range []struct {
		name string
		c    contracttest.Case
	}{
		{"decode", contracttest.Case{B: 1, H: 32, HKV: 8, Lq: 1, Lk: 4096, D: 128, Dv: 128}},
		{"draft", contracttest.Case{B: 1, H: 32, HKV: 8, Lq: 8, Lk: 4096, D: 128, Dv: 128}},
		{"chunk", contracttest.Case{B: 1, H: 32, HKV: 8, Lq: 64, Lk: 4096, D: 128, Dv: 128}},
		{"prefill", contracttest.Case{B: 1, H: 4, HKV: 4, Lq: 1024, Lk: 1024, D: 128, Dv: 128, Mask: contracttest.Causal(0)}},
		{"heads", contracttest.Case{B: 1, H: 12, HKV: 12, Lq: 128, Lk: 128, D: 64, Dv: 64}},
	} {
		c := x.c
		o := c.Options(kernel.Options{Exec: threads(1)})
		flops := 4 * float64(c.H*c.Lq*c.Lk*c.D)
		if x.name == "prefill" {
			flops /= 2 // causal
		}
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			for _, layout := range []kvcache.PageLayout{kvcache.LayoutNHD, kvcache.LayoutHND} {
				c.Layout = contracttest.Contiguous
				q, _, _ := c.Inputs()
				if layout == kvcache.LayoutNHD {
					c.Layout = contracttest.TokenMajor
				}
				_, k, v := c.Inputs()
				out := kernel.BHLD(make([]float32, c.H*c.Lq*c.Dv), 1, c.H, c.Lq, c.Dv)
				bench := func(pages string, k, v kernel.Tensor) {
					b.Run(fmt.Sprintf("shape=%s/type=%v/layout=%s/pages=%s", x.name, dtype, layoutNames[layout], pages), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if err := kernel.Attention(out, q, k, v, &o); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
					})
				}
				bench("none", contracttest.As(k, dtype), contracttest.As(v, dtype))
				for _, size := range []int{16, 64, 256} {
					cache, s, batch := newBenchCache(b, kvcache.Config{
						Heads: c.HKV, HeadSize: c.D, KeyType: dtype, ValueType: dtype, Layout: layout, PageSize: size,
					}, max(c.Lk, size))
					shuffle(b, cache)
					if err := batch.Append(k, v); err != nil {
						b.Fatal(err)
					}
					pk, pv := batch.View(0)
					bench(fmt.Sprint(size), pk, pv)
					s.Free()
				}
			}
		}
	}
}

// shuffle puts the free pages of a cache in a random order: that in which sequences of one
// page each are freed.
func shuffle(b *testing.B, cache *kvcache.Cache) {
	sequences := make([]*kvcache.Sequence, cache.FreePages())
	for i := range sequences {
		sequences[i] = cache.NewSequence()
	}
	batch, err := cache.NewBatch(sequences...)
	if err == nil {
		err = batch.Extend(1)
	}
	if err != nil {
		b.Fatal(err)
	}
	r := testutil.Rand(1)
	for len(sequences) > 0 {
		i := r.IntN(len(sequences))
		sequences[i].Free()
		sequences = slices.Delete(sequences, i, i+1)
	}
}
