package kvcache_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// smallConfig is a configuration with all fields set that have no zero default.
func smallConfig() kvcache.Config {
	return kvcache.Config{Layers: 2, Heads: 2, HeadSize: 12, ValueSize: 8, PageSize: 16, Pages: 200}
}

func threads(n int) kernel.Exec { return kernel.Exec{Threads: n} }

// Sequences go through prompts in chunks, single tokens, forks and drafts, with every
// element type, layout and page size, on every tier.
func TestCache(t *testing.T) {
	n := 0
	for _, dtype := range contracttest.KeyTypes() {
		for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
			for _, size := range []int{1, 5, 16, 32, 64, 128, 256, 600} {
				if n++; testing.Short() && n%13 != 0 {
					continue
				}
				c := smallConfig()
				c.KeyType, c.ValueType, c.Layout, c.PageSize, c.Pages = dtype, dtype, layout, size, 1400/size+12
				if (dtype == kernel.Int8 || dtype == kernel.Int4) && n%2 == 0 {
					c.Group = 4
				}
				t.Run(fmt.Sprintf("%v/layout=%d/size=%d", dtype, layout, size), func(t *testing.T) {
					contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
						useCache(newHarness(t, c), kernel.Exec{Tier: tier, Threads: 1 + n%2})
					})
				})
			}
		}
	}
}

// useCache does what programs do, in an empty cache, and leaves an empty one.
func useCache(h *harness, e kernel.Exec) {
	a, b := h.begin(), h.begin()
	h.grow([]int{a, b}, []int{250, 33})
	h.attend(2, e, a, b)
	h.grow([]int{a, b}, []int{9, 20})
	h.attend(2, e, a, b)
	f := h.fork(a, 255)
	g := h.fork(a, 259)
	h.attend(1, e, a, b) // not changed by that
	for _, numbers := range [][]int{{f, a}, {g, f, b, a}, {a}} {
		for range 3 {
			counts := []int{1, 1, 1, 1}[:len(numbers)]
			h.grow(numbers, counts)
			h.attend(2, e, numbers...)
			h.check()
		}
	}
	h.grow([]int{a, f}, []int{4, 0})
	h.attend(1, e, a, f)
	h.truncate(a, h.sequences[a].Len()-3) // a draft
	h.grow([]int{g, a}, []int{2, 30})
	h.attend(3, e, a, b, f, g)
	h.check()
	h.truncate(f, 200) // into a page that was full when it was shared
	h.grow([]int{f}, []int{5})
	h.attend(1, e, g, f, a)
	h.check()
	for i := range h.sequences {
		h.sequences[i].Free()
	}
	if n := h.cache.FreePages(); n != h.config.Pages {
		h.t.Errorf("%d of %d pages are free in the end", n, h.config.Pages)
	}
}

// What a window has dropped does not show. Short tests leave out the largest window and
// have one page size for each of the others. Quick ones have one layer.
func TestWindow(t *testing.T) {
	for i, window := range []int{1, 15, 16, 40, 300} {
		for _, size := range []int{1, 16, 48, 256} {
			c := smallConfig()
			c.Window, c.PageSize, c.KeyType, c.ValueType = window, size, kernel.DType(i%4), kernel.DType(i%4)
			if testing.Short() && (window == 300 || size != []int{16, 48, 256, 1}[i]) {
				continue
			}
			if testutil.Quick() {
				c.Layers = 1
			}
			c.Pages = 2 * (window + 530 + 2*size) / size
			t.Run(fmt.Sprintf("window=%d/size=%d", window, size), func(t *testing.T) {
				h := newHarness(t, c)
				a, b := h.begin(), h.begin()
				for n, counts := range [][]int{{200, 7}, {1, 1}, {330, 60}, {2, 3}, {1, 1}, {17, 1}, {0, 5}} {
					h.grow([]int{a, b}, counts)
					h.attend(2, threads(1+n%2), b, a)
					h.check()
				}
				if got, most := len(h.sequences[a].Pages()), (window+17)/size+2; got > most {
					t.Errorf("%d pages, want at most %d for a window of %d in pages of %d", got, most, window, size)
				}
				f := h.fork(a, h.sequences[a].Len())
				h.grow([]int{f, a}, []int{1, 1})
				h.attend(2, threads(0), a, f)
				h.check()
			})
		}
	}
}

// Whichever of two sequences grows first copies the page that both have filled partly.
// The other one then has it for itself.
func TestForkCopiesOnePage(t *testing.T) {
	for _, forkFirst := range []bool{false, true} {
		h := newHarness(t, smallConfig())
		a := h.begin()
		h.grow([]int{a}, []int{40}) // two and a half pages
		f := h.fork(a, 40)
		first, second := a, f
		if forkFirst {
			first, second = f, a
		}
		shared, free := slices.Clone(h.sequences[a].Pages()), h.cache.FreePages()
		for i, x := range []int{first, second} {
			h.grow([]int{x}, []int{1})
			if h.cache.FreePages() != free-1 {
				t.Errorf("forkFirst=%v: %d pages have been taken after %d have grown, want 1", forkFirst, free-h.cache.FreePages(), i+1)
			}
		}
		if got := h.sequences[first].Pages(); !slices.Equal(got[:2], shared[:2]) || got[2] == shared[2] {
			t.Errorf("forkFirst=%v: the first one to grow has pages %v, want a copy of the last of %v", forkFirst, got, shared)
		}
		if got := h.sequences[second].Pages(); !slices.Equal(got, shared) {
			t.Errorf("forkFirst=%v: the second one to grow has pages %v, want %v", forkFirst, got, shared)
		}
		h.attend(1, threads(1), a, f)
		h.check()
	}
}

// Of a step, the tokens that are kept move together, over pages, and into copies of those that
// forks share: with the bits that a sequence has which never had the others. The forks stay what
// they are.
func TestKeep(t *testing.T) {
	for _, dtype := range contracttest.KeyTypes() {
		for i, size := range []int{1, 5, 16, 64} {
			c := smallConfig()
			c.KeyType, c.ValueType, c.Layout, c.PageSize, c.Pages = dtype, dtype, kvcache.PageLayout(i%2), size, 1000/size+12
			if testutil.Quick() {
				c.Layers = 1
			}
			h := newHarness(t, c)
			a, b := h.begin(), h.begin()
			for n, rows := range [][]int{{0, 2, 5, 8}, {}, {3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1}} {
				h.grow([]int{a, b}, []int{9, 3 + n})
				before := h.fork(a, h.sequences[a].Len()-9+n)
				all := h.fork(a, h.sequences[a].Len())
				h.keep(a, rows...)
				h.keep(a) // there is no step
				h.keep(b, 1, 2+n)
				h.check()
				h.grow([]int{b, before, a, all}, []int{1, 2, 3, 4})
				h.attend(2, threads(1), a, b, before, all)
				h.check()
			}
		}
	}
}

// Without room for copies, nothing changes.
func TestKeepCapacity(t *testing.T) {
	c := smallConfig()
	c.Pages = 2
	h := newHarness(t, c)
	a := h.begin()
	h.grow([]int{a}, []int{20})
	f := h.fork(a, 20)
	var full *kvcache.CapacityError
	if err := h.sequences[a].Keep([]int{1, 19}); !errors.As(err, &full) || full.Need != 1 || full.Free != 0 || err.Error() != "kvcache.Sequence.Keep: the cache: 0 free pages, want 1" {
		t.Errorf("got %v", err)
	}
	h.check()
	h.attend(1, threads(1), a)
	h.sequences[f].Free()
	h.sequences, h.models = h.sequences[:1], h.models[:1]
	h.keep(a, 1, 19)
	h.check()
}

// Tokens dropped by hand are gone, and positions stay.
func TestDrop(t *testing.T) {
	h := newHarness(t, smallConfig())
	a := h.begin()
	h.grow([]int{a}, []int{300})
	f := h.fork(a, 290)
	h.drop(a, 100)
	if got := h.sequences[a].Start(); got != 96 {
		t.Errorf("after a drop of 100 tokens in pages of 16 the first one is %d, want 96", got)
	}
	h.check()
	h.grow([]int{a, f}, []int{2, 3})
	h.attend(2, threads(0), a, f)
	h.truncate(a, 97)
	h.grow([]int{a}, []int{20})
	h.attend(2, threads(0), a)
	h.check()
}

// First tokens stay while those after them are dropped, step by step, in forks too: attention is as
// in a text in which they come right before the others.
func TestDropBetween(t *testing.T) {
	for _, size := range []int{1, 4, 16} {
		c := smallConfig()
		c.PageSize, c.Pages = size, 2000/size
		h := newHarness(t, c)
		a, b := h.begin(), h.begin()
		h.grow([]int{a, b}, []int{300, 9})
		for range 5 {
			h.grow([]int{a, b}, []int{7, 1})
			h.dropBetween(a, 4, h.sequences[a].Len()-100)
			h.dropBetween(b, 100, h.sequences[b].Len()-1) // keeps all
			h.check()
			h.attend(2, threads(1), a, b)
			f := h.fork(a, h.sequences[a].Len()-3)
			h.grow([]int{f, a}, []int{20, 1})
			h.dropBetween(f, 5, h.sequences[f].Len()-60)
			h.attend(1, threads(2), f, a)
			h.check()
		}
		if got, most := len(h.sequences[a].Pages()), (108+4)/size+2; got > most {
			t.Errorf("size %d: %d pages, want at most %d", size, got, most)
		}
		first := h.sequences[a].Start() + (4+size-1)/size*size
		contracttest.CheckArgument(t, "cut among the first tokens", h.sequences[a].Truncate(first-1), "n", fmt.Sprintf("want %d to", first))
		h.truncate(a, first)
		h.grow([]int{a}, []int{30})
		h.attend(1, threads(1), a)
		h.drop(a, h.sequences[a].Len()-20) // the first ones, too
		h.truncate(a, h.sequences[a].Start())
		h.grow([]int{a}, []int{2})
		h.attend(1, threads(1), a)
		h.check()
	}
}

// Tokens that are dropped before they are stored are not stored anywhere, above all not
// in pages that other sequences have got since.
func TestDropBeforeStore(t *testing.T) {
	for _, dtype := range contracttest.KeyTypes() {
		for _, x := range []struct{ grow, drop, pages int }{
			{90, 70, 4}, // pages of the step before, and of this one
			{20, 20, 1}, // of new tokens less than a page
		} {
			c := smallConfig()
			c.KeyType, c.ValueType, c.Pages = dtype, dtype, 12
			h := newHarness(t, c)
			a, b := h.begin(), h.begin()
			h.grow([]int{a}, []int{10})
			h.extend([]int{a}, []int{x.grow})
			h.drop(a, x.drop)
			h.grow([]int{b}, []int{x.pages * c.PageSize}) // gets the pages that a had
			h.store([]int{a})
			h.attend(2, threads(1), a, b)
			h.check()
		}
	}
}

// Values may have any other type than keys, float32 too, with groups of their own, as values of 4
// bits have by default. Quick tests have one layer.
func TestValueType(t *testing.T) {
	for _, x := range []struct {
		keys, values kernel.DType
		size, group  int
	}{
		{kernel.Int8, kernel.Int4, 64, 0}, {kernel.Int8, kernel.Int4, 8, 4}, {kernel.Float16, kernel.Int4, 40, 0},
		{kernel.Int4, kernel.Float8E4M3, 7, 6}, {kernel.Float32, kernel.Int8, 9, 3}, {kernel.BFloat16, kernel.Float32, 8, 0},
		{kernel.Int8, kernel.Float32, 8, 0}, {kernel.Int8, kernel.Float32, 40, 4}, {kernel.Int8, kernel.Float16, 24, 6}, {kernel.Int8, kernel.BFloat16, 7, 0}, {kernel.Int4, kernel.Float32, 8, 0},
	} {
		c := smallConfig()
		c.KeyType, c.ValueType, c.ValueSize, c.Group = x.keys, x.values, x.size, x.group
		if testutil.Quick() {
			c.Layers = 1
		}
		t.Run(fmt.Sprintf("%v,%v", x.keys, x.values), func(t *testing.T) {
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				h := newHarness(t, c)
				if k, v := h.cache.Memory(0); k.DType() != x.keys || v.DType() != x.values {
					t.Fatalf("keys of %v and values of %v", k.DType(), v.DType())
				}
				useCache(h, kernel.Exec{Tier: tier, Threads: 1})
			})
		})
	}
}

// The values of a layer may be a part of its keys.
func TestValuesInKeys(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testValuesInKeys[float32](t, kernel.Float32) })
	t.Run("float16", func(t *testing.T) { testValuesInKeys[kernel.F16](t, kernel.Float16) })
}

func testValuesInKeys[E kernel.Float](t *testing.T, dtype kernel.DType) {
	c := smallConfig()
	c.Layers, c.Heads, c.Pages, c.KeyType, c.ValueType = 1, 1, 12, dtype, dtype
	data := make([]E, c.Pages*c.PageSize*c.HeadSize)
	keys := kernel.BHLD(data, c.Pages, 1, c.PageSize, c.HeadSize)
	values := kernel.Strided(data, [4]int{c.Pages, 1, c.PageSize, c.ValueSize}, keys.Strides())
	cache, err := kvcache.NewWithMemory([]kernel.Tensor{keys}, []kernel.Tensor{values}, 0)
	if err != nil {
		t.Fatal(err)
	}
	useValuesInKeys(harnessOf(t, c, cache), c, dtype)
	c.ValuesInKeys = true
	if cache, err = kvcache.New(c); err != nil {
		t.Fatal(err)
	}
	useValuesInKeys(harnessOf(t, c, cache), c, dtype)
}

func useValuesInKeys(h *harness, c kvcache.Config, dtype kernel.DType) {
	a, b := h.begin(), h.begin()
	for _, counts := range [][]int{{40, 15}, {1, 1}, {3, 20}, {1, 1}} {
		numbers := []int{a, b}
		h.extend(numbers, counts)
		k := h.tokens(numbers, c.HeadSize, dtype, func(m *model) *[]float32 { return &m.k[0] })
		h.must(h.batch.Store(0, k, kernel.Tensor{}))
		for _, x := range numbers {
			m := h.models[x]
			m.v[0] = nil
			for at := 0; at < len(m.k[0]); at += c.HeadSize {
				m.v[0] = append(m.v[0], m.k[0][at:at+c.ValueSize]...)
			}
		}
		h.attend(4, threads(1), a, b)
		h.check()
		if counts[1] > 1 {
			h.keep(b, counts[1]/2, counts[1]-2, counts[1]-1)
			h.check()
		}
	}
}

// TestConfigValuesInKeys: such values take no memory and are the first elements of the keys, with
// the scales of these.
func TestConfigValuesInKeys(t *testing.T) {
	for _, x := range []struct {
		dtype      kernel.DType
		group, row int // elements that share a scale, and bytes of 96 elements
	}{{kernel.Float32, 0, 4 * 96}, {kernel.BFloat16, 0, 2 * 96}, {kernel.Int8, 32, 96 + 3*4}, {kernel.Int4, 32, 48 + 3*4}} {
		c := kvcache.Config{Heads: 2, HeadSize: 96, ValueSize: 64, ValuesInKeys: true, KeyType: x.dtype, ValueType: x.dtype, PageSize: 16, Pages: 3}
		bytes, err := c.PageBytes()
		if want := 16 * 2 * x.row; err != nil || bytes != want {
			t.Errorf("%v: pages of %d bytes, %v, want %d", x.dtype, bytes, err, want)
		}
		cache, err := kvcache.NewOf([]kvcache.Config{{Heads: 1, HeadSize: 8, PageSize: 16, Pages: 3}, c})
		if err != nil {
			t.Fatal(err)
		}
		if keys, values := cache.Memory(0); values.Overlaps(keys) {
			t.Errorf("%v: values in the keys of another layer", x.dtype)
		}
		keys, values := cache.Memory(1)
		if got := values.Shape()[3]; got != 64 || !values.Overlaps(keys) || values.Strides() != keys.Strides() {
			t.Errorf("%v: values %v, keys %v", x.dtype, values, keys)
		}
		if x.group > 0 && (values.Scales().Shape()[3] != 64/x.group || keys.Scales().Shape()[3] != 96/x.group || !values.Scales().Overlaps(keys.Scales())) {
			t.Errorf("%v: scales %v of values, %v of keys", x.dtype, values.Scales(), keys.Scales())
		}
	}
	for _, x := range []struct {
		c    kvcache.Config
		want string
	}{
		{kvcache.Config{Heads: 1, HeadSize: 8, ValueSize: 9, ValuesInKeys: true}, "ValueSize"},
		{kvcache.Config{Heads: 1, HeadSize: 8, ValuesInKeys: true, KeyType: kernel.Int8, ValueType: kernel.Float16}, "ValueType"},
		{kvcache.Config{Heads: 1, HeadSize: 8, ValueSize: 6, ValuesInKeys: true, KeyType: kernel.Int8, ValueType: kernel.Int8, Group: 4}, "Group"},
	} {
		_, err := kvcache.New(x.c)
		if e := (*kernel.Error)(nil); !errors.As(err, &e) || e.Arg() != "Config."+x.want {
			t.Errorf("%+v: %v, want an error of Config.%s", x.c, err, x.want)
		}
	}
}

// A sequence in a batch of 8 gets the bits that it gets alone, and a prompt in chunks the bits of
// the whole prompt. Quick tests have a batch of 3, compare one sequence, and make chunks of one
// length.
func TestBatchesAndChunks(t *testing.T) {
	const tokens = 280
	batch := 8
	if testutil.Quick() {
		batch = 3
	}
	c := smallConfig()
	c.Layers, c.KeyType, c.ValueType = 1, kernel.Float16, kernel.Float16
	c.Pages = (2*batch + 1) * (tokens/c.PageSize + 1)
	cache, err := kvcache.New(c)
	if err != nil {
		t.Fatal(err)
	}
	random := func(heads, d int) kernel.Tensor {
		return kernel.BHLD(testutil.Floats(batch*heads*tokens*d), batch, heads, tokens, d)
	}
	k, v, q := random(2, 12), random(2, 8), random(4, 12)
	// part is a view of n tokens of some batch rows.
	part := func(t kernel.Tensor, first, rows, at, n int) kernel.Tensor {
		shape := t.Shape()
		return kernel.Strided(contracttest.Floats(t)[contracttest.View(&t).At(first, 0, at):], [4]int{rows, shape[1], n, shape[3]}, t.Strides())
	}
	run := func(out kernel.Tensor, first, rows, chunk int) {
		var sequences []*kvcache.Sequence
		for range rows {
			sequences = append(sequences, cache.NewSequence())
		}
		b, err := cache.NewBatch(sequences...)
		for at := 0; at < tokens && err == nil; at += chunk {
			n := min(chunk, tokens-at)
			if err = b.Append(part(k, first, rows, at, n), part(v, first, rows, at, n)); err != nil {
				break
			}
			keys, values := b.View(0)
			err = kernel.Attention(part(out, first, rows, at, n), part(q, first, rows, at, n), keys, values, &kernel.Options{Scoring: b.Scoring()})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sequences {
			s.Free()
		}
	}
	output := func() kernel.Tensor {
		return kernel.BHLD(testutil.Filled(batch*4*tokens*8, testutil.Canary), batch, 4, tokens, 8)
	}
	want, alone := output(), output()
	run(want, 0, batch, tokens)
	for first := range batch {
		run(alone, first, 1, tokens)
		if testutil.Quick() {
			alone, want := part(alone, 0, 1, 0, tokens), part(want, 0, 1, 0, tokens)
			contracttest.Same(t, "alone", &alone, &want)
			break
		}
	}
	if !testutil.Quick() {
		contracttest.Same(t, "alone", &alone, &want)
	}
	for _, chunk := range []int{1, 7, 64, 256, 299} {
		if testutil.Quick() && chunk != 64 {
			continue
		}
		got := output()
		run(got, 0, batch, chunk)
		contracttest.Same(t, fmt.Sprintf("chunks of %d", chunk), &got, &want)
	}
}

// TestPageBytes: pages take what New allocates for them, with the scales.
func TestPageBytes(t *testing.T) {
	for _, c := range []kvcache.Config{
		{Heads: 2, HeadSize: 64}, {Layers: 3, Heads: 2, HeadSize: 64, ValueSize: 32, KeyType: kernel.BFloat16, ValueType: kernel.BFloat16, PageSize: 16},
		{Layers: 2, Heads: 3, HeadSize: 64, KeyType: kernel.Int8, ValueType: kernel.Int8}, {Layers: 2, Heads: 3, HeadSize: 64, KeyType: kernel.Int4, ValueType: kernel.Int4},
		{Layers: 2, Heads: 3, HeadSize: 128, KeyType: kernel.Int8, ValueType: kernel.Int4, Group: 16},
	} {
		got, err := c.PageBytes()
		if err != nil {
			t.Fatal(err)
		}
		c.Pages = 5
		cache, err := kvcache.New(c)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for layer := range max(1, c.Layers) {
			keys, values := cache.Memory(layer)
			for _, x := range []kernel.Tensor{keys, values} {
				bits := map[kernel.DType]int{kernel.Float32: 32, kernel.BFloat16: 16, kernel.Int8: 8, kernel.Int4: 4}[x.DType()]
				want += elements(x) * bits / 8
				if scales := x.Scales(); !scales.IsZero() {
					want += elements(scales) * 4
				}
			}
		}
		if got*c.Pages != want {
			t.Errorf("%+v: a page takes %d bytes, want a fifth of %d", c, got, want)
		}
	}
	if _, err := (kvcache.Config{Heads: -1}).PageBytes(); err == nil {
		t.Error("no error for Heads: -1")
	}
}

func elements(x kernel.Tensor) int {
	n := 1
	for _, side := range x.Shape() {
		n *= side
	}
	return n
}

// TestFreed: a view of a sequence that has been freed is an error of attention, whether it
// was made before or after, and so is every other use of the sequence. The others go on as
// before.
func TestFreed(t *testing.T) {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 2, PageSize: 2, Pages: 8})
	if err != nil {
		t.Fatal(err)
	}
	kept, freed := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(kept, freed)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(n int) kernel.Tensor { return kernel.BHLD(testutil.Filled(n*3*2, 1.5), n, 1, 3, 2) }
	if err := batch.Append(rows(2), rows(2)); err != nil {
		t.Fatal(err)
	}
	q, out := kernel.BHLD([]float32{1, 2, 3, 4}, 2, 1, 1, 2), testutil.Filled(4, testutil.Canary)
	attend := func(k, v kernel.Tensor) error {
		return kernel.Attention(kernel.BHLD(out, 2, 1, 1, 2), q, k, v, nil)
	}
	k, v := batch.View(0)
	if err := attend(k, v); err != nil || !slices.Equal(out, []float32{1.5, 1.5, 1.5, 1.5}) {
		t.Fatalf("before: %v, error %v", out, err)
	}
	freed.Free()
	freed.Free()
	(*kvcache.Sequence)(nil).Free()
	out = testutil.Filled(4, testutil.Canary)
	after := func() (k, v kernel.Tensor) { return batch.View(0) }
	laterK, laterV := after()
	contracttest.CheckArgument(t, "a view from before", attend(k, v), "the page table of k", "batch row 1, whose sequence has been freed")
	contracttest.CheckArgument(t, "a later view", attend(laterK, laterV), "the page table of k", "batch row 1, whose sequence has been freed")
	contracttest.CheckArgument(t, "Extend", batch.Extend(1), "sequences", "freed")
	contracttest.CheckArgument(t, "Store", batch.Store(0, rows(2), rows(2)), "sequences", "freed")
	contracttest.CheckArgument(t, "Append", batch.Append(rows(2), rows(2)), "sequences", "freed")
	contracttest.CheckArgument(t, "Set", batch.Set(freed), "sequences", "freed")
	if _, err := freed.Fork(0); err == nil {
		t.Error("a sequence that has been freed can be forked")
	}
	if !slices.Equal(out, testutil.Filled(4, testutil.Canary)) {
		t.Errorf("after errors out is %v", out)
	}
	if err := batch.Set(kept); err != nil {
		t.Fatal(err)
	}
	k, v = batch.View(0)
	err = kernel.Attention(kernel.BHLD(out[:2], 1, 1, 1, 2), kernel.BHLD([]float32{1, 2}, 1, 1, 1, 2), k, v, nil)
	if err != nil || out[0] != 1.5 || out[1] != 1.5 {
		t.Errorf("the other sequence gives %v, error %v", out[:2], err)
	}
}

// grow adds n tokens in another batch than a view's.
func grow(c *kvcache.Cache, s *kvcache.Sequence, n int) error {
	batch, err := c.NewBatch(s)
	return errors.Join(err, batch.Extend(n))
}

// TestViewBeforeFree: a view alone, of a batch that is not asked again, shows that pages
// have been given back.
func TestViewBeforeFree(t *testing.T) {
	for name, end := range map[string]func(c *kvcache.Cache, s *kvcache.Sequence) error{
		"freed":     func(_ *kvcache.Cache, s *kvcache.Sequence) error { s.Free(); return nil },
		"truncated": func(_ *kvcache.Cache, s *kvcache.Sequence) error { return s.Truncate(1) },
		"grown, then freed": func(c *kvcache.Cache, s *kvcache.Sequence) error {
			err := grow(c, s, 60) // its list of pages is another one then
			s.Free()
			return err
		},
		"grown, then truncated": func(c *kvcache.Cache, s *kvcache.Sequence) error { return errors.Join(grow(c, s, 60), s.Truncate(1)) },
		"cut at the start, then freed": func(_ *kvcache.Cache, s *kvcache.Sequence) error {
			err := s.DropBefore(2)
			s.Free()
			return err
		},
	} {
		cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 40})
		if err != nil {
			t.Fatal(err)
		}
		s := cache.NewSequence()
		batch, err := cache.NewBatch(s)
		if err != nil {
			t.Fatal(err)
		}
		rows := kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1)
		if err := batch.Append(rows, rows); err != nil {
			t.Fatal(err)
		}
		k, v := batch.View(0)
		if err := end(cache, s); err != nil {
			t.Fatal(err)
		}
		out := []float32{testutil.Canary}
		err = kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), kernel.BHLD([]float32{1}, 1, 1, 1, 1), k, v, nil)
		contracttest.CheckArgument(t, name, err, "the page table of k", "which its sequence has given back")
	}
}
