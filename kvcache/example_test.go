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
		err := kernel.Attention(rows(out), rows(zeros), k, v, &kernel.Options{Scoring: batch.Scoring()})
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
	err = kernel.Attention(step(out), step(zeros), k, v, &kernel.Options{Scoring: batch.Scoring()})
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

// A tree of four drafted tokens, of which the second and the fourth are accepted.
func ExampleSequence_Keep() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	k := kernel.BHLD([]float32{1, 2, 3, 4}, 1, 1, 4, 1)
	v := kernel.BHLD([]float32{10, 20, 30, 40}, 1, 1, 4, 1)
	fmt.Println(batch.Append(k, v), text.Len())
	fmt.Println(text.Keep([]int{1, 3}), text.Len())
	_, values := cache.Memory(0)
	fmt.Println(kernel.Row[float32](values, int(text.Pages()[0]), 0, 0), kernel.Row[float32](values, int(text.Pages()[0]), 0, 1))

	// Output:
	// <nil> 4
	// <nil> 2
	// [20] [40]
}

// The keys and values of two tokens go from one cache to another one.
func ExampleSequence_Save() {
	config := kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8}
	from, err := kvcache.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	config.PageSize = 4
	to, _ := kvcache.New(config)
	text, copied := from.NewSequence(), to.NewSequence()
	batch, _ := from.NewBatch(text)
	fmt.Println(batch.Append(kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1), kernel.BHLD([]float32{10, 20, 30}, 1, 1, 3, 1)))
	saved, err := text.Save(nil, 1, 2)
	fmt.Println(len(saved), err)

	batch, _ = to.NewBatch(copied)
	fmt.Println(batch.Extend(2), copied.Load(saved))
	_, values := to.Memory(0)
	fmt.Println(kernel.Row[float32](values, int(copied.Pages()[0]), 0, 0), kernel.Row[float32](values, int(copied.Pages()[0]), 0, 1))

	// Output:
	// <nil>
	// 16 <nil>
	// <nil> <nil>
	// [20] [30]
}

// Load takes the place of Store after Extend.
func ExampleSequence_Load() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	fmt.Println(batch.Extend(1), text.Load([]byte{0, 0, 128, 63, 0, 0, 0, 64}))
	keys, values := cache.Memory(0)
	fmt.Println(kernel.Row[float32](keys, 0, 0, 0), kernel.Row[float32](values, 0, 0, 0))

	// Output:
	// <nil> <nil>
	// [1] [2]
}

// Attention sinks: the first token stays, and of the others the last four positions, in whole
// pages.
func ExampleSequence_DropBetween() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	fmt.Println(batch.Extend(10), batch.Extend(1), text.Pages())
	fmt.Println(text.DropBetween(1, text.Len()-4), text.Len(), text.Pages())

	// Output:
	// <nil> <nil> [0 1 2 3 4 5]
	// <nil> 11 [0 3 4 5]
}

// In a model with several layers, room for new tokens is made once. Then each layer stores
// its own keys and values of them.
func ExampleBatch_Extend() {
	const layers = 2
	cache, err := kvcache.New(kvcache.Config{Layers: layers, Heads: 1, HeadSize: 1, KeyType: kernel.Float16, ValueType: kernel.Float16, Pages: 4})
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
			err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), row(0), k, v, &kernel.Options{Scoring: batch.Scoring()})
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
func ExampleNewWithMemory() {
	const pages, heads, size, d = 8, 1, 2, 1
	data := make([]float32, pages*2*heads*size*d)
	shape, strides := [4]int{pages, heads, size, d}, [3]int{2 * heads * size * d, size * d, d}
	keys := kernel.Strided(data, shape, strides)
	values := kernel.Strided(data[heads*size*d:], shape, strides)
	cache, err := kvcache.NewWithMemory([]kernel.Tensor{keys}, []kernel.Tensor{values}, 0)
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
	// kvcache.Batch.Extend: the cache: 0 free pages, want 1
	// <nil> <nil> 33
}

// A cache for a model of two layers, with keys of 8 bits and values of 4, each row with its scale.
// Its memory is known before it is made.
func ExampleNew() {
	config := kvcache.Config{
		Layers: 2, Heads: 8, HeadSize: 64,
		KeyType: kernel.Int8, ValueType: kernel.Int4,
		PageSize: 16, Pages: 100,
	}
	page, err := config.PageBytes()
	fmt.Println(page, "bytes a page", err)

	cache, err := kvcache.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, values := cache.Memory(0)
	fmt.Println(cache.FreePages(), "pages of", cache.PageSize(), "tokens")
	fmt.Println(keys)
	fmt.Println(values)

	// Output:
	// 27648 bytes a page <nil>
	// 100 pages of 16 tokens
	// int8 [B H L D] = [100 8 16 64] with strides [8192 1024 64]
	// int4 [B H L D] = [100 8 16 64] with strides [8192 1024 64]
}

// Layers of Gemma 4: every second one has larger heads, and sees all tokens.
func ExampleNewOf() {
	cache, err := kvcache.NewOf([]kvcache.Config{
		{Heads: 2, HeadSize: 256, PageSize: 16, Pages: 8},
		{Heads: 1, HeadSize: 512, PageSize: 16, Pages: 8},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for layer := range 2 {
		keys, _ := cache.Memory(layer)
		fmt.Println(keys)
	}

	// Output:
	// float32 [B H L D] = [8 2 16 256] with strides [8192 4096 256]
	// float32 [B H L D] = [8 1 16 512] with strides [8192 8192 512]
}

// Layers of Gemma 4 whose windows are dropped: a page has room for one layer that sees all tokens,
// or for two that have a window.
func ExampleNewLayouts() {
	layouts := [][]kvcache.Config{
		{{Heads: 1, HeadSize: 512, PageSize: 16, Pages: 8}},
		{{Layers: 2, Heads: 1, HeadSize: 256, PageSize: 16, Pages: 8}},
	}
	caches, err := kvcache.NewLayouts(layouts)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := kvcache.LayoutsPageBytes(layouts)
	fmt.Println(page, err)

	whole, near := caches[0].NewSequence(), caches[1].NewSequence()
	for i, s := range []*kvcache.Sequence{whole, near} {
		batch, err := caches[i].NewBatch(s)
		if err == nil {
			err = batch.Extend(64)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(caches[0].FreePages(), "free")
	fmt.Println(near.DropBefore(32), caches[0].FreePages(), "free")

	// Output:
	// 65536 <nil>
	// 0 free
	// <nil> 2 free
}

// A page that fits one layer with 512 elements, or three with 128.
func ExampleLayoutsPageBytes() {
	page, err := kvcache.LayoutsPageBytes([][]kvcache.Config{
		{{Heads: 1, HeadSize: 512, PageSize: 16}},
		{{Layers: 3, Heads: 1, HeadSize: 128, PageSize: 16}},
	})
	fmt.Println(page, err)

	// Output: 65536 <nil>
}

// As many pages as fit a gigabyte.
func ExampleConfig_PageBytes() {
	config := kvcache.Config{Layers: 32, Heads: 8, HeadSize: 128, KeyType: kernel.Float16, ValueType: kernel.Float16}
	page, err := config.PageBytes()
	if err != nil {
		fmt.Println(err)
		return
	}
	config.Pages = 1 << 30 / page
	fmt.Println(page, config.Pages)

	// Output: 8388608 128
}

// A server takes sequences in and out of the batch between steps. A sequence that is not in the
// batch keeps its tokens.
func ExampleBatch_Set() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(a, b)
	fmt.Println(err, batch.Extend(3, 5))
	fmt.Println(batch.Set(b), batch.Extend(1), a.Len(), b.Len())

	// Output:
	// <nil> <nil>
	// <nil> <nil> 3 6
}

// A cache of one layer: room for the tokens and their keys and values in one call. Both sequences
// grow by a token.
func ExampleBatch_Append() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(a, b)
	fmt.Println(err)
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 2, 1, 1, 1) }
	fmt.Println(batch.Append(rows(1, 2), rows(10, 20)), a.Len(), b.Len())

	_, v := batch.View(0)
	fmt.Println(kernel.Row[float32](v, 0, 0, 0), kernel.Row[float32](v, 1, 0, 0))

	// Output:
	// <nil>
	// <nil> 1 1
	// [10] [20]
}

// Keys and values are rounded to the cache's type. The shorter sequence's end where it does: its
// second row is not stored.
func ExampleBatch_Store() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, KeyType: kernel.BFloat16, ValueType: kernel.BFloat16, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := cache.NewBatch(cache.NewSequence(), cache.NewSequence())
	fmt.Println(err, batch.Extend(2, 1))
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 2, 1, 2, 1) }
	fmt.Println(batch.Store(0, rows(0, 0, 0, 0), rows(0.5, 3.14159, 7, 8)))

	_, v := batch.View(0)
	fmt.Println(v.Length(0), v.Length(1), kernel.Row[kernel.BF16](v, 0, 0, 1)[0].Float32())

	// Output:
	// <nil> <nil>
	// <nil>
	// 2 1 3.140625
}

// A program that summarises old tokens drops their pages. The positions of those that stay do not
// change, and the pages are free for others.
func ExampleSequence_DropBefore() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, err := cache.NewBatch(text)
	fmt.Println(err, batch.Extend(6), cache.FreePages())
	fmt.Println(text.DropBefore(3), text.Start(), text.Len(), cache.FreePages()) // token 3 needs its page

	// Output:
	// <nil> <nil> 1
	// <nil> 2 6 2
}

// A text that has ended gives its pages back.
func ExampleSequence_Free() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, err := cache.NewBatch(text)
	fmt.Println(err, batch.Extend(6), cache.FreePages())
	text.Free()
	fmt.Println(cache.FreePages(), batch.Extend(1) != nil)

	// Output:
	// <nil> <nil> 1
	// 4 true
}

// After two tokens, two drafted ones follow the last, and a third the second of these. Each has the
// next position on its path, and attention takes the same parents.
func ExampleBatch_TreePositions() {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, Pages: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }
	fmt.Println(batch.Append(rows(0, 0), rows(1, 2)))

	parents := []int32{-1, -1, 1}
	fmt.Println(batch.Append(rows(0, 0, 0), rows(3, 6, 7)))
	fmt.Println(batch.TreePositions(parents))
	k, v := batch.View(0)
	o := kernel.Options{Scoring: batch.Scoring()}
	o.Parents = parents
	out := make([]float32, 3)
	fmt.Println(kernel.Attention(rows(out...), rows(0, 0, 0), k, v, &o), out)
	fmt.Println(text.Keep([]int{1, 2}), text.Len()) // the path that is accepted

	// Output:
	// <nil>
	// <nil>
	// [2 2 3] <nil>
	// <nil> [2 3 4]
	// <nil> 4
}
