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
	Layers    int          // at most 65536; 0 means 1
	Heads     int          // key heads
	HeadSize  int          // of the keys
	ValueSize int          // head size of the values; 0 means HeadSize
	Type      kernel.DType // of the elements

	// Group is the number of Int8 elements that share a scale. It divides the head
	// sizes; 0 means all elements of a row.
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
	HND PageLayout = iota // [heads, page size, D]: the tokens of a head lie together
	NHD                   // [page size, heads, D]: the heads of a token lie together
)

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

// check reports the first field that does not fit.
func (c *Config) check() *check.Failure {
	for _, f := range [...]struct {
		name           string
		n, least, most int
	}{
		{"Layers", c.Layers, 1, 1 << 16}, {"Heads", c.Heads, 1, math.MaxInt32},
		{"HeadSize", c.HeadSize, 1, math.MaxInt32}, {"ValueSize", c.ValueSize, 1, math.MaxInt32},
		{"PageSize", c.PageSize, 1, position.Max}, {"Pages", c.Pages, 0, math.MaxInt32},
		{"Type", int(c.Type), 0, ukernel.Elements - 1}, {"Layout", int(c.Layout), 0, int(NHD)}, {"Window", c.Window, 0, position.Max - 1},
	} {
		if f.n < f.least || f.n > f.most {
			return &check.Failure{Arg: "Config." + f.name, Got: fmt.Sprint(f.n), Want: fmt.Sprintf("%d to %d", f.least, f.most)}
		}
	}
	if g := c.Group; g < 0 || g > 0 && (!c.dtype().IsScaled() || c.HeadSize%g != 0 || c.ValueSize%g != 0) {
		return &check.Failure{Arg: "Config.Group", Got: fmt.Sprint(g), Want: "for Int8 a number that divides the head sizes, or 0"}
	}
	if !hugepages.Fits(c.bytes(), 1) {
		return &check.Failure{Arg: "Config", Got: fmt.Sprintf("%d layers of %d pages of %d tokens", c.Layers, c.Pages, c.PageSize), Want: "a size that fits memory and the memory limit of the program"}
	}
	return nil
}

// bytes returns the memory that the cache takes, at most math.MaxInt.
func (c *Config) bytes() int {
	row := ints.MulSat(ints.AddSat(c.HeadSize, c.ValueSize), c.dtype().Size())
	if c.dtype().IsScaled() {
		scales := 2 // of a key and a value
		if c.Group > 0 {
			scales = c.HeadSize/c.Group + c.ValueSize/c.Group
		}
		row = ints.AddSat(row, ints.MulSat(scales, 4))
	}
	page := ints.MulSat(ints.MulSat(c.PageSize, c.Heads), row)
	layer := ints.AddSat(ints.MulSat(c.Pages, page), layerBytes)
	return ints.AddSat(ints.MulSat(c.Layers, layer), ints.MulSat(c.Pages, pageBytes))
}

const (
	layerBytes = 4*int(unsafe.Sizeof(view.Tensor{})) + int(unsafe.Sizeof(places{})) // keys and values, twice in New
	pageBytes  = 8                                                                  // in a pagePool
)

func (c *Config) dtype() view.DType { return view.DType(c.Type) }

// allocate returns memory for the keys or the values of a layer.
func (c *Config) allocate(size int) kernel.Tensor {
	elements := c.pages(c.dtype(), size)
	if !c.dtype().IsScaled() {
		return elements
	}
	group := c.Group
	if group == 0 {
		group = size
	}
	scales := c.pages(view.Float32, size/group)
	return elements.Scaled(&scales)
}

// pages allocates the pages of a layer, with size elements of a type per row.
func (c *Config) pages(t view.DType, size int) kernel.Tensor {
	shape, row := [4]int{c.Pages, c.Heads, c.PageSize, size}, c.Heads*size
	strides := view.Contiguous(shape)
	if c.Layout == NHD {
		strides = [3]int{c.PageSize * row, size, row}
	}
	bytes := c.Pages * c.PageSize * row * t.Size()
	data := view.BytesOf(hugepages.Make[float32]((bytes + 3) / 4)) // at an address for every type
	return kernel.Tensor(view.OfBytes(t, data[:bytes], shape, strides))
}
