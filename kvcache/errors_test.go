package kvcache_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		arg, want string
		change    func(c *kvcache.Config)
	}{
		{"Config.Layers", "-1, want 1 to", func(c *kvcache.Config) { c.Layers = -1 }},
		{"Config.Heads", "0, want 1 to", func(c *kvcache.Config) { c.Heads = 0 }},
		{"Config.HeadSize", "-2, want 1 to", func(c *kvcache.Config) { c.HeadSize = -2 }},
		{"Config.HeadSize", "0, want 1 to", func(c *kvcache.Config) { c.HeadSize, c.ValueSize = 0, 0 }},
		{"Config.ValueSize", "-8, want 1 to", func(c *kvcache.Config) { c.ValueSize = -8 }},
		{"Config.PageSize", "-16, want 1 to", func(c *kvcache.Config) { c.PageSize = -16 }},
		{"Config.PageSize", "want 1 to", func(c *kvcache.Config) { c.PageSize = position.Max + 1 }},
		{"Config.Pages", "-1, want 0 to", func(c *kvcache.Config) { c.Pages = -1 }},
		{"Config.KeyType", "7, want 0 to 6", func(c *kvcache.Config) { c.KeyType = 7 }},
		{"Config.Layout", "2, want 0 to 1", func(c *kvcache.Config) { c.Layout = 2 }},
		{"Config.Window", "-1, want 0 to", func(c *kvcache.Config) { c.Window = -1 }},
		{"Config.Window", "want 0 to", func(c *kvcache.Config) { c.Window = position.Max }},
		{"Config.Group", "4 with keys of float32 and values of float32, want 0", func(c *kvcache.Config) { c.Group = 4 }},
		{"Config.Group", "want 0: groups are of Int8 and Int4", func(c *kvcache.Config) { c.KeyType, c.Group = kernel.Float8E4M3, 3 }},
		{"Config.Group", "8, want for Int8", func(c *kvcache.Config) { c.KeyType, c.Group = kernel.Int8, 8 }},
		{"Config.Group", "-1, want for Int8", func(c *kvcache.Config) { c.KeyType, c.Group = kernel.Int8, -1 }},
		{"Config.Group", "3, want for Int8", func(c *kvcache.Config) { c.KeyType, c.Group, c.HeadSize = kernel.Int4, 3, 12 }},
		{"Config.ValueSize", "7 with elements of int4, want a multiple of 2", func(c *kvcache.Config) { c.ValueType, c.ValueSize = kernel.Int4, 7 }},
		{"Config.HeadSize", "13 with elements of int4, want a multiple of 2", func(c *kvcache.Config) { c.KeyType, c.HeadSize = kernel.Int4, 13 }},
		{"Config.ValueType", "7, want 0 to 6", func(c *kvcache.Config) { c.ValueType = 7 }},
		{"Config.Group", "3, want for Int8", func(c *kvcache.Config) { c.Group, c.ValueType, c.ValueSize = 3, kernel.Int4, 12 }},
		{"Config", "GiB, want a size that fits memory", func(c *kvcache.Config) { c.Pages, c.PageSize = math.MaxInt32, position.Max }},
	} {
		c := smallConfig()
		test.change(&c)
		_, err := kvcache.New(c)
		contracttest.CheckArgument(t, "", err, test.arg, test.want)
	}
}

func TestNewOfErrors(t *testing.T) {
	fits := kvcache.Config{Heads: 2, HeadSize: 4, PageSize: 3, Pages: 6}
	with := func(change func(c *kvcache.Config)) []kvcache.Config {
		c := fits
		change(&c)
		return []kvcache.Config{fits, c}
	}
	for want, layers := range map[string][]kvcache.Config{
		"layers":              nil,
		"layers[1].Heads":     with(func(c *kvcache.Config) { c.Heads = -1 }),
		"layers[1]":           with(func(c *kvcache.Config) { c.Pages++ }),
		"layers[1].PageSize":  with(func(c *kvcache.Config) { c.PageSize = -1 }),
		"layers[1].ValueType": with(func(c *kvcache.Config) { c.ValueType = 99 }),
	} {
		_, err := kvcache.NewOf(layers)
		if bad, ok := testutil.AsType[*kernel.Error](err); !ok || bad.Where != "kvcache.NewOf: "+want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := kvcache.NewOf(with(func(c *kvcache.Config) { c.Heads, c.HeadSize, c.KeyType = 1, 8, kernel.Float16 })); err != nil {
		t.Error(err)
	}
}

func TestNewLayoutsErrors(t *testing.T) {
	fits := kvcache.Config{Heads: 2, HeadSize: 4, PageSize: 3, Pages: 6}
	with := func(change func(c *kvcache.Config)) [][]kvcache.Config {
		c := fits
		change(&c)
		return [][]kvcache.Config{{fits}, {c}}
	}
	for want, layouts := range map[string][][]kvcache.Config{
		"layouts":                      nil,
		"layouts[1]: layers":           {{fits}, nil},
		"layouts[1]: layers[0].Heads":  with(func(c *kvcache.Config) { c.Heads = -1 }),
		"layouts[1]":                   with(func(c *kvcache.Config) { c.Pages++ }),
		"layouts[1]: layers[0].Window": with(func(c *kvcache.Config) { c.Window = -1 }),
		"layouts[0]: layers":           {{{Heads: 2, HeadSize: math.MaxInt32, PageSize: 1 << 20, Pages: math.MaxInt32}}},
	} {
		_, err := kvcache.NewLayouts(layouts)
		if bad, ok := testutil.AsType[*kernel.Error](err); !ok || !strings.HasPrefix(bad.Where, "kvcache.NewLayouts: "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := kvcache.LayoutsPageBytes([][]kvcache.Config{{fits}, nil})
	if bad, ok := testutil.AsType[*kernel.Error](err); !ok || bad.Where != "kvcache.LayoutsPageBytes: layouts[1]: layers" {
		t.Errorf("no layers: %v", err)
	}
}

func TestNewWithMemoryErrors(t *testing.T) {
	data, ints := make([]float32, 4*2*16*6), make([]int8, 4*2*16*6)
	memory := kernel.BHLD(data, 4, 2, 16, 6)
	one := func(t kernel.Tensor) []kernel.Tensor { return []kernel.Tensor{t} }
	broadcast := kernel.Strided(data, memory.Shape(), [3]int{2 * 16 * 6, 0, 6})
	scales := kernel.Strided(data, [4]int{4, 2, 16, 1}, [3]int{0, 0, 0})
	other := kernel.Tensor(view.Other(view.DType(200), ints, memory.Shape(), memory.Strides())) // a type that the cache does not know
	for _, test := range []struct {
		arg, want    string
		keys, values []kernel.Tensor
		window       int
	}{
		{"values", "elements of type unknown, want a type of package kernel", one(memory), one(other), 0},
		{"keys", "no layers", nil, nil, 0},
		{"values", "1 layers, want 2", []kernel.Tensor{memory, memory}, one(memory), 0},
		{"window", "-1, want 0 to", one(memory), one(memory), -1},
		{"values", "a slice of at least", one(memory), one(kernel.BHLD(data[:700], 4, 2, 16, 6)), 0},
		{"values", "the same number of pages", one(memory), one(kernel.BHLD(data, 3, 2, 16, 6)), 0},
		{"values", "the same page size", one(memory), one(kernel.BHLD(data, 4, 2, 8, 6)), 0},
		{"keys", "page size, 1 to", one(kernel.BHLD(data, 4, 2, 0, 6)), one(kernel.BHLD(data, 4, 2, 0, 6)), 0},
		{"values", "1 heads in layer 0, want 2", one(memory), one(kernel.BHLD(data, 4, 1, 16, 6)), 0},
		{"keys", "strides that nest", one(broadcast), one(memory), 0},
		{"keys", "not a view of them", one(memory.Paged(&kernel.PageTable{})), one(memory), 0},
		{"values", "not a view of them", one(memory), one(memory.Ragged([]int{0, 4})), 0},
		{"keys", "Tensor.Scaled", one(kernel.BHLD(ints, 4, 2, 16, 6)), one(memory), 0},
		{"the scales of keys", "strides that nest", one(kernel.BHLD(ints, 4, 2, 16, 6).Scaled(&scales)), one(memory), 0},
	} {
		_, err := kvcache.NewWithMemory(test.keys, test.values, test.window)
		contracttest.CheckArgument(t, "", err, test.arg, test.want)
	}
}

// What does not fit is named, and the sequences stay as they are.
func TestErrors(t *testing.T) {
	c := smallConfig()
	c.Window, c.Pages = 40, 20
	h := newHarness(t, c)
	a, b := h.begin(), h.begin()
	h.grow([]int{a, b}, []int{100, 20})
	h.grow([]int{a, b}, []int{2, 1})
	long, short := h.sequences[a], h.sequences[b]
	freed, other := h.cache.NewSequence(), newHarness(t, c).cache.NewSequence()
	endless := newHarness(t, smallConfig()).cache.NewSequence()
	freed.Free()
	freed.Free()
	rows := func(n, d int) kernel.Tensor { return kernel.BHLD(make([]float32, 2*2*n*d), 2, 2, n, d) }
	fork := func(s *kvcache.Sequence, n int) error { _, err := s.Fork(n); return err }
	store := func(layer int, k, v kernel.Tensor) error { h.set(a, b); return h.batch.Store(layer, k, v) }
	extend := func(counts ...int) error { h.set(a, b); return h.batch.Extend(counts...) }
	batchOf := func(sequences ...*kvcache.Sequence) *kvcache.Batch {
		batch, err := h.cache.NewBatch(sequences...)
		h.must(err)
		return batch
	}
	treePositions := func(b *kvcache.Batch, parents []int32) error { _, err := b.TreePositions(parents); return err }
	twice := batchOf(short, long, short)
	late := h.cache.NewSequence()
	gone := batchOf(late)
	late.Free()
	pages := kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{2, 2}}
	for _, test := range []struct {
		arg, want string
		err       error
	}{
		{"n", "103, want 88 to 102, for tokens from 48 on", fork(long, 103)},
		{"n", "87, want 88 to 102", fork(long, 87)},
		{"n", "-1, want 0 to 21", fork(short, -1)},
		{"n", "87, want 88", long.Truncate(87)},
		{"n", "103, want", long.Truncate(103)},
		{"n", "47, want 48 to 102", long.DropBefore(47)},
		{"n", "103, want 48 to 102", long.DropBefore(103)},
		{"parents", "3 parents, want one for each query: 2", treePositions(batchOf(long), []int32{-1, 0, 0})},
		{"parents", "parent 1 of query 1, want a query before it", treePositions(batchOf(long), []int32{-1, 1})},
		{"tokens", "2 as number 0, want ascending numbers of the last step's tokens, here 0 to 1", long.Keep([]int{2})},
		{"tokens", "0 as number 1, want ascending numbers of the last step's tokens, here 1 to 0", short.Keep([]int{0, 0})},
		{"tokens", "-1 as number 0", long.Keep([]int{-1, 0})},
		{"sequence", "freed", freed.Keep(nil)},
		{"sequence", "freed", freed.Truncate(0)},
		{"sequence", "freed", freed.DropBefore(0)},
		{"sequence", "freed", freed.DropBetween(1, 0)},
		{"sequence", "a window of 40, want one of a cache without", long.DropBetween(1, 50)},
		{"first", "-1, want at least 0", endless.DropBetween(-1, 0)},
		{"n", "1, want 0 to 0", endless.DropBetween(0, 1)},
		{"n", "-1, want 0 to 0", endless.DropBetween(4, -1)},
		{"sequence", "freed", fork(freed, 0)},
		{"sequence", "freed", fork(nil, 0)},
		{"sequence", "freed", fork(new(kvcache.Sequence), 0)},
		{"sequences", "freed", h.batch.Set(short, freed)},
		{"sequences", "freed", h.batch.Set(nil)},
		{"sequences", "sequence 1 of another cache", h.batch.Set(short, other)},
		{"counts", "1073741824 for sequence 1, want 0 to 1073741803", extend(1, position.Max)},
		{"counts", "0 numbers, want one for all sequences or one for each: 2", extend()},
		{"counts", "3 numbers", extend(1, 2, 3)},
		{"counts", "-1 for sequence 1", extend(1, -1)},
		{"sequences", "sequence 2 for the second time", twice.Extend(1)},
		{"sequences", "freed", gone.Extend(1)},
		{"sequences", "freed", gone.Store(0, rows(0, 12), rows(0, 8))},
		{"layer", "2, want 0 to 1", store(2, rows(2, 12), rows(2, 8))},
		{"layer", "-1, want 0 to 1", store(-1, rows(2, 12), rows(2, 8))},
		{"k", "want shape [2 2 2 12]", store(0, rows(1, 12), rows(2, 8))},
		{"k", "want shape [2 2 2 12]", store(0, rows(2, 11), rows(2, 8))},
		{"v", "want shape [2 2 2 8]", store(0, rows(2, 12), rows(2, 12))},
		{"v", "head size of at least 1", store(0, rows(2, 12), kernel.Tensor{})},
		{"k", "float32", store(0, kernel.BHLD(make([]kernel.F16, 96), 2, 2, 2, 12), rows(2, 8))},
		{"k", "at least 96 elements", store(0, kernel.BHLD(make([]float32, 95), 2, 2, 2, 12), rows(2, 8))},
		{"k", "1 rows for sequence 0, want the 2", store(0, raggedRows([]int{1, 2}, 2, 12), rows(2, 8))},
		{"k", "not paged", store(0, rows(2, 12).Paged(&pages), rows(2, 8))},
		{"the batch", "2 layers", h.batch.Append(rows(2, 12), rows(2, 8))},
		{"layer", "0 to -1", new(kvcache.Batch).Store(0, rows(2, 12), rows(2, 8))},
		{"the batch", "0 layers", new(kvcache.Batch).Append(rows(2, 12), rows(2, 8))},
	} {
		contracttest.CheckArgument(t, "", test.err, test.arg, test.want)
	}
	h.check()
	h.attend(1, threads(0), a, b)
}

// A cache that is full says so, and what is freed can be used.
func TestFull(t *testing.T) {
	c := smallConfig()
	c.Pages = 5
	h := newHarness(t, c)
	a, b := h.begin(), h.begin()
	h.grow([]int{a, b}, []int{30, 33})
	h.set(a, b)
	checkFull(t, h.batch.Extend(3, 16), kvcache.CapacityError{Where: "kvcache.Batch.Extend", Need: 2, Free: 0}) // one page for each
	f := h.fork(a, 30)
	h.set(f)
	checkFull(t, h.batch.Extend(1), kvcache.CapacityError{Where: "kvcache.Batch.Extend", Need: 1, Free: 0}) // for a copy
	h.check()
	h.grow([]int{b}, []int{15})
	h.truncate(b, 10)
	h.grow([]int{f, a}, []int{1, 1})
	h.attend(2, threads(0), a, b, f)
	h.check()
}

// Extend that finds the cache full leaves everything as it was, also the tokens that it would have
// dropped under a window: sequences can be forked and cut as before, and growing by less works.
func TestFullUnderWindow(t *testing.T) {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 6, Window: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := cache.NewSequence()
	batch, err := cache.NewBatch(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Extend(10); err != nil {
		t.Fatal(err)
	}
	shared, err := a.Fork(6) // keeps three of the pages that the next step drops
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(a.Pages())
	checkFull(t, batch.Extend(5), kvcache.CapacityError{Where: "kvcache.Batch.Extend", Need: 3, Free: 2}) // one was free, one is dropped
	if a.Start() != 0 || a.Len() != 10 || !slices.Equal(a.Pages(), before) || cache.FreePages() != 1 {
		t.Errorf("after the error: tokens %d to %d in pages %v, %d free; want 0 to 10 in %v, 1 free", a.Start(), a.Len(), a.Pages(), cache.FreePages(), before)
	}
	fork, err := a.Fork(4)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Truncate(4); err != nil || a.Len() != 4 {
		t.Errorf("Truncate: %v, length %d", err, a.Len())
	}
	for _, s := range []*kvcache.Sequence{fork, shared} {
		s.Free()
	}
	if err := batch.Extend(8); err != nil || a.Start() != 2 || a.Len() != 12 || cache.FreePages() != 1 {
		t.Errorf("Extend: %v, tokens %d to %d, %d pages free", err, a.Start(), a.Len(), cache.FreePages())
	}
}

func checkFull(t *testing.T, err error, want kvcache.CapacityError) {
	t.Helper()
	var full *kvcache.CapacityError
	if !errors.As(err, &full) || *full != want {
		t.Errorf("got %v, want %v", err, &want)
	}
}

// After an error of Append a sequence has the length that it had, and its tokens.
func TestAppendErrors(t *testing.T) {
	c := smallConfig()
	c.Layers, c.KeyType, c.ValueType, c.Pages = 1, kernel.Int8, kernel.Int8, 4
	h := newHarness(t, c)
	a := h.begin()
	h.grow([]int{a}, []int{20})
	f := h.fork(a, 18)
	h.set(f)
	k, v := kernel.BHLD(make([]float32, 2*20*12), 1, 2, 20, 12), kernel.BHLD(make([]float32, 2*20*8), 1, 2, 20, 8)
	contracttest.Floats(v)[100] = testutil.Inf
	contracttest.CheckArgument(t, "an infinity as int8", h.batch.Append(k, v), "v", "+Inf as element")
	contracttest.CheckArgument(t, "keys as values", h.batch.Append(k, k), "v", "shape [1 2 20 8]")
	contracttest.CheckArgument(t, "no keys", h.batch.Append(kernel.Tensor{}, v), "k", "head size of at least 1")
	h.grow([]int{a}, []int{1})
	h.attend(2, threads(0), a)
	h.grow([]int{f}, []int{1})
	h.attend(2, threads(0), a, f)
	h.check()
}

// What was not made by New is an error or empty, not a panic.
func TestZeroValues(t *testing.T) {
	var c kvcache.Cache
	_, err := c.NewBatch(c.NewSequence())
	contracttest.CheckArgument(t, "", err, "sequences", "freed")
	b, err := c.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*kvcache.Batch{b, new(kvcache.Batch)} {
		if err := b.Extend(1); err != nil {
			t.Error(err)
		}
		if k, v := b.View(0); contracttest.IsSet(k) || contracttest.IsSet(v) {
			t.Error("a batch of nothing has keys or values")
		}
		if o := b.Scoring(); o.KeyStart != nil || o.QueryStart != nil || len(b.Positions()) != 0 {
			t.Error("a batch of nothing has positions")
		}
	}
	if k, v := c.Memory(0); contracttest.IsSet(k) || contracttest.IsSet(v) || c.FreePages() != 0 || c.PageSize() != 0 {
		t.Error("a cache of nothing has something")
	}
	h := newHarness(t, smallConfig())
	for _, layer := range []int{-1, 2} {
		if k, v := h.batch.View(layer); contracttest.IsSet(k) || contracttest.IsSet(v) {
			t.Error("there is a view of layer", layer)
		}
		if k, v := h.cache.Memory(layer); contracttest.IsSet(k) || contracttest.IsSet(v) {
			t.Error("there is memory of layer", layer)
		}
	}
}

// Zeros in a configuration are the defaults that the documentation names.
func TestDefaults(t *testing.T) {
	c, err := kvcache.New(kvcache.Config{Heads: 3, HeadSize: 8, KeyType: kernel.Int8, ValueType: kernel.Int8, Pages: 2})
	if err != nil {
		t.Fatal(err)
	}
	for layer, want := range [][4]int{{2, 3, 64, 8}, {}} {
		k, v := c.Memory(layer)
		if k.Shape() != want || v.Shape() != want {
			t.Errorf("memory of layer %d: %v and %v, want %v", layer, k, v, want)
		}
	}
	k, _ := c.Memory(0)
	if groups := contracttest.View(&k).Scales().Dim(3); groups != 1 || c.PageSize() != 64 || c.FreePages() != 2 {
		t.Errorf("%d scales per row, pages of %d, %d free; want 1, 64, 2", groups, c.PageSize(), c.FreePages())
	}
}
