// Package kvcache keeps the keys and values of many sequences in pages, for programs
// that generate text with the attention of package kernel.
//
// A program makes a [Sequence] for every text, or forks one that begins with the same
// tokens, and puts the sequences that take a step together into a [Batch]. In every step
// it
//
//   - makes room for the new tokens, with [Batch.Extend],
//   - and in every layer stores their keys and values, with [Batch.Store], and calls
//     [kernel.Attention] with what [Batch.View] and [Batch.Scoring] return.
//
// The result has the same bits as attention over contiguous keys and values, whatever the
// pages, the forks and the other sequences of the batch. For other types than float32, and
// for numbers below 2^-126, these are the keys and values as [Batch.Store] says that they
// are stored.
package kvcache

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Cache holds the keys and values of many sequences, for all layers of a model, in
// pages of a fixed number of tokens.
//
// A page number stands for a page in the memory of every layer. So a sequence has one
// list of pages, and growing, forking and dropping are done once for all layers. With
// pages as long as the longest sequence, the tokens of a sequence are contiguous.
//
// # Concurrency
//
// The sequences of a cache are independent of each other, even if they share pages.
//
//   - Any number of goroutines may read a sequence at once: use views of it, or fork it.
//   - To extend, store, truncate, drop or free a sequence is for one goroutine at a time,
//     while no other one reads it. Other sequences may be read and changed meanwhile.
//   - A Batch is for one goroutine at a time. Its views are for any number.
//   - The methods of the Cache are for any number.
type Cache struct {
	keys, values []view.Tensor // of every layer, [pages, heads, page size, D]
	places       []places      // of every layer
	pageSize     int
	window       int
	pool         *pagePool
}

// places is where the keys and values of a layer lie, which Store would need long to find out.
type places struct {
	keys, values           view.Memory
	keyScales, valueScales view.Memory // empty unless there are scales
	valuesArePart          bool        // of the keys
}

func placesOf(keys, values *view.Tensor) places {
	p := places{keys: keys.Memory(), values: values.Memory(), valuesArePart: values.IsPartOf(keys)}
	if keys.Scales() != nil {
		p.keyScales = keys.Scales().Memory()
	}
	if values.Scales() != nil {
		p.valueScales = values.Scales().Memory()
	}
	return p
}

// New makes a cache with memory of its own. On Linux it lies in huge pages, if the system
// has them, which makes decoding faster. A field that is out of range is a
// [*kernel.Error], and so is, of the kind [kernel.ErrMemory], a cache that does not fit
// memory or the memory limit of the program (GOMEMLIMIT).
func New(c Config) (*Cache, error) {
	c.setDefaults()
	if f := c.check(); f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.New"))
	}
	return allocated(nil, c)
}

// NewOf is New for a model whose layers differ: each Config stands for its Layers, which follow the
// Layers of the Config before. All have the same PageSize, Pages and Window.
func NewOf(layers []Config) (*Cache, error) {
	all := slices.Clone(layers)
	if f := checkAll(all); f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.NewOf"))
	}
	return allocated(nil, all...)
}

// checkAll sets the defaults of all layers and reports the first field that does not fit.
func checkAll(all []Config) *check.Failure {
	if len(all) == 0 {
		return &check.Failure{Where: "layers", Got: "none", Want: "1 or more"}
	}
	bytes, first := 0, &all[0]
	for i := range all {
		c := &all[i]
		c.setDefaults()
		f := c.check()
		if f == nil && (c.PageSize != first.PageSize || c.Pages != first.Pages || c.Window != first.Window) {
			f = &check.Failure{Where: "Config", Got: fmt.Sprintf("%d pages of %d tokens and a window of %d", c.Pages, c.PageSize, c.Window), Want: fmt.Sprintf("%d, %d and %d, as of the first layers", first.Pages, first.PageSize, first.Window)}
		}
		if f != nil {
			f.Where = fmt.Sprintf("layers[%d]%s", i, strings.TrimPrefix(f.Where, "Config"))
			return f
		}
		bytes = ints.AddSat(bytes, c.bytes())
	}
	if !hugepages.Fits(bytes, 1) {
		return check.TooLarge("layers", fmt.Sprintf("%d kinds of layers of %d pages of %d tokens", len(all), first.Pages, first.PageSize))
	}
	return nil
}

// allocated makes a cache of layers that are checked, in memory of its own if m is nil.
func allocated(m *memory, all ...Config) (*Cache, error) {
	var keys, values []kernel.Tensor
	for i := range all {
		c := &all[i]
		for range c.Layers {
			k := c.allocate(m, c.keys())
			v := c.valuesOf(m, k)
			keys, values = append(keys, k), append(values, v)
		}
	}
	return NewWithMemory(keys, values, all[0].Window)
}

// NewWithMemory makes a cache over memory that stays the program's. keys[i] and values[i] are
// the pages of layer i as [kernel.Tensor.Paged] takes them: [pages, heads, page size, D],
// with at least one head, of any element type and with any strides, int8 and 4 bits with scales.
// The number of pages and the page size are the same for all; the rest may differ from layer to
// layer. window is Config.Window.
//
// No two elements may share memory, with one exception: the values of a layer may be a
// part of its keys, as in multi-head latent attention. Then only the keys are stored.
// NewWithMemory checks this within each tensor, not between tensors.
//
// The cache reads and writes only rows of pages that belong to a sequence.
//
// Memory that does not fit is a [*kernel.Error].
func NewWithMemory(keys, values []kernel.Tensor, window int) (*Cache, error) {
	c := &Cache{keys: views(keys), values: views(values), window: window}
	if f := c.check(); f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.NewWithMemory"))
	}
	for layer := range c.keys {
		c.places = append(c.places, placesOf(&c.keys[layer], &c.values[layer]))
	}
	c.pageSize = c.keys[0].Dim(2)
	c.pool = newPagePool(c.keys[0].Dim(0))
	return c, nil
}

// views returns a copy of tensors.
func views(tensors []kernel.Tensor) []view.Tensor {
	v := make([]view.Tensor, len(tensors))
	for i := range tensors {
		v[i] = view.Tensor(tensors[i])
	}
	return v
}

// check reports memory or a window that does not fit.
func (c *Cache) check() *check.Failure {
	if len(c.keys) == 0 {
		return &check.Failure{Where: "keys", Got: "no layers", Want: "at least 1"}
	}
	if len(c.values) != len(c.keys) {
		return &check.Failure{Where: "values", Got: fmt.Sprintf("%d layers", len(c.values)), Want: fmt.Sprintf("%d as keys has it", len(c.keys))}
	}
	if c.window < 0 || c.window >= position.Max {
		return &check.Failure{Where: "window", Got: fmt.Sprint(c.window), Want: fmt.Sprintf("0 to %d", position.Max-1)}
	}
	pages, size := c.keys[0].Dim(0), c.keys[0].Dim(2)
	for layer := range c.keys {
		for i, t := range [...]*view.Tensor{&c.keys[layer], &c.values[layer]} {
			if f := checkMemory([...]string{"keys", "values"}[i], t, pages, size); f != nil {
				return f
			}
		}
		if got, want := c.values[layer].Dim(1), c.keys[layer].Dim(1); got != want {
			return &check.Failure{Where: "values", Got: fmt.Sprintf("%d heads in layer %d", got, layer), Want: fmt.Sprintf("%d as keys has it", want)}
		}
	}
	if !hugepages.Fits(pages, pageBytes) {
		return check.TooLarge("keys", fmt.Sprintf("%d pages", pages))
	}
	return nil
}

// checkMemory reports memory that cannot be a layer's keys or values.
func checkMemory(arg string, t *view.Tensor, pages, size int) *check.Failure {
	if t.IsPaged() || t.IsRagged() {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: "the memory of all pages, not a view of them"}
	}
	if !t.DType().IsKnown() {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("elements of type %v", t.DType()), Want: "a type of package kernel"}
	}
	if f := t.Check(arg); f != nil {
		return f
	}
	if t.Dim(1) < 1 { // without heads, pages would take no memory and could be of any number
		return &check.Failure{Where: arg, Got: t.Describe(), Want: "at least 1 head"}
	}
	if t.Dim(0) != pages || t.Dim(2) != size || pages > math.MaxInt32 || size < 1 || size > position.Max {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: fmt.Sprintf("the same number of pages, at most %d, and the same page size, 1 to %d, in all layers", math.MaxInt32, position.Max)}
	}
	if f := t.CheckDistinct(arg); f != nil {
		return f
	}
	if s := t.Scales(); s != nil {
		return s.CheckDistinct("the scales of " + arg)
	}
	return nil
}

// PageSize returns the number of tokens of a page.
func (c *Cache) PageSize() int { return c.pageSize }

// FreePages returns the number of pages that belong to no sequence, for the moment.
func (c *Cache) FreePages() int {
	if c.pool == nil { // the zero Cache
		return 0
	}
	return c.pool.left()
}

// Memory returns the memory of all pages of a layer, [pages, heads, page size, D], as New
// allocated it or NewWithMemory got it: to save a cache, or to inspect it. For a layer that the
// cache does not have it returns zero Tensors.
func (c *Cache) Memory(layer int) (keys, values kernel.Tensor) {
	if layer < 0 || layer >= len(c.keys) {
		return kernel.Tensor{}, kernel.Tensor{}
	}
	return kernel.Tensor(c.keys[layer]), kernel.Tensor(c.values[layer])
}
