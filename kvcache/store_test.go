package kvcache_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestStoreOfDroppedTokens: tokens that were dropped before they were stored are not
// stored, and no page of another sequence is written to.
func TestStoreOfDroppedTokens(t *testing.T) {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 3, Pages: 4})
	if err != nil {
		t.Fatal(err)
	}
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }
	first, second := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(batch.Extend(5), first.DropBefore(3)); err != nil {
		t.Fatal(err)
	}
	other, err := cache.NewBatch(second) // takes the page that was dropped
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(rows(1000, 1001, 1002), rows(1000, 1001, 1002)); err != nil {
		t.Fatal(err)
	}
	if err := batch.Store(0, rows(0, 1, 2, 3, 4), rows(0, 1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		batch *kvcache.Batch
		want  []float32
	}{{batch, []float32{3, 4}}, {other, []float32{1000, 1001, 1002}}} {
		k, v := x.batch.View(0)
		n := len(x.want)
		// Equal scores for all keys: the result is the mean of the values.
		out := make([]float32, 1)
		if err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), rows(0), k, v, kernel.Options{}); err != nil {
			t.Fatal(err)
		}
		mean := float32(0)
		for _, w := range x.want {
			mean += w / float32(n)
		}
		if !slices.Equal(out, []float32{mean}) {
			t.Errorf("the mean of the values is %v, want %v", out[0], mean)
		}
	}
}

// TestStoreIntoSharedRows: if the values of a layer are a part of its keys, storing values
// would overwrite keys; it is an error.
func TestStoreIntoSharedRows(t *testing.T) {
	memory := make([]float32, 4*8)
	keys := kernel.BHLD(memory, 1, 1, 4, 8)
	values := kernel.Strided(memory, [4]int{1, 1, 4, 4}, keys.Strides())
	cache, err := kvcache.NewWithMemory([]kernel.Tensor{keys}, []kernel.Tensor{values}, 0)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cache.NewBatch(cache.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	ones := slices.Repeat([]float32{1}, 8)
	k, v := kernel.BHLD(ones, 1, 1, 1, 8), kernel.BHLD([]float32{9, 9, 9, 9}, 1, 1, 1, 4)
	if err := batch.Extend(1); err != nil {
		t.Fatal(err)
	}
	var wrong *kernel.ArgumentError
	if err := batch.Store(0, k, v); !errors.As(err, &wrong) || wrong.Arg != "v" {
		t.Errorf("Store with v returned %v", err)
	}
	if slices.Contains(memory, 9) {
		t.Error("keys were overwritten")
	}
	if err := batch.Store(0, k, kernel.Tensor{}); err != nil {
		t.Error(err)
	}
}

// TestStoreFromCache: what lies in other pages of a cache's memory may be stored, and what lies
// in the page that is written to may not.
func TestStoreFromCache(t *testing.T) {
	for _, typed := range []kernel.Tensor{kernel.BHLD(make([]float32, 96), 2, 2, 4, 3), kernel.BHLD(make([]kernel.F16, 96), 2, 2, 4, 3)} {
		memory := make([]float32, 2*2*4*3) // of values, heads first: page 1 begins at 24
		for i := range memory {
			memory[i] = float32(i)
		}
		cache, err := kvcache.NewWithMemory([]kernel.Tensor{typed}, []kernel.Tensor{kernel.BHLD(memory, 2, 2, 4, 3)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, second := cache.NewSequence(), cache.NewSequence()
		batch, err := cache.NewBatch(first)
		if err != nil {
			t.Fatal(err)
		}
		other, err := cache.NewBatch(second)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(batch.Extend(4), other.Extend(2)); err != nil {
			t.Fatal(err)
		}
		rows := func(at int) kernel.Tensor {
			return kernel.Strided(memory[at:], [4]int{1, 2, 2, 3}, [3]int{0, 12, 3})
		}
		var wrong *kernel.ArgumentError
		for _, at := range []int{24, 27} { // its own rows; one of them and one after them
			for _, arg := range []string{"k", "v"} {
				k, v := rows(0), rows(0)
				if arg == "k" {
					k = rows(at)
				} else {
					v = rows(at)
				}
				if err := other.Store(0, k, v); !errors.As(err, &wrong) || wrong.Arg != arg {
					t.Errorf("%s from %d: error %v, want one about %s", arg, at, err, arg)
				}
			}
		}
		if err := other.Store(0, rows(0), rows(3)); err != nil {
			t.Fatal(err)
		}
		if want := []float32{3, 4, 5, 6, 7, 8, 30, 31}; !slices.Equal(memory[24:32], want) {
			t.Errorf("page 1 begins with %v, want %v", memory[24:32], want)
		}
	}
}
