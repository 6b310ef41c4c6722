package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

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
