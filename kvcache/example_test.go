package kvcache_test

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// A model of one layer and one head, whose queries are zeros: they weigh all keys that they
// see alike, so that the result is the mean of the values seen. A prompt of three tokens is
// done at once, then token by token goes on, and then two continuations share what there is.
func ExampleSequence_Fork() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 2, ValueSize: 1, PageSize: 16, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}

	// step stores the values of new tokens, the same number for every sequence, and
	// attends to all.
	step := func(batch *kvcache.Batch, n int, values ...float32) {
		rows := len(values) / n
		k, q, out := make([]float32, 2*len(values)), make([]float32, 2*len(values)), make([]float32, len(values))
		if err := batch.Append(kernel.BHLD(k, rows, 1, n, 2), kernel.BHLD(values, rows, 1, n, 1)); err != nil {
			fmt.Println(err)
			return
		}
		keys, vals := batch.View(0)
		err := kernel.Attention(kernel.BHLD(out, rows, 1, n, 1), kernel.BHLD(q, rows, 1, n, 2), keys, vals, batch.Options())
		fmt.Println(out, err)
	}

	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	step(batch, 3, 1, 2, 3) // the prompt
	step(batch, 1, 6)
	step(batch, 1, 8)

	other, _ := text.Fork(4) // without the 8
	batch.Set(text, other)
	step(batch, 1, 10, 4)
	fmt.Println(text.Len(), other.Len(), cache.FreePages())

	text.Free()
	other.Free()

	// Output:
	// [1 1.5 2] <nil>
	// [3] <nil>
	// [4] <nil>
	// [5 3.2] <nil>
	// 6 5 6
}

// With several layers the page table is one for all of them: room for new tokens is made
// once, and then every layer stores its own keys and values. The window drops what
// no query to come sees; positions stay what they are.
func ExampleBatch_Extend() {
	cache, err := kvcache.New(kvcache.Config{
		Layers: 2, Heads: 1, HeadSize: 1, Type: kernel.Float16, PageSize: 16, Pages: 4, Window: 15,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	k, v, q, out := make([]float32, 1), make([]float32, 1), make([]float32, 1), make([]float32, 1)
	for i := range 100 {
		if err := batch.Extend(1); err != nil {
			fmt.Println(err)
			return
		}
		v[0] = float32(i)
		for layer := range 2 {
			one := [4]int{1, 1, 1, 1}
			row := func(x []float32) kernel.Tensor { return kernel.Strided(x, one, [3]int{}) }
			if err := batch.Store(layer, row(k), row(v)); err != nil {
				fmt.Println(err)
				return
			}
			keys, values := batch.View(layer)
			if err := kernel.Attention(row(out), row(q), keys, values, batch.Options()); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(out, text.Start(), text.Len(), len(text.Pages()))

	err = batch.Extend(1000)
	var full *kvcache.CapacityError
	fmt.Println(errors.As(err, &full), err)

	// Output:
	// [91.5] 80 100 2
	// true attn: the cache is full: 62 pages needed, 2 free
}

// Keys and values of two sequences in pages of the program's own memory, as FlashInfer and vLLM
// lay them out: [pages, page size, heads, D].
func ExampleTensor_Paged() {
	const pages, size, heads, d = 4, 2, 1, 1
	k := make([]float32, pages*size*heads*d)
	v := []float32{0, 1, 20, 21, 30, 31, 40, 41}
	table := kernel.PageTable{Pages: [][]int32{{2, 0}, {3}}, Lengths: []int{3, 2}}

	out := make([]float32, 2)
	err := kernel.Attention(
		kernel.BHLD(out, 2, 1, 1, d),
		kernel.BHLD(make([]float32, 2), 2, 1, 1, d),
		kernel.BLHD(k, pages, size, heads, d).Paged(&table),
		kernel.BLHD(v, pages, size, heads, d).Paged(&table),
		kernel.Options{})
	fmt.Println(out, err)

	// Output: [20.333334 40.5] <nil>
}
