package kvcache_test

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// A model of one layer with one head of size 1. Its queries and keys are zeros: so a
// query weighs all keys that it sees alike, and the result is the mean of their values. A
// prompt of three tokens goes in at once, then two more tokens follow one by one.
func Example() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 16, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	defer text.Free()
	batch, err := cache.NewBatch(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, values := range [][]float32{{1, 2, 3}, {6}, {8}} {
		rows := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(values), 1) }
		zeros, out := make([]float32, len(values)), make([]float32, len(values))
		if err := batch.Append(rows(zeros), rows(values)); err != nil {
			fmt.Println(err)
			return
		}
		k, v := batch.View(0)
		err := kernel.Attention(rows(out), rows(zeros), k, v, batch.Options())
		fmt.Println(out, err)
	}

	// Output:
	// [1 1.5 2] <nil>
	// [3] <nil>
	// [4] <nil>
}

// A cache of four pages of two tokens. Two sequences share the pages of their common
// beginning. The page that is partly filled is copied by the first one that grows.
func ExampleCache() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	fmt.Println(batch.Append(rows(0, 0, 0), rows(1, 2, 3)), text.Pages(), cache.FreePages())

	other, _ := text.Fork(3)
	fmt.Println(batch.Set(other), other.Pages(), cache.FreePages())
	fmt.Println(batch.Append(rows(0), rows(6)), other.Pages(), cache.FreePages())

	// Output:
	// <nil> [0 1] 2
	// <nil> [0 1] 2
	// <nil> [0 2] 1
}

// Two continuations of the first two tokens take a step together, as a batch.
func ExampleSequence_Fork() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	prompt := kernel.BHLD([]float32{10, 20, 60}, 1, 1, 3, 1)
	if err := batch.Append(kernel.BHLD(make([]float32, 3), 1, 1, 3, 1), prompt); err != nil {
		fmt.Println(err)
		return
	}
	other, err := text.Fork(2) // without the 60
	fmt.Println(err, batch.Set(text, other))

	zeros, values, out := make([]float32, 2), []float32{30, 90}, make([]float32, 2)
	step := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 2, 1, 1, 1) }
	if err := batch.Append(step(zeros), step(values)); err != nil {
		fmt.Println(err)
		return
	}
	k, v := batch.View(0)
	err = kernel.Attention(step(out), step(zeros), k, v, batch.Options())
	fmt.Println(out, err) // (10+20+60+30)/4 and (10+20+90)/3

	// Output:
	// <nil> <nil>
	// [30 40] <nil>
}

// A draft of three tokens, of which the last two are rejected.
func ExampleSequence_Truncate() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	fmt.Println(batch.Extend(3), text.Len(), text.Pages())
	fmt.Println(batch.Extend(3), text.Len(), text.Pages())
	fmt.Println(text.Truncate(4), text.Len(), text.Pages())

	// Output:
	// <nil> 3 [0 1]
	// <nil> 6 [0 1 2]
	// <nil> 4 [0 1]
}

// In a model with several layers, room for new tokens is made once. Then each layer stores
// its own keys and values of them.
func ExampleBatch_Extend() {
	const layers = 2
	cache, err := kvcache.New(kvcache.Config{Layers: layers, Heads: 1, HeadSize: 1, Type: kernel.Float16, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	row := func(x float32) kernel.Tensor { return kernel.BHLD([]float32{x}, 1, 1, 1, 1) }
	for token := range 3 {
		if err := batch.Extend(1); err != nil {
			fmt.Println(err)
			return
		}
		for layer := range layers {
			if err := batch.Store(layer, row(0), row(float32(100*layer+token))); err != nil {
				fmt.Println(err)
				return
			}
			k, v := batch.View(layer)
			out := []float32{0}
			err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), row(0), k, v, batch.Options())
			fmt.Println("token", token, "layer", layer, out, err)
		}
	}

	// Output:
	// token 0 layer 0 [0] <nil>
	// token 0 layer 1 [100] <nil>
	// token 1 layer 0 [0.5] <nil>
	// token 1 layer 1 [100.5] <nil>
	// token 2 layer 0 [1] <nil>
	// token 2 layer 1 [101] <nil>
}

// Rotary position embedding takes the positions of the new tokens from the batch.
func ExampleBatch_Positions() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := cache.NewSequence(), cache.NewSequence()
	batch, _ := cache.NewBatch(a, b)
	fmt.Println(batch.Extend(4, 7), batch.Extend(2), batch.Positions())

	// Output: <nil> <nil> [4 5 7 8]
}

// A query sees the 15 tokens before its own. Of a hundred tokens, whole pages that no
// query will see again have been dropped. Positions do not change.
func ExampleConfig_window() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 16, Pages: 4, Window: 15})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	for range 100 {
		if err := batch.Extend(1); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(text.Start(), text.Len(), len(text.Pages()), cache.FreePages())

	// Output: 80 100 2 2
}

// A cache over memory of the program's. The two views lay out pages of keys and values in
// turn.
func ExampleNewOver() {
	const pages, heads, size, d = 8, 1, 2, 1
	data := make([]float32, pages*2*heads*size*d)
	shape, strides := [4]int{pages, heads, size, d}, [3]int{2 * heads * size * d, size * d, d}
	keys := kernel.Strided(data, shape, strides)
	values := kernel.Strided(data[heads*size*d:], shape, strides)
	cache, err := kvcache.NewOver([]kernel.Tensor{keys}, []kernel.Tensor{values}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, _ := cache.NewBatch(cache.NewSequence())
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, heads, len(x), d) }
	fmt.Println(batch.Append(rows(1, 2, 3), rows(10, 20, 30)), data[:8])

	// Output: <nil> [1 2 10 20 3 0 30 0]
}

// A full cache: nothing has changed, and the program frees a sequence and tries again.
func ExampleCapacityError() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 16, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	old, text := cache.NewSequence(), cache.NewSequence()
	batch, _ := cache.NewBatch(old, text)
	fmt.Println(batch.Extend(32))

	err = batch.Extend(0, 1)
	var full *kvcache.CapacityError
	if errors.As(err, &full) {
		fmt.Println(err)
		old.Free()
		fmt.Println(batch.Set(text), batch.Extend(1), text.Len())
	}

	// Output:
	// <nil>
	// attn: the cache is full: 1 pages needed, 0 free
	// <nil> <nil> 33
}
