package kvcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// filledWith appends n random tokens to a sequence.
func filledWith(t *testing.T, c *kvcache.Cache, all []kvcache.Config, s *kvcache.Sequence, r *testutil.Rand, n int) {
	t.Helper()
	b, err := c.NewBatch(s)
	if err == nil {
		err = b.Extend(n)
	}
	layer := 0
	for _, l := range all {
		for range max(1, l.Layers) {
			tensor := func(size int) kernel.Tensor {
				x := make([]float32, n*l.Heads*size)
				r.Fill(x)
				return kernel.BLHD(x, 1, n, l.Heads, size)
			}
			values := kernel.Tensor{}
			if !l.ValuesInKeys {
				values = tensor(l.ValueSize)
			}
			if err == nil {
				err = b.Store(layer, tensor(l.HeadSize), values)
			}
			layer++
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSave: what is saved of any tokens, after forks and in pages of any size and layout, has the
// same bytes, and a cache that loads it has the bits of the one that computed it.
func TestSave(t *testing.T) {
	types := []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8, kernel.Int4}
	for i, keys := range types {
		for _, values := range types {
			for _, latent := range []bool{false, true} {
				if latent && keys != values {
					continue
				}
				first := kvcache.Config{Layers: 2, Heads: 2, HeadSize: 32, ValueSize: 16, KeyType: keys, ValueType: values, Pages: 12, PageSize: 5, ValuesInKeys: latent}
				second := first
				second.Layers, second.Heads, second.HeadSize = 1, 3, 64
				t.Run(fmt.Sprint(keys, values, latent), func(t *testing.T) { checkSave(t, []kvcache.Config{first, second}, uint64(i)) })
			}
		}
	}
}

func checkSave(t *testing.T, all []kvcache.Config, seed uint64) {
	const tokens = 23
	with := func(pageSize int, layout kvcache.PageLayout) *kvcache.Cache {
		changed := append([]kvcache.Config(nil), all...)
		for i := range changed {
			changed[i].PageSize, changed[i].Layout = pageSize, layout
		}
		c, err := kvcache.NewOf(changed)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	r := testutil.Rand(seed + 1)
	c := with(5, kvcache.LayoutHND)
	text := c.NewSequence()
	filledWith(t, c, all, text, &r, 9)
	fork, err := text.Fork(7) // copies its last page
	if err != nil {
		t.Fatal(err)
	}
	filledWith(t, c, all, fork, &r, tokens-7)
	whole, err := fork.Save([]byte("head"), 0, tokens)
	if err != nil || string(whole[:4]) != "head" {
		t.Fatal(err)
	}
	whole = whole[4:]
	for _, size := range []int{1, 4, 64} {
		for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
			other := with(size, layout)
			if size == 1 {
				big := append([]kvcache.Config(nil), all...)
				for i := range big {
					big[i].PageSize, big[i].Layout, big[i].Pages = 1, layout, 40
				}
				if other, err = kvcache.NewOf(big); err != nil {
					t.Fatal(err)
				}
			}
			copied := other.NewSequence()
			b, err := other.NewBatch(copied)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < tokens; {
				n := min(1+at%6, tokens-at)
				part, err := fork.Save(nil, at, n)
				if err == nil {
					err = b.Extend(n)
				}
				if err == nil {
					err = copied.Load(part)
				}
				if err != nil {
					t.Fatal(err)
				}
				at += n
			}
			if got, err := copied.Save(nil, 0, tokens); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("pages of %d, layout %d: %v, or other bytes", size, layout, err)
			}
		}
	}
}

// TestSaveErrors: what does not fit is an error, and changes nothing.
func TestSaveErrors(t *testing.T) {
	config := kvcache.Config{Heads: 1, HeadSize: 4, ValueSize: 4, PageSize: 2, Pages: 8}
	c, err := kvcache.New(config)
	if err != nil {
		t.Fatal(err)
	}
	text := c.NewSequence()
	r := testutil.Rand(1)
	filledWith(t, c, []kvcache.Config{config}, text, &r, 6)
	before, err := text.Save(nil, 0, 6)
	if err != nil || len(before) != 6*2*4*4 {
		t.Fatalf("%d bytes, %v", len(before), err)
	}
	var bad *kernel.Error
	for _, x := range [][2]int{{-1, 1}, {0, -1}, {0, 7}, {7, 0}, {6, 1}} {
		if _, err := text.Save(nil, x[0], x[1]); !errors.As(err, &bad) {
			t.Errorf("Save of %d tokens from %d on: %v", x[1], x[0], err)
		}
	}
	for _, n := range []int{0, len(before) - 1, len(before) + 1} {
		if err := text.Load(make([]byte, n)); !errors.As(err, &bad) {
			t.Errorf("Load of %d bytes: %v", n, err)
		}
	}
	if after, err := text.Save(nil, 0, 6); err != nil || !bytes.Equal(after, before) {
		t.Errorf("an error has changed the sequence: %v", err)
	}
	if err := new(kvcache.Sequence).Load(nil); !errors.As(err, &bad) {
		t.Errorf("Load of no sequence: %v", err)
	}
}
