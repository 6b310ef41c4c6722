package kernel_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// fenced returns memory for pages, [pages, H, size, D] of E, each between two pages of
// the system that nobody may touch: right behind one or right before one. close makes
// a page itself as untouchable.
func fenced[E kernel.Element](t *testing.T, pages, h, size, d int, layout string, p placement) (memory kernel.Tensor, close func(page int)) {
	unit := os.Getpagesize()
	bytes := h * size * d * int(unsafe.Sizeof(*new(E)))
	used := (bytes + unit - 1) / unit * unit
	slot := used + unit
	mem := guardedRegion(t, pages*slot)
	base := 0
	if p == atEnd {
		base = used - bytes
	}
	for i := range pages {
		fence(t, mem[i*slot+used:(i+1)*slot])
	}
	data := unsafe.Slice((*E)(unsafe.Pointer(&mem[base])), ((pages-1)*slot+bytes)/int(unsafe.Sizeof(*new(E))))
	strides := [3]int{slot / int(unsafe.Sizeof(*new(E))), size * d, d}
	if layout == "NHD" {
		strides[1], strides[2] = d, h*d
	}
	return kernel.Strided(data, [4]int{pages, h, size, d}, strides), func(page int) { fence(t, mem[page*slot:page*slot+used]) }
}

// fencedOf is fenced for any type. The pages of scales are fenced, too.
func fencedOf(t *testing.T, dtype kernel.DType, pages, h, size, d int, layout string, p placement) (memory kernel.Tensor, close func(page int)) {
	switch dtype {
	case kernel.Float16:
		return fenced[kernel.F16](t, pages, h, size, d, layout, p)
	case kernel.BFloat16:
		return fenced[kernel.BF16](t, pages, h, size, d, layout, p)
	case kernel.Int8:
		scales, closeScales := fenced[float32](t, pages, h, size, 2, layout, p)
		memory, closePages := fenced[int8](t, pages, h, size, d, layout, p)
		return memory.Scaled(&scales), func(page int) { closeScales(page); closePages(page) }
	}
	return fenced[float32](t, pages, h, size, d, layout, p)
}

// TestGuardPages makes calls on a cache whose pages lie between pages of the system that
// nobody may touch, after having closed all pages that no row sees: those of no sequence,
// and those before a window.
func TestGuardPages(t *testing.T) {
	if !guards {
		t.Log("guard pages are not available here: the pages are open")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	n := 0
	for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8} {
		for _, size := range []int{16, 32, 64, 128, 256} {
			for _, p := range []placement{atStart, atEnd} {
				if n++; testing.Short() && n%4 != 0 {
					continue
				}
				layout := pageLayouts[n/2%2]
				t.Run(fmt.Sprintf("%v/size=%d/%s/%v", dtype, size, layout, p), func(t *testing.T) {
					guardPages(t, dtype, size, layout, p)
				})
			}
		}
	}
}

func guardPages(t *testing.T, dtype kernel.DType, size int, layout string, p placement) {
	c := smallCache()
	c.Layers, c.PageSize, c.Type, c.Pages = 1, size, dtype, 1000/size+8
	if dtype == kernel.Int8 {
		c.HeadSize, c.ValueSize, c.Group = 10, 10, 5
	}
	k, closeK := fencedOf(t, dtype, c.Pages, c.Heads, size, c.HeadSize, layout, p)
	v, closeV := fencedOf(t, dtype, c.Pages, c.Heads, size, c.ValueSize, layout, p)
	cache, err := kvcache.NewOver([]kernel.Tensor{k}, []kernel.Tensor{v}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := storyOf(t, c, cache)
	a, b := s.begin(), s.begin()
	for range 2 { // pages of both in turn
		s.grow([]int{a, b}, []int{260, 45})
	}
	f := s.fork(b, 50)
	s.grow([]int{f, a, b}, []int{20, 20, 20})
	const window = 200
	want := s.attendWindow(window, a, b, f)
	open := map[int32]bool{}
	for i, x := range s.texts {
		unseen := max(0, s.models[i].length-20-window) / size
		for _, page := range x.Pages()[unseen:] {
			open[page] = true
		}
	}
	for page := range c.Pages {
		if !open[int32(page)] {
			closeK(page)
			closeV(page)
		}
	}
	eachTier(t, func(t *testing.T, tier *tier) {
		for _, n := range []int{20, 3, 1} { // many rows, and few
			s.set(a, b, f)
			o := s.batch.Options()
			starts := slices.Clone(o.QueryStart)
			for i := range starts {
				starts[i] += 20 - n
			}
			o.QueryStart, o.Mask, o.Tier, o.Threads = starts, o.Mask.And(kernel.Window(window, 0)), tier.name, 1+n%2
			got, q := s.outputs(3)
			got, q, last := lastRows(got, n), lastRows(q, n), lastRows(want, n)
			keys, values := s.batch.View(0)
			s.must(kernel.Attention(got, q, keys, values, o))
			same(t, fmt.Sprintf("%d queries", n), &got, &last)
		}
	})
}

// lastRows is a view of the last n rows of every head.
func lastRows(t kernel.Tensor, n int) kernel.Tensor {
	return kernel.Strided(t.f32[(t.shape[2]-n)*t.stride[2]:], [4]int{t.shape[0], t.shape[1], n, t.shape[3]}, t.stride)
}

// outputs returns a result's memory and fixed queries for a batch of the newest 20 tokens.
func (s *cacheStory) outputs(batch int) (out, q kernel.Tensor) {
	h := 2 * s.config.Heads
	n := batch * h * 20
	return kernel.BHLD(filled(n*s.config.ValueSize, canary), batch, h, 20, s.config.ValueSize), kernel.BHLD(random(n*s.config.HeadSize), batch, h, 20, s.config.HeadSize)
}

// attendWindow is what contiguous keys give for them under a window.
func (s *cacheStory) attendWindow(window int, texts ...int) kernel.Tensor {
	s.set(texts...)
	want, q := s.outputs(len(texts))
	k, v, o := s.contiguous(0, texts)
	o.Mask = o.Mask.And(kernel.Window(window, 0))
	s.must(kernel.Attention(want, q, k, v, o))
	return want
}

// TestGuardPagesCatches shows that TestGuardPages can fail.
func TestGuardPagesCatches(t *testing.T) {
	if !guards {
		t.Skip("guard pages are not available here")
	}
	memory, closePage := fenced[float32](t, 3, 2, 16, 8, "HND", atEnd)
	closePage(1)
	touched := func(i int) (fault bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { fault = recover() != nil }()
		memory.f32[i]++
		return false
	}
	var got []bool
	for _, i := range []int{0, 255, 256, memory.stride[0] - 1, memory.stride[0], 2 * memory.stride[0], len(memory.f32) - 1} {
		got = append(got, touched(i))
	}
	if want := []bool{false, false, true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
}
