package kvcache

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Config describes the memory of a cache.
type Config struct {
	Layers    int // at most 65536; 0 means 1
	Heads     int // key heads
	HeadSize  int // of the keys
	ValueSize int // head size of the values; 0 means HeadSize

	// KeyType and ValueType are the types of the elements, each of them Float32 by default. Any two
	// go together. Values bear a coarser type than keys, such as Int4 beside keys of Int8.
	KeyType, ValueType kernel.DType

	// ValuesInKeys says that the values are the first ValueSize elements of the keys, as in
	// multi-head latent attention: only the keys are kept and stored. Both have one type then.
	ValuesInKeys bool

	// Group is the number of Int8 or Int4 elements that share a scale, which takes 4 bytes. It
	// divides the head sizes and is even for Int4. 0 means all elements of a row for Int8, and 32
	// for Int4, as in ggml's Q4_0, or all if 32 does not divide the head size; with ValuesInKeys
	// the largest divisor of both head sizes in place of all. Calls with
	// kernel.Options.DynamicInt12 take less time with larger groups, and their kernels need a
	// multiple of 16.
	Group int

	// PageSize is the number of tokens of a page; 0 means 64. With small pages, sequences
	// waste less of their last page and forks share more. With large ones attention is a
	// little faster; below 16 it is slow.
	PageSize int

	// Pages is the number of pages that all sequences share.
	Pages int

	// Layout is how a page lies in memory.
	Layout PageLayout

	// Window, if not 0, is for models with a sliding window: a query sees its own key and
	// the Window keys before it, as under kernel.Window(Window, 0). Pages that no later
	// query sees are dropped when a sequence grows. A model that has layers with a window
	// and layers without needs two caches.
	Window int
}

// PageLayout is how the tokens of a page lie in memory.
type PageLayout uint8

const (
	LayoutHND PageLayout = iota // [heads, page size, D]: the tokens of a head lie together
	LayoutNHD                   // [page size, heads, D]: the heads of a token lie together
)

// int4Group is the default of Config.Group for Int4: with a scale for a whole row, 4 bits are too
// coarse.
const int4Group = 32

func (c *Config) setDefaults() {
	if c.Layers == 0 {
		c.Layers = 1
	}
	if c.ValueSize == 0 {
		c.ValueSize = c.HeadSize
	}
	if c.PageSize == 0 {
		c.PageSize = 64
	}
}

// A part is the keys or the values of a layer: their type, their head size, and how many elements
// share a scale, if the type has scales.
type part struct {
	dtype       view.DType
	size, group int
}

func (c *Config) keys() part { return c.part(c.KeyType, c.HeadSize) }

func (c *Config) values() part { return c.part(c.ValueType, c.ValueSize) }

func (c *Config) part(t kernel.DType, size int) part {
	group := c.Group
	switch {
	case group > 0:
	case t == kernel.Int4 && c.whole(size)%int4Group == 0:
		group = int4Group
	default:
		group = c.whole(size)
	}
	return part{view.DType(t), size, group}
}

// whole returns the largest group of rows of a size. A group of keys also divides the values that
// they hold.
func (c *Config) whole(size int) int {
	if !c.ValuesInKeys {
		return size
	}
	a, b := c.HeadSize, c.ValueSize
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// check reports the first field that does not fit.
func (c *Config) check() *check.Failure {
	for _, f := range [...]struct {
		name           string
		n, least, most int
	}{
		{"Layers", c.Layers, 1, 1 << 16}, {"Heads", c.Heads, 1, math.MaxInt32},
		{"HeadSize", c.HeadSize, 1, math.MaxInt32}, {"ValueSize", c.ValueSize, 1, math.MaxInt32},
		{"PageSize", c.PageSize, 1, position.Max}, {"Pages", c.Pages, 0, math.MaxInt32},
		{"KeyType", int(c.KeyType), 0, ukernel.Elements - 1}, {"ValueType", int(c.ValueType), 0, ukernel.Elements - 1}, {"Layout", int(c.Layout), 0, int(LayoutNHD)}, {"Window", c.Window, 0, position.Max - 1},
	} {
		if f.n < f.least || f.n > f.most {
			return &check.Failure{Where: "Config." + f.name, Got: fmt.Sprint(f.n), Want: fmt.Sprintf("%d to %d", f.least, f.most)}
		}
	}
	switch {
	case !c.ValuesInKeys:
	case c.ValueType != c.KeyType:
		return &check.Failure{Where: "Config.ValueType", Got: c.ValueType.String(), Want: c.KeyType.String() + " as the keys, which hold the values"}
	case c.ValueSize > c.HeadSize:
		return &check.Failure{Where: "Config.ValueSize", Got: fmt.Sprint(c.ValueSize), Want: fmt.Sprintf("at most %d, the elements of the keys, which hold the values", c.HeadSize)}
	}
	keys, values := c.keys(), c.values()
	for i, p := range [...]part{keys, values} {
		if n := p.dtype.PerByte(); p.size%n != 0 {
			return &check.Failure{Where: "Config." + [...]string{"HeadSize", "ValueSize"}[i], Got: fmt.Sprintf("%d with elements of %v", p.size, p.dtype), Want: fmt.Sprintf("a multiple of %d, as so many elements share a byte", n)}
		}
	}
	if c.Group != 0 && !keys.dtype.IsScaled() && !values.dtype.IsScaled() {
		return &check.Failure{Where: "Config.Group", Got: fmt.Sprintf("%d with keys of %v and values of %v", c.Group, c.KeyType, c.ValueType), Want: "0: groups are of Int8 and Int4"}
	}
	if c.Group != 0 && (c.Group < 0 || !keys.fits() || !values.fits()) {
		return &check.Failure{Where: "Config.Group", Got: fmt.Sprint(c.Group), Want: "for Int8 a number that divides the head sizes, for Int4 an even one, or 0"}
	}
	if !hugepages.Fits(c.bytes(), 1) {
		return check.TooLarge("Config", fmt.Sprintf("%d layers of %d pages of %d tokens, %.3g GiB", c.Layers, c.Pages, c.PageSize, float64(c.bytes())/(1<<30)))
	}
	return nil
}

// fits tells whether the group divides the rows, if there are scales.
func (p part) fits() bool {
	return !p.dtype.IsScaled() || p.size%p.group == 0 && p.group%p.dtype.PerByte() == 0
}

// PageBytes returns the memory of a page: of the keys and values of PageSize tokens in all layers,
// with their scales. Pages does not count. The error is a [*kernel.Error], as for [New].
func (c Config) PageBytes() (int, error) {
	c.setDefaults()
	c.Pages = 1
	if f := c.check(); f != nil {
		return 0, (*kernel.Error)(f.In("kvcache.Config.PageBytes"))
	}
	return c.Layers * c.pageOfLayer(), nil
}

// pageOfLayer returns the memory of a page in one layer, at most math.MaxInt.
func (c *Config) pageOfLayer() int {
	row := c.keys().bytes()
	if !c.ValuesInKeys {
		row = ints.AddSat(row, c.values().bytes())
	}
	return ints.MulSat(ints.MulSat(c.PageSize, c.Heads), row)
}

// bytes returns the memory that the cache takes, at most math.MaxInt.
func (c *Config) bytes() int {
	layer := ints.AddSat(ints.MulSat(c.Pages, c.pageOfLayer()), layerBytes)
	return ints.AddSat(ints.MulSat(c.Layers, layer), ints.MulSat(c.Pages, pageBytes))
}

// bytes returns the memory of a row with its scales.
func (p part) bytes() int {
	n := p.dtype.Bytes(p.size)
	if p.dtype.IsScaled() {
		n = ints.AddSat(n, ints.MulSat(p.size/p.group, 4))
	}
	return n
}

const (
	layerBytes = 4*int(unsafe.Sizeof(view.Tensor{})) + int(unsafe.Sizeof(places{})) // keys and values, twice in New
	pageBytes  = 8                                                                  // in a pagePool
)

// allocate returns memory for the keys or the values of a layer.
func (c *Config) allocate(m *memory, p part) kernel.Tensor {
	elements := c.pages(m, p.dtype, p.size)
	if !p.dtype.IsScaled() {
		return elements
	}
	scales := c.pages(m, view.Float32, p.size/p.group)
	return elements.Scaled(&scales)
}

// valuesOf returns the values of a layer: those that its keys hold, or memory of their own.
func (c *Config) valuesOf(m *memory, keys kernel.Tensor) kernel.Tensor {
	if !c.ValuesInKeys {
		return c.allocate(m, c.values())
	}
	first := func(t view.Tensor, n int) kernel.Tensor {
		shape := t.Shape()
		shape[3] = n
		return kernel.Tensor(view.FromBytes(t.DType(), t.Bytes(), shape, t.Strides()))
	}
	p, all := c.values(), view.Tensor(keys)
	elements := first(all, p.size)
	if !p.dtype.IsScaled() {
		return elements
	}
	scales := first(*all.Scales(), p.size/p.group)
	return elements.Scaled(&scales)
}

// pages allocates the pages of a layer, with size elements of a type per row.
func (c *Config) pages(m *memory, t view.DType, size int) kernel.Tensor {
	shape, row := [4]int{c.Pages, c.Heads, c.PageSize, size}, c.Heads*size
	strides := view.Contiguous(shape)
	if c.Layout == LayoutNHD {
		strides = [3]int{c.PageSize * row, size, row}
	}
	if m != nil {
		return kernel.Tensor(m.pages(t, shape, strides))
	}
	bytes := t.Bytes(c.Pages * c.PageSize * row)
	data := view.BytesOf(hugepages.Make[float32]((bytes + 3) / 4)) // at an address for every type
	return kernel.Tensor(view.FromBytes(t, data[:bytes], shape, strides))
}
