package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// Dropout drops weights, see amd64/dropout.go. Here the products of halves are shuffled
// into vectors of low and of high words at once, and there are registers for the keys of
// all rounds from the third on.
func (g *neon) Dropout() {
	g.Kernel(spec.Dropout)
	d := dropper{neon: g, s: g.Slice("s"), ld: g.Stride("ld"), head: g.Slice("head"), pos: g.Slice("pos"),
		m0: g.Broadcast(spec.PhiloxM0), m1: g.Broadcast(spec.PhiloxM1), row: g.GP(), rows: g.Num("n"), group: g.GP(), first: g.GP(),
		mixed: g.GP(), key2: g.GP(), c1: g.Vec(), c2: g.Vec(), c3: g.Vec()}
	left := g.LoadParam(g.Len("pos"))
	g.JumpIfZero(d.rows, "done")
	d.roundKeys()
	loop.Lanes(g, left, "One vector of lanes, an evaluation of Philox per iteration.", []a64.GP{d.s, d.head, d.pos}, nil, func() {
		d.begin()
		g.AlignLoop()
		g.Label("group")
		d.apply(d.words())
		g.Op("ADD", 1, d.group, d.group)
		g.Goto("group")
		g.Commentf("The first key is not the first of its group.")
		g.Label("within")
		g.Op("CMP", 2, d.first)
		g.Op("MOVD", 0, d.first)
		g.Jump("BLT", "word1")
		g.Jump("BEQ", "word2")
		g.Goto("word3")
		g.Label("next")
	})
	g.Label("done")
	g.Return()
}

type dropper struct {
	*neon
	s, ld, head, pos a64.GP
	m0, m1           a64.Vec
	keys             []a64.Vec // of the rounds from the third on
	key2             a64.GP    // the first of the second round

	row, rows  a64.GP  // the current row, rows left
	group      a64.GP  // number of the row's key / 4
	first      a64.GP  // the first row's key in its group, then 0
	mixed      a64.GP  // the number that the first round adds to the last word of the counter
	c1, c2, c3 a64.Vec // c1 after the first round, c2 and c3 after the second
}

// apply drops weights of up to 4 rows by the numbers of their group, from row first on.
func (d *dropper) apply(words []a64.Vec) {
	d.Commentf("Keep or drop, row by row.")
	threshold, scale, x, kept := d.BroadcastParam("threshold"), d.BroadcastParam("scale"), d.Vec(), d.Vec()
	d.Jump("CBNZ", "within", d.first)
	for w, word := range words {
		if w > 0 {
			d.Label(fmt.Sprintf("word%d", w))
		}
		d.LoadFrom(a64.At(d.row, 0), x)
		d.FMUL(x, x, scale)
		d.CMHS(kept, word, threshold)
		d.Op("VAND", kept.B16(), x.B16(), x.B16())
		d.StoreTo(x, a64.At(d.row, 0))
		d.Op("ADD", d.ld, d.row, d.row)
		d.Op("SUBS", 1, d.rows, d.rows)
		d.Jump("BEQ", "next")
	}
}

func (d *dropper) roundKeys() {
	p := d.Slice("keys")
	d.Op("MOVWU", a64.At(p, 8), d.key2)
	d.Advance(16, p)
	d.keys = d.Vecs(2 * (spec.PhiloxRounds - 2))
	for _, k := range d.keys {
		d.Op("VLD1R.P", a64.At(p, 4), []a64.Arr{k.S4()})
	}
	d.Free(p)
}

// begin begins a vector of lanes: it computes all that does not depend on the key.
func (d *dropper) begin() {
	d.Op("MOVD", d.s, d.row)
	d.Load(d.Param("n"), d.rows)
	d.Load(d.Param("j0"), d.group)
	d.Op("AND", 3, d.group, d.first)
	d.Op("LSR", 2, d.group, d.group)
	d.Commentf("The first two rounds, without the key.")
	d.Scope(func() {
		p, key, low := d.Slice("keys"), d.GP(), d.Vec()
		d.Load(d.Param("sequence"), d.mixed)
		d.Op("MOVD", uint32(spec.PhiloxM0), key)
		d.Op("MUL", key, d.mixed, d.mixed)
		d.Op("VDUP", d.mixed, low.S4())
		d.Op("LSR", 32, d.mixed, d.mixed)
		d.Op("MOVWU", a64.At(p, 4), key)
		d.Op("EOR", key, d.mixed, d.mixed)
		c0, key0, key3 := d.Vec(), d.Vec(), d.Vec()
		d.Op("VLD1R", a64.At(p, 0), []a64.Arr{key0.S4()})
		d.Advance(12, p)
		d.Op("VLD1R", a64.At(p, 0), []a64.Arr{key3.S4()})
		d.LoadFrom(a64.At(d.pos, 0), c0)
		d.multiply(c0, d.m1, c0, d.c1)
		head := d.Vec()
		d.LoadFrom(a64.At(d.head, 0), head)
		d.xor(c0, head, key0)
		d.multiply(c0, d.m0, d.c2, d.c3)
		d.xor(d.c2, low, key3)
	})
}

// multiply sets high and low to the words of x·y. high may be x.
func (d *dropper) multiply(x, y, high, low a64.Vec) {
	d.Scope(func() {
		last := d.Vec()
		d.UMULL(low, x, y)
		d.UMULL2(last, x, y)
		d.Op("VUZP2", last.S4(), low.S4(), high.S4())
		d.Op("VUZP1", last.S4(), low.S4(), low.S4())
	})
}

// xor is x ^= y ^ z.
func (d *dropper) xor(x, y, z a64.Vec) {
	d.Op("VEOR", y.B16(), x.B16(), x.B16())
	d.Op("VEOR", z.B16(), x.B16(), x.B16())
}

// words emits an evaluation of Philox.
func (d *dropper) words() []a64.Vec {
	d.Commentf("The second round, with its product of the word with the key.")
	c := d.Vecs(5) // the last one is spare: they change places
	d.Scope(func() {
		p, m := d.GP(), d.GP()
		d.Op("EORW", d.group, d.mixed, p)
		d.Op("MOVD", uint32(spec.PhiloxM1), m)
		d.Op("MUL", m, p, p)
		d.Op("VDUP", p, c[1].S4())
		d.Op("LSR", 32, p, p)
		d.Op("EOR", d.key2, p, p)
		d.Op("VDUP", p, c[0].S4())
		d.Op("VEOR", d.c1.B16(), c[0].B16(), c[0].B16())
		d.Op("VORR", d.c2.B16(), d.c2.B16(), c[2].B16())
		d.Op("VORR", d.c3.B16(), d.c3.B16(), c[3].B16())
		d.Commentf("The rounds from the third on.")
		for r := range spec.PhiloxRounds - 2 {
			d.multiply(c[2], d.m1, c[2], c[4])
			d.xor(c[2], c[1], d.keys[2*r])
			d.multiply(c[0], d.m0, c[0], c[1])
			d.xor(c[0], c[3], d.keys[2*r+1])
			c[0], c[1], c[2], c[3], c[4] = c[2], c[4], c[0], c[1], c[3]
		}
	})
	return c[:4]
}
