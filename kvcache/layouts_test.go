package kvcache_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestLayouts: sequences of caches that share pages have the bytes of those in caches of their own,
// whatever grows, is forked, cut, dropped and freed beside them, and every page can be used.
func TestLayouts(t *testing.T) {
	const size, pages = 5, 40
	of := func(c kvcache.Config) kvcache.Config {
		c.PageSize, c.Pages = size, pages
		return c
	}
	layouts := [][]kvcache.Config{
		{of(kvcache.Config{Layers: 3, Heads: 2, HeadSize: 8, ValueSize: 8}), of(kvcache.Config{Heads: 1, HeadSize: 6, ValueSize: 10, Layout: kvcache.LayoutNHD})},
		{of(kvcache.Config{Layers: 2, Heads: 1, HeadSize: 32, ValueSize: 16, KeyType: kernel.Int8, ValueType: kernel.Int4, Group: 16})},
		{of(kvcache.Config{Heads: 3, HeadSize: 12, ValueSize: 4, KeyType: kernel.BFloat16, ValueType: kernel.BFloat16, ValuesInKeys: true})},
	}
	shared, err := kvcache.NewLayouts(layouts)
	if err != nil {
		t.Fatal(err)
	}
	// float32 alone: 3·2·5·2·8 and 5·6 and 5·10 numbers, each in whole lines of 64 bytes
	if page, err := kvcache.LayoutsPageBytes(layouts); err != nil || page != 3*2*320+128+256 {
		t.Errorf("a page takes %d bytes, want %d: %v", page, 3*2*320+128+256, err)
	}
	type pair [2]*kvcache.Sequence // in the cache of shared pages, and in another one
	var own []*kvcache.Cache
	for _, layers := range layouts {
		c, err := kvcache.NewOf(layers)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, c)
	}
	all := make([][]pair, len(layouts))
	r, full := testutil.Rand(7), 0
	for step := range 400 {
		i := r.IntN(len(layouts))
		if len(all[i]) == 0 || r.IntN(4) == 0 {
			all[i] = append(all[i], pair{shared[i].NewSequence(), own[i].NewSequence()})
		}
		x := all[i][r.IntN(len(all[i]))]
		at := x[0].Start() + r.IntN(x[0].Len()-x[0].Start()+1)
		do, seed, fork, room := r.IntN(6), r, pair{}, shared[i].FreePages() > 3
		for j, c := range []*kvcache.Cache{shared[i], own[i]} {
			var err error
			switch r = seed; {
			case do == 0:
				fork[j], err = x[j].Fork(at)
			case do == 1:
				err = x[j].Truncate(at)
			case do == 2:
				err = x[j].DropBefore(at)
			case room:
				filledWith(t, c, layouts[i], x[j], &r, 1+r.IntN(9))
			}
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		if do == 0 {
			all[i] = append(all[i], fork)
		}
		for _, list := range all {
			for _, x := range list {
				var saved [2][]byte
				for j, s := range x {
					var err error
					if saved[j], err = s.Save(nil, s.Start(), s.Len()-s.Start()); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(saved[0], saved[1]) {
					t.Fatalf("step %d: a sequence has other bytes", step)
				}
			}
		}
		if shared[i].FreePages() <= 3 {
			full++
			for _, x := range all[i] {
				x[0].Free()
				x[1].Free()
			}
			all[i] = nil
		}
	}
	if full == 0 {
		t.Error("pages never lacked")
	}
	for _, list := range all {
		for _, x := range list {
			x[0].Free()
		}
	}
	for i, c := range shared {
		s := c.NewSequence()
		b, err := c.NewBatch(s)
		if err == nil {
			err = b.Extend(pages * size)
		}
		if err != nil || shared[(i+1)%3].FreePages() != 0 {
			t.Errorf("cache %d does not take all pages: %v", i, err)
		}
		if err := b.Extend(1); !errors.As(err, new(*kvcache.CapacityError)) {
			t.Errorf("cache %d: %v, want no pages", i, err)
		}
		s.Free()
	}
}

// TestLayoutsAttention: attention over pages that lie beside others has the bits of a cache alone.
func TestLayoutsAttention(t *testing.T) {
	const tokens = 50
	config := kvcache.Config{Heads: 2, HeadSize: 16, ValueSize: 16, PageSize: 16, Pages: 9}
	wide := config
	wide.Layers, wide.HeadSize, wide.ValueSize = 2, 64, 64
	shared, err := kvcache.NewLayouts([][]kvcache.Config{{config}, {wide}})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := kvcache.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var results [2][]float32
	for i, c := range []*kvcache.Cache{shared[0], alone} {
		r := testutil.Rand(3)
		s := c.NewSequence()
		filledWith(t, c, []kvcache.Config{config}, s, &r, tokens)
		if i == 0 {
			other := testutil.Rand(4)
			filledWith(t, shared[1], []kvcache.Config{wide}, shared[1].NewSequence(), &other, tokens)
		}
		b, err := c.NewBatch(s)
		if err != nil {
			t.Fatal(err)
		}
		k, v := b.View(0)
		q := make([]float32, 2*3*16)
		r.Fill(q)
		results[i] = make([]float32, len(q))
		if err := kernel.Attention(kernel.BHLD(results[i], 1, 2, 3, 16), kernel.BHLD(q, 1, 2, 3, 16), k, v, nil); err != nil {
			t.Fatal(err)
		}
	}
	testutil.CheckBits(t, "attention", results[0], results[1])
}
