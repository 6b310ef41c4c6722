package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

// newGuardedArena returns an arena whose regions lie between two pages that
// nobody may touch.
func newGuardedArena(t testing.TB, p placement) *arena {
	return guardedArena(t, p, regionCount, regionSize)
}

func guardedArena(t testing.TB, p placement, count, size int) *arena {
	a := &arena{place: p}
	for range count {
		a.regions = append(a.regions, guardedRegion(t, size))
	}
	return a
}

// TestGuard makes the calls of TestMicro with every slice right behind such a
// page and with every slice right before one. No slice reaches past the last
// element that the call names, so reading or writing a single byte around it is
// an error, be it to fill up a vector or the gap behind a last row.
func TestGuard(t *testing.T) {
	if !guards {
		t.Log("guard pages are not available here: this is TestMicro again, on plain slices")
	}
	start, end := newGuardedArena(t, atStart), newGuardedArena(t, atEnd)
	for _, k := range microKernels {
		t.Run("kernel="+k.name, func(t *testing.T) {
			eachPanel(t, func(t *testing.T, p *panelKernels) {
				if p.without(k.name) {
					return // as TestMain says
				}
				if err := checkMicro(p, k.cases(p.lanes), start, end); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestGuardCatches shows that TestGuard can fail: kernels that read one element
// before or behind a slice must be found.
func TestGuardCatches(t *testing.T) {
	if !guards {
		t.Skip("guard pages are not available here")
	}
	var sink float32
	peek := func(s []float32, at int) {
		if len(s) > 0 {
			sink += *beside(s, at)
		}
	}
	for _, x := range []struct {
		name  string
		place placement
		spoil func(p *panelKernels)
	}{
		{"tile", atEnd, func(p *panelKernels) {
			tile := p.tile
			p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
				tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
				peek(a, len(a))
			}
		}},
		{"softmax", atStart, func(p *panelKernels) {
			softmax := p.softmax
			p.softmax = func(s []float32, ld, n int, max, sum []float32) {
				softmax(s, ld, n, max, sum)
				peek(s, -1)
			}
		}},
		{"fold", atEnd, func(p *panelKernels) {
			fold := p.fold
			p.fold = func(max, sum, blockMax, blockSum, alpha, beta []float32) {
				fold(max, sum, blockMax, blockSum, alpha, beta)
				peek(beta, len(beta))
			}
		}},
	} {
		p := reference(24)
		x.spoil(p)
		if err := checkMicro(p, casesOf(x.name)(p.lanes), newGuardedArena(t, x.place)); err == nil {
			t.Errorf("%s: an access beside a slice, %v, went unnoticed", x.name, x.place)
		} else {
			t.Log(x.name, err)
		}
	}
}

// casesOf returns the cases of a kernel.
func casesOf(kernel string) func(w int) []microCase {
	for _, k := range microKernels {
		if k.name == kernel {
			return k.cases
		}
	}
	panic("no kernel " + kernel)
}

// put moves a tensor into the arena, its slice cut off behind its last element.
func (a *arena) put(name string, t Tensor) Tensor {
	all := t.storage()
	n, size := all.extent(), 4
	from := unsafe.Pointer(unsafe.SliceData(t.f32))
	if t.dtype != Float32 {
		from, size = t.other.data, 2
	}
	if t.dtype == Int8 {
		size = 1
	}
	data := a.take(name, size*n, size).data
	copy(data, unsafe.Slice((*byte)(from), size*n))
	if t.dtype == Float32 {
		t.f32 = typed[float32](data)
	} else {
		t.other = slice{unsafe.Pointer(unsafe.SliceData(data)), n}
	}
	if t.scales != nil {
		scales := a.put("the scales of "+name, *t.scales)
		t.scales = &scales
	}
	return t
}

// TestGuardAttention makes whole calls with every tensor, and its scales, right
// behind a page that nobody may touch, and right before one: the slices end with
// the last element that a row needs.
func TestGuardAttention(t *testing.T) {
	for _, a := range []*arena{newGuardedArena(t, atStart), newGuardedArena(t, atEnd)} {
		for _, c := range append(cases(), decodeCases()...) {
			if c.seed%2 != 0 || quick() && c.seed/4%2 != 0 {
				continue
			}
			if c.seed%4 == 0 {
				c.types = allTypes()[int(c.seed/4*31)%len(allTypes())]
			}
			a.slots = a.slots[:0]
			q, k, v := c.typed(c.inputs())
			want := c.contract(q, k, v)
			if max(q.extent(), k.extent(), v.extent(), want.extent()) > regionSize/4 {
				continue
			}
			q, k, v = a.put("q", q), a.put("k", k), a.put("v", v)
			out := a.put("out", want)
			memory := a.slots[len(a.slots)-1].data
			eachTier(t, func(t *testing.T, tier *tier) {
				for i := range memory {
					memory[i] = marginByte
				}
				if err := Attention(out, q, k, v, Options{Tier: tier.name, Scale: c.scale, Mask: c.mask, Threads: 1}); err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprint(c.types, c), &out, &want)
			})
		}
	}
}
