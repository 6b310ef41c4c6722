package kvcache_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// smallCache is a configuration with all fields set.
func smallCache() kvcache.Config {
	return kvcache.Config{Layers: 2, Heads: 2, HeadSize: 12, ValueSize: 8, PageSize: 16, Pages: 200}
}

// TestCache takes texts through prompts in chunks, single tokens, forks and drafts, with every
// type, layout and page size.
func TestCache(t *testing.T) {
	n := 0
	for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8} {
		for _, layout := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
			for _, size := range []int{1, 5, 16, 32, 64, 128, 256, 600} {
				if n++; testing.Short() && n%13 != 0 {
					continue
				}
				c := smallCache()
				c.Type, c.Layout, c.PageSize, c.Pages = dtype, layout, size, 1400/size+12
				if dtype == kernel.Int8 && n%2 == 0 {
					c.Group = 4
				}
				t.Run(fmt.Sprintf("%v/layout=%d/size=%d", dtype, layout, size), func(t *testing.T) {
					eachTier(t, func(t *testing.T, tier *tier) {
						tellCacheStory(t, c, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 1 + n%2}})
					})
				})
			}
		}
	}
}

func tellCacheStory(t *testing.T, c kvcache.Config, o kernel.Options) {
	s := newCacheStory(t, c)
	a, b := s.begin(), s.begin()
	s.grow([]int{a, b}, []int{250, 33})
	s.attend(2, o, a, b)
	s.grow([]int{a, b}, []int{9, 20})
	s.attend(2, o, a, b)
	f := s.fork(a, 255)
	g := s.fork(a, 259)
	s.attend(1, o, a, b) // not changed by that
	for _, texts := range [][]int{{f, a}, {g, f, b, a}, {a}} {
		for range 3 {
			counts := []int{1, 1, 1, 1}[:len(texts)]
			s.grow(texts, counts)
			s.attend(2, o, texts...)
			s.check()
		}
	}
	s.grow([]int{a, f}, []int{4, 0})
	s.attend(1, o, a, f)
	s.truncate(a, s.texts[a].Len()-3) // a draft
	s.grow([]int{g, a}, []int{2, 30})
	s.attend(3, o, a, b, f, g)
	s.check()
	s.truncate(f, 200) // into a page that was full when it was shared
	s.grow([]int{f}, []int{5})
	s.attend(1, o, g, f, a)
	s.check()
	for i := range s.texts {
		s.texts[i].Free()
	}
	if n := s.cache.FreePages(); n != c.Pages {
		t.Errorf("%d of %d pages are free in the end", n, c.Pages)
	}
}

// TestCacheWindow: what a window has dropped does not show.
func TestCacheWindow(t *testing.T) {
	for i, window := range []int{1, 15, 16, 40, 300} {
		for _, size := range []int{1, 16, 48, 256} {
			c := smallCache()
			c.Window, c.PageSize, c.Type = window, size, kernel.DType(i%4)
			if testing.Short() && (i+size)%3 != 0 {
				continue
			}
			c.Pages = 2 * (window + 530 + 2*size) / size
			t.Run(fmt.Sprintf("window=%d/size=%d", window, size), func(t *testing.T) {
				s := newCacheStory(t, c)
				a, b := s.begin(), s.begin()
				for n, counts := range [][]int{{200, 7}, {1, 1}, {330, 60}, {2, 3}, {1, 1}, {17, 1}, {0, 5}} {
					s.grow([]int{a, b}, counts)
					s.attend(2, kernel.Options{Exec: kernel.Exec{Threads: 1 + n%2}}, b, a)
					s.check()
				}
				if got, most := len(s.texts[a].Pages()), (window+17)/size+2; got > most {
					t.Errorf("%d pages, want at most %d for a window of %d in pages of %d", got, most, window, size)
				}
				f := s.fork(a, s.texts[a].Len())
				s.grow([]int{f, a}, []int{1, 1})
				s.attend(2, kernel.Options{}, a, f)
				s.check()
			})
		}
	}
}

// TestCacheDrop: tokens dropped by hand are gone, and positions stay.
func TestCacheDrop(t *testing.T) {
	s := newCacheStory(t, smallCache())
	a := s.begin()
	s.grow([]int{a}, []int{300})
	f := s.fork(a, 290)
	s.must(s.texts[a].Drop(100))
	s.models[a].start = 96
	s.check()
	s.grow([]int{a, f}, []int{2, 3})
	s.attend(2, kernel.Options{}, a, f)
	s.truncate(a, 97)
	s.grow([]int{a}, []int{20})
	s.attend(2, kernel.Options{}, a)
	s.check()
}

// TestCacheAlone: a sequence in a batch of 8 gets the bits that it gets alone, and a prompt
// in chunks those of the whole.
func TestCacheAlone(t *testing.T) {
	const tokens = 280
	c := smallCache()
	c.Layers, c.Type = 1, kernel.Float16
	c.Pages = 17 * (tokens/c.PageSize + 1)
	cache, err := kvcache.New(c)
	if err != nil {
		t.Fatal(err)
	}
	k := kernel.BHLD(random(8*2*tokens*12), 8, 2, tokens, 12)
	v := kernel.BHLD(random(8*2*tokens*8), 8, 2, tokens, 8)
	q := kernel.BHLD(random(8*4*tokens*12), 8, 4, tokens, 12)
	rows := func(t kernel.Tensor, b, batch, at, n int) kernel.Tensor {
		return kernel.Strided(t.f32[t.at(b, 0, at):], [4]int{batch, t.shape[1], n, t.shape[3]}, t.stride)
	}
	run := func(out kernel.Tensor, first, batch, chunk int) {
		var texts []*kvcache.Sequence
		for range batch {
			texts = append(texts, cache.NewSequence())
		}
		b, err := cache.NewBatch(texts...)
		for at := 0; at < tokens && err == nil; at += chunk {
			n := min(chunk, tokens-at)
			if err = b.Append(rows(k, first, batch, at, n), rows(v, first, batch, at, n)); err != nil {
				break
			}
			keys, values := b.View(0)
			err = kernel.Attention(rows(out, first, batch, at, n), rows(q, first, batch, at, n), keys, values, b.Options())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range texts {
			s.Free()
		}
	}
	output := func() kernel.Tensor { return kernel.BHLD(filled(8*4*tokens*8, canary), 8, 4, tokens, 8) }
	want, alone := output(), output()
	run(want, 0, 8, tokens)
	for first := range 8 {
		if run(alone, first, 1, tokens); quick() {
			copy(alone.f32[alone.stride[0]:], want.f32[want.stride[0]:])
			break
		}
	}
	same(t, "alone", &alone, &want)
	for _, chunk := range []int{1, 7, 64, 256, 299} {
		if quick() && chunk != 64 {
			continue
		}
		got := output()
		run(got, 0, 8, chunk)
		same(t, fmt.Sprintf("chunks of %d", chunk), &got, &want)
	}
}
