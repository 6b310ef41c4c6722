package kvcache_test

import (
	"errors"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

func TestNewCacheErrors(t *testing.T) {
	for _, test := range []struct {
		arg, want string
		change    func(c *kvcache.Config)
	}{
		{"CacheConfig.Layers", "-1, want 1 to", func(c *kvcache.Config) { c.Layers = -1 }},
		{"CacheConfig.Heads", "0, want 1 to", func(c *kvcache.Config) { c.Heads = 0 }},
		{"CacheConfig.HeadSize", "-2, want 1 to", func(c *kvcache.Config) { c.HeadSize = -2 }},
		{"CacheConfig.HeadSize", "0, want 1 to", func(c *kvcache.Config) { c.HeadSize, c.ValueSize = 0, 0 }},
		{"CacheConfig.ValueSize", "-8, want 1 to", func(c *kvcache.Config) { c.ValueSize = -8 }},
		{"CacheConfig.PageSize", "-16, want 1 to", func(c *kvcache.Config) { c.PageSize = -16 }},
		{"CacheConfig.PageSize", "want 1 to", func(c *kvcache.Config) { c.PageSize = maxPosition + 1 }},
		{"CacheConfig.Pages", "-1, want 0 to", func(c *kvcache.Config) { c.Pages = -1 }},
		{"CacheConfig.Type", "4, want 0 to 3", func(c *kvcache.Config) { c.Type = 4 }},
		{"CacheConfig.Layout", "2, want 0 to 1", func(c *kvcache.Config) { c.Layout = 2 }},
		{"CacheConfig.Window", "-1, want 0 to", func(c *kvcache.Config) { c.Window = -1 }},
		{"CacheConfig.Window", "want 0 to", func(c *kvcache.Config) { c.Window = maxPosition }},
		{"CacheConfig.Group", "4, want for Int8", func(c *kvcache.Config) { c.Group = 4 }},
		{"CacheConfig.Group", "8, want for Int8", func(c *kvcache.Config) { c.Type, c.Group = kernel.Int8, 8 }},
		{"CacheConfig.Group", "-1, want for Int8", func(c *kvcache.Config) { c.Type, c.Group = kernel.Int8, -1 }},
		{"CacheConfig", "no more memory", func(c *kvcache.Config) { c.Pages, c.PageSize = math.MaxInt32, maxPosition }},
	} {
		c := smallCache()
		test.change(&c)
		_, err := kvcache.New(c)
		wantArgument(t, "", err, test.arg, test.want)
	}
}

func TestNewCacheOverErrors(t *testing.T) {
	data, ints := make([]float32, 4*2*16*6), make([]int8, 4*2*16*6)
	memory := kernel.BHLD(data, 4, 2, 16, 6)
	one := func(t kernel.Tensor) []kernel.Tensor { return []kernel.Tensor{t} }
	broadcast := memory
	broadcast.stride[1] = 0
	scales := kernel.Strided(data, [4]int{4, 2, 16, 1}, [3]int{0, 0, 0})
	for _, test := range []struct {
		arg, want    string
		keys, values []kernel.Tensor
		window       int
	}{
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
		{"keys", "Tensor.Scaled", one(kernel.BHLD(ints, 4, 2, 16, 6)), one(memory), 0},
		{"the scales of keys", "strides that nest", one(kernel.BHLD(ints, 4, 2, 16, 6).Scaled(&scales)), one(memory), 0},
	} {
		_, err := kvcache.NewOver(test.keys, test.values, test.window)
		wantArgument(t, "", err, test.arg, test.want)
	}
}

// TestCacheErrors: what does not fit is named, and the sequences stay as they are.
func TestCacheErrors(t *testing.T) {
	c := smallCache()
	c.Window, c.Pages = 40, 20
	s := newCacheStory(t, c)
	a, b := s.begin(), s.begin()
	s.grow([]int{a, b}, []int{100, 20})
	s.grow([]int{a, b}, []int{2, 1})
	long, short := s.texts[a], s.texts[b]
	freed, other := s.cache.NewSequence(), newCacheStory(t, c).cache.NewSequence()
	freed.Free()
	freed.Free()
	rows := func(n, d int) kernel.Tensor { return kernel.BHLD(make([]float32, 2*2*n*d), 2, 2, n, d) }
	fork := func(s *kvcache.Sequence, n int) error { _, err := s.Fork(n); return err }
	store := func(layer int, k, v kernel.Tensor) error { s.set(a, b); return s.batch.Store(layer, k, v) }
	extend := func(counts ...int) error { s.set(a, b); return s.batch.Extend(counts...) }
	twice, _ := s.cache.NewBatch(short, long, short)
	gone, _ := s.cache.NewBatch(s.cache.NewSequence())
	gone.sequences[0].Free()
	for _, test := range []struct {
		arg, want string
		err       error
	}{
		{"n", "103, want 88 to 102, for tokens from 48 on", fork(long, 103)},
		{"n", "87, want 88 to 102", fork(long, 87)},
		{"n", "-1, want 0 to 21", fork(short, -1)},
		{"n", "87, want 88", long.Truncate(87)},
		{"n", "103, want", long.Truncate(103)},
		{"n", "47, want 48 to 102", long.Drop(47)},
		{"n", "103, want 48 to 102", long.Drop(103)},
		{"sequence", "freed", freed.Truncate(0)},
		{"sequence", "freed", freed.Drop(0)},
		{"sequence", "freed", fork(freed, 0)},
		{"sequence", "freed", fork(nil, 0)},
		{"sequence", "freed", fork(new(kvcache.Sequence), 0)},
		{"sequences", "freed", s.batch.Set(short, freed)},
		{"sequences", "freed", s.batch.Set(nil)},
		{"sequences", "sequence 1 of another cache", s.batch.Set(short, other)},
		{"counts", "1073741824 for sequence 1, want 0 to 1073741803", extend(1, maxPosition)},
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
		{"k", "1 rows for sequence 0, want the 2", store(0, raggedTokens([]int{1, 2}, 2, 12), rows(2, 8))},
		{"k", "not paged", store(0, rows(2, 12).Paged(&kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{2, 2}}), rows(2, 8))},
		{"the batch", "2 layers", s.batch.Append(rows(2, 12), rows(2, 8))},
		{"layer", "0 to -1", new(kvcache.Batch).Store(0, rows(2, 12), rows(2, 8))},
		{"the batch", "0 layers", new(kvcache.Batch).Append(rows(2, 12), rows(2, 8))},
	} {
		wantArgument(t, "", test.err, test.arg, test.want)
	}
	s.check()
	s.attend(1, kernel.Options{}, a, b)
}

// TestCacheFull: a cache that is full says so, and what is freed can be used.
func TestCacheFull(t *testing.T) {
	c := smallCache()
	c.Pages = 5
	s := newCacheStory(t, c)
	a, b := s.begin(), s.begin()
	s.grow([]int{a, b}, []int{30, 33})
	var full *kvcache.CapacityError
	s.set(a, b)
	if err := s.batch.Extend(3, 16); !errors.As(err, &full) || *full != (kvcache.CapacityError{Need: 2, Free: 0}) {
		t.Errorf("got %v, want 2 pages needed and none free", err)
	}
	f := s.fork(a, 30)
	s.set(f)
	if err := s.batch.Extend(1); !errors.As(err, &full) || *full != (kvcache.CapacityError{Need: 1, Free: 0}) {
		t.Errorf("got %v, want 1 page needed, for a copy", err)
	}
	s.check()
	s.grow([]int{b}, []int{15})
	s.truncate(b, 10)
	s.grow([]int{f, a}, []int{1, 1})
	s.attend(2, kernel.Options{}, a, b, f)
	s.check()
}

// TestCacheAppendErrors: after an error a sequence has the length that it had, and its tokens.
func TestCacheAppendErrors(t *testing.T) {
	c := smallCache()
	c.Layers, c.Type, c.Pages = 1, kernel.Int8, 4
	s := newCacheStory(t, c)
	a := s.begin()
	s.grow([]int{a}, []int{20})
	f := s.fork(a, 18)
	s.set(f)
	k, v := kernel.BHLD(make([]float32, 2*20*12), 1, 2, 20, 12), kernel.BHLD(make([]float32, 2*20*8), 1, 2, 20, 8)
	v.f32[100] = inf32
	wantArgument(t, "", s.batch.Append(k, v), "src", "+Inf as element")
	wantArgument(t, "", s.batch.Append(k, k), "v", "shape [1 2 20 8]")
	wantArgument(t, "", s.batch.Append(kernel.Tensor{}, v), "k", "head size of at least 1")
	s.grow([]int{a}, []int{1})
	s.attend(2, kernel.Options{}, a)
	s.grow([]int{f}, []int{1})
	s.attend(2, kernel.Options{}, a, f)
	s.check()
}

// TestCacheZero: what was not made by NewCache is an error or empty, not a panic.
func TestCacheZero(t *testing.T) {
	var c kvcache.Cache
	_, err := c.NewBatch(c.NewSequence())
	wantArgument(t, "", err, "sequences", "freed")
	b, err := c.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*kvcache.Batch{b, new(kvcache.Batch)} {
		if err := b.Extend(1); err != nil {
			t.Error(err)
		}
		k, v := b.View(0)
		if o := b.Options(); k.isSet() || v.isSet() || o.KeyStart != nil || len(b.Positions()) != 0 {
			t.Error("a batch of nothing has something")
		}
	}
	if k, v := c.Memory(0); k.isSet() || v.isSet() || c.FreePages() != 0 {
		t.Error("a cache of nothing has something")
	}
	s := newCacheStory(t, smallCache())
	for _, layer := range []int{-1, 2} {
		if k, v := s.batch.View(layer); k.isSet() || v.isSet() {
			t.Error("there is a view of layer", layer)
		}
	}
}
