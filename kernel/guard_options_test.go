package kernel_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
)

// TestGuardOptions makes calls with options with every slice that they hold, and every
// tensor, right behind a page that nobody may touch, and right before one.
func TestGuardOptions(t *testing.T) {
	const slices, size = 30, 2 << 20 // more and larger than those of any case
	for _, a := range []*arena{guardedArena(t, atStart, slices, size), guardedArena(t, atEnd, slices, size)} {
		eachOptionCase(func(n int, c *optionCase) {
			q, k, v := c.inputs()
			o := c.options()
			c.poison(newModel(q, k, v, &o))
			q, k, v = c.typed(q, k, v)
			c.outputs(&o)
			lengths := c.raggedLengths()
			q, k, v = lengths.pack(q, k, v)
			out := lengths.packOutputs(c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out), &o)
			want := [...]kernel.Tensor{out, o.LSE, o.Weights, o.Scores}
			if err := kernel.Attention(want[0], q, k, v, o); err != nil {
				t.Fatal(err)
			}
			a.slots = a.slots[:0]
			q, k, v = a.put("q", q), a.put("k", k), a.put("v", v)
			a.putOptions(&o)
			out = a.put("out", out)
			eachTier(t, func(t *testing.T, tier *tier) {
				o.Tier = tier.name
				got := [...]kernel.Tensor{out, o.LSE, o.Weights, o.Scores}
				for x := range got {
					clear(got[x].f32)
					clear(got[x].u16())
				}
				if err := kernel.Attention(out, q, k, v, o); err != nil {
					t.Fatal(err)
				}
				for x := range got {
					same(t, fmt.Sprintf("output %d, levels %v, slices %v", x, c.levels, a.place), &got[x], &want[x])
				}
			})
		})
	}
}

// putOptions moves all that options hold into the arena.
func (a *arena) putOptions(o *kernel.Options) {
	for name, t := range map[string]*kernel.Tensor{"Bias": &o.Bias, "LSE": &o.LSE, "Weights": &o.Weights, "Scores": &o.Scores} {
		if t.isSet() {
			*t = a.put(name, *t)
		}
	}
	o.ALiBi, o.Sinks = copied(a, "ALiBi", o.ALiBi), copied(a, "Sinks", o.Sinks)
	o.QueryStart, o.KeyStart = copied(a, "QueryStart", o.QueryStart), copied(a, "KeyStart", o.KeyStart)
	o.Dropout.Sequences = copied(a, "Sequences", o.Dropout.Sequences)
	m := &o.Mask
	for x := range m.rules[:m.n] {
		r := &m.rules[x]
		r.ints, r.query, r.key = copied(a, "a mask's lengths", r.ints), copied(a, "query ids", r.query), copied(a, "key ids", r.key)
	}
	for x := range m.bools[:m.nBools] {
		v := &m.bools[x]
		g := grid{v.shape, v.stride}
		for i, n := range v.shape[:3] {
			if n == 1 {
				g.stride[i] = 0
			}
		}
		v.data = copied(a, "bools", v.data[:g.extent()])
	}
	m.sparse.keep = copied(a, "a bitmap", m.sparse.keep)
}

// copied returns the slice in the arena.
func copied[E any](a *arena, name string, s []E) []E {
	if len(s) == 0 {
		return s
	}
	var x E
	size := int(unsafe.Sizeof(x))
	c := typed[E](a.take(name, size*len(s), size).data)
	copy(c, s)
	return c
}
