package main

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
)

// dropout drops weights; see dropout.go. Here products of halves are shuffled into
// vectors of low and of high words at once, and there are registers for the keys of
// all rounds from the third on.
func (g *neon) dropout() {
	g.function(dropoutFunction)
	d := neonDropper{neon: g, s: g.slice("s"), head: g.slice("head"), pos: g.slice("pos"), m0: g.broadcast(philoxM0), m1: g.broadcast(philoxM1),
		group: g.GP(), mixed: g.GP(), key2: g.GP(), c1: g.Vec(), c2: g.Vec(), c3: g.Vec()}
	ld, left, row, rows, first := g.stride("ld"), g.param(g.Len("pos")), g.GP(), g.num("n"), g.GP()
	g.Jump("CBZ", "done", rows)
	d.roundKeys()
	g.Comment("One vector of lanes, an evaluation of Philox a turn.")
	g.Label("lanes")
	d.begin()
	g.Op("MOVD", d.s, row)
	g.Load(g.Param("n"), rows)
	g.Load(g.Param("j0"), d.group)
	g.Op("AND", 3, d.group, first)
	g.Op("LSR", 2, d.group, d.group)
	g.Align(32)
	g.Label("group")
	words := d.words()
	threshold, scale, x, kept := g.broadcastParam("threshold"), g.broadcastParam("scale"), g.Vec(), g.Vec()
	g.Jump("CBNZ", "within", first)
	for w, word := range words {
		if w > 0 {
			g.Label(fmt.Sprintf("word%d", w))
		}
		g.load(a64.At(row, 0), x)
		g.FMUL(x, x, scale)
		g.CMHS(kept, word, threshold)
		g.Op("VAND", kept.B16(), x.B16(), x.B16())
		g.store(x, a64.At(row, 0))
		g.Op("ADD", ld, row, row)
		g.Op("SUBS", 1, rows, rows)
		g.Jump("BEQ", "next")
	}
	g.Op("ADD", 1, d.group, d.group)
	g.Jump("B", "group")
	g.Comment("The first key is not the first of its group.")
	g.Label("within")
	g.Op("CMP", 2, first)
	g.Op("MOVD", 0, first)
	g.Jump("BLT", "word1")
	g.Jump("BEQ", "word2")
	g.Jump("B", "word3")
	g.Label("next")
	g.advance(neonBytes, d.s, d.head, d.pos)
	g.Op("SUBS", neonLanes, left, left)
	g.Jump("BNE", "lanes")
	g.Label("done")
	g.Ret()
}

type neonDropper struct {
	*neon
	s, head, pos a64.GP
	m0, m1       a64.Vec
	keys         []a64.Vec // from the third round on
	key2         a64.GP

	group      a64.GP  // keys / 4
	mixed      a64.GP  // what the key is mixed with in the first round
	c1, c2, c3 a64.Vec // c1 after the first round, c2 and c3 after the second
}

func (d *neonDropper) roundKeys() {
	p := d.slice("keys")
	d.Op("MOVWU", a64.At(p, 8), d.key2)
	d.advance(16, p)
	d.keys = d.Vecs(2 * (philoxRounds - 2))
	for _, k := range d.keys {
		d.Op("VLD1R.P", a64.At(p, 4), []a64.Arr{k.S4()})
	}
	d.Free(p)
}

// begin does what does not depend on the key.
func (d *neonDropper) begin() {
	d.Comment("The first two rounds, but for the key.")
	d.Scope(func() {
		p, key, low := d.slice("keys"), d.GP(), d.Vec()
		d.Load(d.Param("sequence"), d.mixed)
		d.Op("MOVD", uint32(philoxM0), key)
		d.Op("MUL", key, d.mixed, d.mixed)
		d.Op("VDUP", d.mixed, low.S4())
		d.Op("LSR", 32, d.mixed, d.mixed)
		d.Op("MOVWU", a64.At(p, 4), key)
		d.Op("EOR", key, d.mixed, d.mixed)
		c0, key0, key3 := d.Vec(), d.Vec(), d.Vec()
		d.Op("VLD1R", a64.At(p, 0), []a64.Arr{key0.S4()})
		d.advance(12, p)
		d.Op("VLD1R", a64.At(p, 0), []a64.Arr{key3.S4()})
		d.load(a64.At(d.pos, 0), c0)
		d.multiply(c0, d.m1, c0, d.c1)
		head := d.Vec()
		d.load(a64.At(d.head, 0), head)
		d.xor(c0, head, key0)
		d.multiply(c0, d.m0, d.c2, d.c3)
		d.xor(d.c2, low, key3)
	})
}

// multiply sets high and low to the words of x·y; high may be x.
func (d *neonDropper) multiply(x, y, high, low a64.Vec) {
	d.Scope(func() {
		last := d.Vec()
		d.UMULL(low, x, y)
		d.UMULL2(last, x, y)
		d.Op("VUZP2", last.S4(), low.S4(), high.S4())
		d.Op("VUZP1", last.S4(), low.S4(), low.S4())
	})
}

// xor is x ^= y ^ z.
func (d *neonDropper) xor(x, y, z a64.Vec) {
	d.Op("VEOR", y.B16(), x.B16(), x.B16())
	d.Op("VEOR", z.B16(), x.B16(), x.B16())
}

// words emits an evaluation of Philox.
func (d *neonDropper) words() []a64.Vec {
	d.Comment("The second round, with its product of the word with the key.")
	c := d.Vecs(5) // the last is spare; they change places
	d.Scope(func() {
		p, m := d.GP(), d.GP()
		d.Op("EORW", d.group, d.mixed, p)
		d.Op("MOVD", uint32(philoxM1), m)
		d.Op("MUL", m, p, p)
		d.Op("VDUP", p, c[1].S4())
		d.Op("LSR", 32, p, p)
		d.Op("EOR", d.key2, p, p)
		d.Op("VDUP", p, c[0].S4())
		d.Op("VEOR", d.c1.B16(), c[0].B16(), c[0].B16())
		d.Op("VORR", d.c2.B16(), d.c2.B16(), c[2].B16())
		d.Op("VORR", d.c3.B16(), d.c3.B16(), c[3].B16())
		d.Comment("The rounds from the third on.")
		for r := range philoxRounds - 2 {
			d.multiply(c[2], d.m1, c[2], c[4])
			d.xor(c[2], c[1], d.keys[2*r])
			d.multiply(c[0], d.m0, c[0], c[1])
			d.xor(c[0], c[3], d.keys[2*r+1])
			c[0], c[1], c[2], c[3], c[4] = c[2], c[4], c[0], c[1], c[3]
		}
	})
	return c[:4]
}
