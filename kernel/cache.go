package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/hugepages"
)

// A Cache holds the keys and values of many sequences, for all layers of a model, in pages
// of a fixed number of tokens. A program that generates text
//
//   - makes a [Sequence] for every text, or forks one whose beginning it shares,
//   - puts those that take a step together into a [Batch],
//   - and in every step makes room for their new tokens (Batch.Extend), stores each
//     layer's keys and values of these (Batch.Store), and calls [Attention] on the layer's
//     views (Batch.View) with the batch's positions and mask (Batch.Options).
//
// A page belongs to all layers at once: page p of a sequence is page p of every layer's
// memory, so that growing, forking and dropping are done once for all layers. Pages as
// long as the longest sequence make the sequences contiguous.
//
// What attention on a view gives is what it gives on the same tokens anywhere else, to
// the bit: pages, forks and batches never show. For f16, bf16 and int8 that
// means the numbers as they are stored.
//
// # Concurrency
//
// The sequences of a cache are independent of each other, also where they share pages.
// Any number of goroutines may read one sequence at once: use views of it, or fork
// it. Extending, storing, truncating or freeing it is for one goroutine alone,
// while nobody reads that sequence; others may be read or changed meanwhile. A
// Batch is for one goroutine at a time, but the views that it returns are for any number.
// The Cache itself may be used by all.
type Cache struct {
	keys, values []Tensor // of every layer, [pages, heads, page size, D]
	pageSize     int
	window       int
	pool         pagePool
}

// CacheConfig describes the memory of a cache.
type CacheConfig struct {
	Layers    int   // 0 means 1
	Heads     int   // key heads
	HeadSize  int   // of the keys
	ValueSize int   // head size of the values; 0 means HeadSize
	Type      DType // of the elements

	// Group is the number of elements of Int8 that share a scale. It divides the
	// head sizes; 0 means all of a row.
	Group int

	// PageSize is the number of tokens in a page, at least 1; 0 means 64. Small pages
	// waste less of the last one and share more of a prefix, large ones are a
	// little faster from 16 on. Pages as long as the longest sequence make sequences contiguous.
	PageSize int

	// Pages is the number of pages, which all sequences share.
	Pages int

	// Layout is how a page lies in memory.
	Layout PageLayout

	// Window, if not 0, is for models that see no more than a sliding window: a query sees
	// the Window keys before its own and that, as under Window(Window, 0), and pages that
	// no query to come sees are dropped when a sequence grows. A model that has
	// layers of both kinds has a cache for either.
	Window int
}

// PageLayout is how the tokens of a page lie in memory.
type PageLayout uint8

const (
	HND PageLayout = iota // [heads, page size, D]: the tokens of a head lie together
	NHD                   // [page size, heads, D]: the heads of a token lie together
)

// NewCache makes a cache with memory of its own, on Linux in huge pages where the system has
// them: decoding reads these faster. An unsuitable field gets an
// [*ArgumentError].
func NewCache(c CacheConfig) (*Cache, error) {
	if c.Layers == 0 {
		c.Layers = 1
	}
	if c.ValueSize == 0 {
		c.ValueSize = c.HeadSize
	}
	if c.PageSize == 0 {
		c.PageSize = 64
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	keys, values := make([]Tensor, c.Layers), make([]Tensor, c.Layers)
	for layer := range keys {
		keys[layer], values[layer] = c.memory(c.HeadSize), c.memory(c.ValueSize)
	}
	return NewCacheOver(keys, values, c.Window)
}

// NewCacheOver makes a cache over memory of the program's: of every layer keys and values as
// Tensor.Paged takes them, [pages, heads, page size, D] of any element type and with any
// strides, int8 with scales. All have the same number of pages and the same page
// size; the rest is each layer's own. No two elements may share memory, except that
// the values of a layer may be a part of its keys (as in multi-head latent attention),
// which are then stored by themselves. The cache never reads or writes
// anything but rows of pages that it has given to a sequence. Window is CacheConfig.Window.
func NewCacheOver(keys, values []Tensor, window int) (*Cache, error) {
	if len(keys) == 0 {
		return nil, &ArgumentError{"keys", "no layers", "at least 1"}
	}
	if len(values) != len(keys) {
		return nil, &ArgumentError{"values", fmt.Sprintf("%d layers", len(values)), fmt.Sprintf("%d as keys has it", len(keys))}
	}
	if window < 0 || window >= maxPosition {
		return nil, &ArgumentError{"window", fmt.Sprint(window), fmt.Sprintf("0 to %d", maxPosition-1)}
	}
	pages, size := keys[0].shape[0], keys[0].shape[2]
	for layer := range keys {
		for i, t := range [...]*Tensor{&keys[layer], &values[layer]} {
			if err := checkMemory([...]string{"keys", "values"}[i], t, pages, size); err != nil {
				return nil, err
			}
		}
		if got, want := values[layer].shape[1], keys[layer].shape[1]; got != want {
			return nil, &ArgumentError{"values", fmt.Sprintf("%d heads in layer %d", got, layer), fmt.Sprintf("%d as keys has it", want)}
		}
	}
	c := &Cache{keys: append([]Tensor(nil), keys...), values: append([]Tensor(nil), values...), pageSize: size, window: window}
	c.pool.fill(pages)
	return c, nil
}

// checkMemory reports memory that cannot be a layer's keys or values.
func checkMemory(arg string, t *Tensor, pages, size int) error {
	if t.isPaged() || t.isRagged() {
		return &ArgumentError{arg, t.describe(), "the memory of all pages, not a view of them"}
	}
	if err := t.checkAny(arg); err != nil {
		return err
	}
	if t.shape[0] != pages || t.shape[2] != size || pages > math.MaxInt32 || size < 1 || size > maxPosition {
		return &ArgumentError{arg, t.describe(), fmt.Sprintf("the same number of pages, at most %d, and the same page size, 1 to %d, in all layers", math.MaxInt32, maxPosition)}
	}
	if err := t.checkDistinct(arg); err != nil {
		return err
	}
	if t.scales != nil {
		return t.scales.checkDistinct("the scales of " + arg)
	}
	return nil
}

// check reports a field that does not fit.
func (c *CacheConfig) check() error {
	for _, f := range [...]struct {
		name           string
		n, least, most int
	}{
		{"Layers", c.Layers, 1, math.MaxInt32}, {"Heads", c.Heads, 1, math.MaxInt32},
		{"HeadSize", c.HeadSize, 1, math.MaxInt32}, {"ValueSize", c.ValueSize, 1, math.MaxInt32},
		{"PageSize", c.PageSize, 1, maxPosition}, {"Pages", c.Pages, 0, math.MaxInt32},
		{"Type", int(c.Type), 0, int(Int8)}, {"Layout", int(c.Layout), 0, int(NHD)}, {"Window", c.Window, 0, maxPosition - 1},
	} {
		if f.n < f.least || f.n > f.most {
			return &ArgumentError{"CacheConfig." + f.name, fmt.Sprint(f.n), fmt.Sprintf("%d to %d", f.least, f.most)}
		}
	}
	if g := c.Group; g < 0 || g > 0 && (c.Type != Int8 || c.HeadSize%g != 0 || c.ValueSize%g != 0) {
		return &ArgumentError{"CacheConfig.Group", fmt.Sprint(g), "for Int8 a number that divides the head sizes, or 0"}
	}
	if n := mulSat(mulSat(c.Layers, c.Pages), mulSat(c.PageSize, mulSat(c.Heads, max(c.HeadSize, c.ValueSize)))); n > math.MaxInt/16 {
		return &ArgumentError{"CacheConfig", fmt.Sprintf("%d layers of %d pages of %d tokens", c.Layers, c.Pages, c.PageSize), "no more memory than there can be"}
	}
	return nil
}

// memory allocates a layer's keys or values.
func (c *CacheConfig) memory(size int) Tensor {
	switch c.Type {
	case Float16:
		return layPages[F16](c, size)
	case BFloat16:
		return layPages[BF16](c, size)
	case Int8:
		group := c.Group
		if group == 0 {
			group = size
		}
		scales := layPages[float32](c, size/group)
		return layPages[int8](c, size).Scaled(&scales)
	}
	return layPages[float32](c, size)
}

func layPages[E Element](c *CacheConfig, size int) Tensor {
	data := hugepages.Make[E](c.Pages * c.PageSize * c.Heads * size)
	if c.Layout == NHD {
		return BLHD(data, c.Pages, c.PageSize, c.Heads, size)
	}
	return BHLD(data, c.Pages, c.Heads, c.PageSize, size)
}

// PageSize returns the number of tokens in a page.
func (c *Cache) PageSize() int { return c.pageSize }

// FreePages returns the number of pages that no sequence has.
func (c *Cache) FreePages() int { return c.pool.left() }

// Memory returns the pages of a layer's keys and values, [pages, heads, page size, D],
// as they were allocated or given: to save a cache, or to look into it. It returns zero
// Tensors for a layer that the cache does not have.
func (c *Cache) Memory(layer int) (keys, values Tensor) {
	if layer < 0 || layer >= len(c.keys) {
		return Tensor{}, Tensor{}
	}
	return c.keys[layer], c.values[layer]
}
