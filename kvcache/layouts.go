package kvcache

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// NewLayouts makes caches that share their pages, for a model whose layers keep different numbers
// of tokens: one for each list of layers, as [NewOf] takes it. A page has room for the layers of
// any of the caches, and belongs to sequences of one cache. So a page that a sequence drops serves
// a sequence of another cache next. All layers have the same PageSize, Pages and Window. FreePages
// is the same for all caches. [LayoutsPageBytes] returns what a page takes.
//
// The caches may be used as if they were one: any number of goroutines may use sequences of
// different caches at once. Errors are like those from NewOf.
func NewLayouts(layouts [][]Config) ([]*Cache, error) {
	all, page, f := checkLayouts(layouts)
	if f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.NewLayouts"))
	}
	data := view.BytesOf(hugepages.Make[float32](all[0][0].Pages * page / 4))
	caches := make([]*Cache, len(all))
	for i, layers := range all {
		var err error
		if caches[i], err = allocated(&memory{data: data, page: page}, layers...); err != nil {
			return nil, err
		}
		caches[i].pool = caches[0].pool
	}
	return caches, nil
}

// LayoutsPageBytes returns the memory of a page of [NewLayouts]. Pages does not count.
func LayoutsPageBytes(layouts [][]Config) (int, error) {
	one := make([][]Config, len(layouts))
	for i, layers := range layouts {
		one[i] = slices.Clone(layers)
		for j := range layers {
			one[i][j].Pages = 1
		}
	}
	_, page, f := checkLayouts(one)
	if f != nil {
		return 0, (*kernel.Error)(f.In("kvcache.LayoutsPageBytes"))
	}
	return page, nil
}

// checkLayouts sets the defaults of all layers, reports the first field that does not fit, and
// returns the bytes of a page.
func checkLayouts(layouts [][]Config) (all [][]Config, page int, f *check.Failure) {
	if len(layouts) == 0 {
		return nil, 0, &check.Failure{Where: "layouts", Got: "none", Want: "1 or more"}
	}
	for i, layers := range layouts {
		layers = slices.Clone(layers)
		if f := checkAll(layers); f != nil {
			f.Where = fmt.Sprintf("layouts[%d]: %s", i, f.Where)
			return nil, 0, f
		}
		all = append(all, layers)
		if c, first := &layers[0], &all[0][0]; c.PageSize != first.PageSize || c.Pages != first.Pages || c.Window != first.Window {
			return nil, 0, &check.Failure{Where: fmt.Sprintf("layouts[%d]", i), Got: fmt.Sprintf("%d pages of %d tokens and a window of %d", c.Pages, c.PageSize, c.Window), Want: fmt.Sprintf("%d, %d and %d, as of the first layout", first.Pages, first.PageSize, first.Window)}
		}
		bytes := 0
		for j := range layers {
			bytes = ints.AddSat(bytes, ints.MulSat(layers[j].Layers, layers[j].inPage()))
		}
		page = max(page, bytes)
	}
	if n := all[0][0].Pages; !hugepages.Fits(ints.MulSat(n, page), 1) {
		return nil, 0, check.TooLarge("layouts", fmt.Sprintf("%d pages of %d bytes", n, page))
	}
	return all, page, nil
}

// inPage returns the bytes that a layer takes in a page that several layers share.
func (c *Config) inPage() int {
	n := c.keys().inPage(c)
	if !c.ValuesInKeys {
		n = ints.AddSat(n, c.values().inPage(c))
	}
	return n
}

func (p part) inPage(c *Config) int {
	rows := ints.MulSat(c.PageSize, c.Heads)
	n := aligned(p.dtype.Bytes(ints.MulSat(rows, p.size)))
	if p.dtype.IsScaled() {
		n = ints.AddSat(n, aligned(ints.MulSat(rows, ints.MulSat(4, p.size/p.group))))
	}
	return n
}

// aligned returns the bytes of whole cache lines that hold n.
func aligned(n int) int { return ints.AddSat(n, 63) &^ 63 }

// memory is pages in which several layers lie one behind the other.
type memory struct {
	data []byte
	page int // bytes
	at   int // of a page, where the next layer begins
}

// pages returns the next part of all pages, of a shape, and the strides that it has in one page.
func (m *memory) pages(t view.DType, shape [4]int, strides [3]int) view.Tensor {
	pages, bytes := shape[0], t.Bytes(strides[0])
	strides[0] = m.page / t.Bytes(t.PerByte()) * t.PerByte()
	data := m.data[:0]
	if pages > 0 {
		data = m.data[m.at:][:(pages-1)*m.page+bytes]
	}
	m.at += aligned(bytes)
	return view.FromBytes(t, data, shape, strides)
}
