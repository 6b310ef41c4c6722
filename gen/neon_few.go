package main

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/a64"
)

// fewScores and fewValues on NEON: see few_scores.go and few_values.go. An FMA takes
// its number from any lane, so that one load brings those of 4 queries.
//
// Vector registers of fewScores: 16 accumulators, a vector of keys by a query; 4
// columns of q̂; 4 rows of K and 4 of scratch to transpose them. Of fewValues: 16
// accumulators, the line of V, the weights.

// neonFew is the number of queries, or of rows, that are done at once.
const neonFew = 4

type neonFewScorer struct {
	*neon
	prefetch *neonPrefetch

	s, w        a64.GP    // scores of the tile, their row in bytes, which is also q̂'s
	k           [4]a64.GP // rows 0-3 of the tile, at the step at hand
	ld          a64.GP    // of K, in bytes
	rows        [4]a64.GP // i·4 rows of K, in bytes, but for 0
	q, qx       a64.GP    // q̂ of the group of queries, and at the step at hand
	n, left     a64.GP    // left: keys, from the tile on
	lane, steps a64.GP
	scratch     a64.GP
}

func (g *neon) fewScores(k element) {
	if k != float32s {
		return
	}
	g.function(fewScoresFunction(k))
	f := &neonFewScorer{neon: g, ld: g.stride("ldk"), n: g.num("n"), left: g.num("m"), s: g.slice("s"),
		w: g.param(g.Len("max")), q: g.slice("q"), qx: g.GP(), lane: g.GP(), steps: g.GP(), scratch: g.GP()}
	f.prefetch = g.newPrefetch(f.ld, "d", 4)
	g.Op("LSL", 2, f.w, f.w)
	f.k[0] = g.slice("k")
	for i := 1; i < 4; i++ {
		f.k[i], f.rows[i] = g.GP(), g.GP()
		g.Op("ADD", f.ld, f.k[i-1], f.k[i])
		if i == 1 {
			g.Op("LSL", 2, f.ld, f.rows[1])
		} else {
			g.Op("ADD", f.rows[1], f.rows[i-1], f.rows[i])
		}
	}
	f.tiles()
}

func (f *neonFewScorer) tiles() {
	f.Comment("Tiles of 16 keys; the last one reaches back to be one.")
	f.Label("tile")
	f.Op("CMP", fewKeys, f.left)
	f.Jump("BGE", "whole")
	f.Jump("CBZ", "done", f.left)
	f.Op("SUB", fewKeys, f.left, f.left) // below 0
	f.Op("MUL", f.w, f.left, f.scratch)
	f.Op("ADD", f.scratch, f.s, f.s)
	f.Op("MUL", f.ld, f.left, f.scratch)
	f.moveRows("ADD", f.scratch)
	f.Op("MOVD", fewKeys, f.left)
	f.Label("whole")
	f.Op("MOVD", 0, f.lane)

	f.Comment("A group of up to 4 queries.")
	f.Label("group")
	f.Op("SUB", f.lane, f.n, f.scratch)
	for size := neonFew; size > 1; size-- {
		f.Op("CMP", size, f.scratch)
		f.Jump("BGE", fewGroup(size))
	}
	for size := 1; size <= neonFew; size++ {
		f.Scope(func() { f.group(size) })
	}

	f.Label("next")
	f.Load(f.Param("d"), f.scratch)
	f.Op("LSL", 2, f.scratch, f.scratch)
	f.moveRows("SUB", f.scratch)
	f.Op("CMP", f.n, f.lane)
	f.Jump("BLT", "group")
	f.Op("LSL", 4, f.ld, f.scratch)
	f.moveRows("ADD", f.scratch)
	f.Op("ADD", f.w.Shl(4), f.s, f.s)
	f.prefetch.forward(f.ld)
	f.Op("SUB", fewKeys, f.left, f.left)
	f.Jump("B", "tile")
	f.Label("done")
	f.Ret()
}

// moveRows moves all rows of K by a number of bytes.
func (f *neonFewScorer) moveRows(op string, bytes a64.GP) {
	for _, k := range f.k {
		f.Op(op, bytes, k, k)
	}
}

// group emits a tile for a number of queries, from lane on.
func (f *neonFewScorer) group(size int) {
	name := fewGroup(size)
	f.Comment("16 keys by %d queries.", size)
	if size > 1 {
		f.Label(name)
	}
	acc := make([][]a64.Vec, fewKeys/neonLanes)
	for v := range acc {
		acc[v] = f.Vecs(size)
		for _, x := range acc[v] {
			f.zero(x)
		}
	}
	f.Op("ADD", f.lane.Shl(2), f.q, f.qx)
	f.Load(f.Param("d"), f.steps)
	f.Op("LSR", 2, f.steps, f.steps)
	f.prefetch.start()
	f.Align(32)
	f.Label(name + "step")
	f.prefetch.step(name + "ahead")
	f.columns(acc, func(x int, column func()) { column() })
	f.Op("SUBS", 1, f.steps, f.steps)
	f.Jump("BNE", name+"step")
	f.rest(acc, name)
	f.Label(name + "store")
	f.storeScores(acc, size, name)
	f.Jump("B", "next")
}

// columns emits 4 columns, and moves k and qx on. each may emit something around
// those of a vector of keys.
func (f *neonFewScorer) columns(acc [][]a64.Vec, each func(x int, column func())) {
	f.Scope(func() {
		q, rows, t := f.Vecs(4), f.Vecs(4), f.Vecs(4)
		for x := range q {
			f.load(a64.At(f.qx, 0), q[x])
			f.Op("ADD", f.w, f.qx, f.qx)
		}
		for v := range acc {
			for i, k := range f.k {
				switch v {
				case 0:
					f.load(a64.At(k, 0), rows[i])
				default:
					f.LDRQ(rows[i], k, f.rows[v])
				}
			}
			f.transpose4(rows, t)
			for x := range q {
				each(4*v+x, func() {
					for i, a := range acc[v] {
						f.FMLALane(a, rows[x], q[x].S(i))
					}
				})
			}
		}
		f.advance(neonBytes, f.k[:]...)
	})
}

// rest emits the columns that 4 does not divide: the last 4 are loaded, and the
// first of them left out.
func (f *neonFewScorer) rest(acc [][]a64.Vec, name string) {
	f.Load(f.Param("d"), f.steps)
	f.Op("ANDS", 3, f.steps, f.steps)
	f.Jump("BEQ", name+"store")
	f.Op("SUB", 4, f.steps, f.steps) // below 0
	for _, k := range f.k {
		f.Op("ADD", f.steps.Shl(2), k, k)
	}
	f.Op("MUL", f.w, f.steps, f.scratch)
	f.Op("ADD", f.scratch, f.qx, f.qx)
	f.columns(acc, func(x int, column func()) {
		if x%4 == 0 {
			return
		}
		skip := fmt.Sprintf("%sskip%d", name, x)
		f.Op("CMP", -(x % 4), f.steps) // the columns from -steps on are new
		f.Jump("BLT", skip)
		column()
		f.Label(skip)
	})
}

// storeScores emits the way of a tile's scores to the panel; see fewScorer.store.
func (f *neonFewScorer) storeScores(acc [][]a64.Vec, size int, name string) {
	f.Scope(func() {
		t, keys := f.Vecs(4), make([][]a64.Vec, len(acc))
		for v := range acc {
			keys[v] = acc[v]
			for len(keys[v]) < neonFew {
				x := f.Vec()
				f.Op("VORR", acc[v][size-1].B16(), acc[v][size-1].B16(), x.B16())
				keys[v] = append(keys[v], x)
			}
		}
		for v := range keys {
			f.transpose4(keys[v], t)
		}
		max, larger := t[0], t[1]
		f.Label(name + "lanes")
		f.Op("ADD", f.lane.Shl(2), f.s, f.qx)
		f.Load(f.Base("max"), f.scratch)
		f.Op("ADD", f.lane.Shl(2), f.scratch, f.scratch)
		f.load(a64.At(f.scratch, 0), max)
		for v := range keys {
			for _, x := range keys[v] {
				f.store(x, a64.At(f.qx, 0))
				f.raise(max, x, larger)
				f.Op("ADD", f.w, f.qx, f.qx)
			}
		}
		f.store(max, a64.At(f.scratch, 0))
		f.Op("ADD", neonFew, f.lane, f.lane)
		f.Op("CMP", f.n, f.lane)
		f.Jump("BLT", "next")
		f.Op("CMP", f.lane.Shl(2), f.w)
		f.Jump("BGT", name+"lanes")
	})
}

type neonFewValuer struct {
	*neon
	prefetch *neonPrefetch

	o, ldo         a64.GP
	v, p, ldv, ldp a64.GP // of the turn, distances in bytes
	vj, pj, steps  a64.GP // of the step
	keys, left     a64.GP // in the turn, and from it on
	column         a64.GP // in bytes
	columns        a64.GP // left
	lane, n, begun a64.GP
	row            a64.GP
}

func (g *neon) fewValues(v element) {
	if v != float32s {
		return
	}
	g.function(fewValuesFunction(v))
	f := &neonFewValuer{neon: g, o: g.slice("o"), ldo: g.stride("ldo"), v: g.slice("v"), ldv: g.stride("ldv"), p: g.slice("p"), ldp: g.stride("ldp"),
		n: g.num("n"), left: g.num("m"), begun: g.param(g.Param("load")), vj: g.GP(), pj: g.GP(), steps: g.GP(), keys: g.GP(),
		column: g.GP(), columns: g.GP(), lane: g.GP(), row: g.GP()}
	f.prefetch = g.newPrefetch(f.ldv, "dv", 1)
	f.turns()
}

// turns emits the loop over turns of up to 16 keys; from the second on, o holds
// something.
func (f *neonFewValuer) turns() {
	f.Label("turn")
	f.Op("MOVD", f.left, f.keys)
	f.Op("CMP", fewKeys, f.keys)
	f.Jump("BLE", "short")
	f.Op("MOVD", fewKeys, f.keys)
	f.Label("short")
	f.prefetch.start()
	f.Load(f.Param("dv"), f.columns)
	f.Op("MOVD", 0, f.column)
	f.strip("line", 4, "FMOVQ")
	f.strip("four", 1, "FMOVQ")
	f.strip("single", 1, "FMOVS")
	f.Op("MOVD", 1, f.begun)
	f.Op("SUBS", f.keys, f.left, f.left)
	f.Jump("BEQ", "done")
	f.Op("ADD", f.ldv.Shl(4), f.v, f.v)
	f.Op("ADD", f.ldp.Shl(4), f.p, f.p)
	f.prefetch.forward(f.ldv)
	f.Jump("B", "turn")
	f.Label("done")
	f.Ret()
}

// strip emits the loop over strips of so many vectors while there are columns for
// one, and in it the loop over groups of queries.
func (f *neonFewValuer) strip(name string, vectors int, move string) {
	columns := vectors * neonLanes
	if move == "FMOVS" {
		columns = 1
	}
	f.Label(name)
	f.Op("SUBS", columns, f.columns, f.columns)
	f.Jump("BLT", name+"end")
	f.Op("MOVD", 0, f.lane)
	f.Comment("A group of up to 4 queries.")
	f.Label(name + "group")
	f.Op("SUB", f.lane, f.n, f.steps)
	for size := neonFew; size > 1; size-- {
		f.Op("CMP", size, f.steps)
		f.Jump("BGE", name+fewGroup(size))
	}
	for size := 1; size <= neonFew; size++ {
		f.Scope(func() { f.group(name, size, vectors, move) })
	}
	f.Label(name + "next")
	f.Op("CMP", f.n, f.lane)
	f.Jump("BLT", name+"group")
	f.advance(4*columns, f.column)
	f.Jump("B", name)
	f.Label(name + "end")
	f.Op("ADD", columns, f.columns, f.columns)
}

// group emits the keys of a turn for a strip and a number of queries, from lane
// on.
func (f *neonFewValuer) group(strip string, size, vectors int, move string) {
	name := strip + fewGroup(size)
	f.Comment("%d queries.", size)
	if size > 1 {
		f.Label(name)
	}
	acc := make([][]a64.Vec, size)
	for i := range acc {
		acc[i] = f.Vecs(vectors)
		for _, x := range acc[i] {
			f.zero(x)
		}
	}
	f.Jump("CBZ", name+"zero", f.begun)
	f.eachRow(acc, func(x a64.Vec, m a64.Mem) { f.Op(move, m, x) })
	f.Label(name + "zero")
	f.Op("ADD", f.column, f.v, f.vj)
	f.Op("ADD", f.lane.Shl(2), f.p, f.pj)
	f.Op("MOVD", f.keys, f.steps)
	f.Jump("CBZ", name+"store", f.steps)
	f.Align(32)
	f.Label(name + "step")
	if strip == "line" {
		f.prefetch.step(name + "ahead")
	}
	f.Scope(func() {
		v, p := f.Vecs(vectors), f.Vec()
		for i := range v {
			f.Op(move, a64.At(f.vj, i*neonBytes), v[i])
		}
		f.load(a64.At(f.pj, 0), p)
		f.Op("ADD", f.ldv, f.vj, f.vj)
		f.Op("ADD", f.ldp, f.pj, f.pj)
		for i := range acc {
			for x := range v {
				f.FMLALane(acc[i][x], v[x], p.S(i))
			}
		}
	})
	f.Op("SUBS", 1, f.steps, f.steps)
	f.Jump("BNE", name+"step")
	f.Label(name + "store")
	f.eachRow(acc, func(x a64.Vec, m a64.Mem) { f.Op(move, x, m) })
	f.Op("ADD", size, f.lane, f.lane)
	f.Jump("B", strip+"next")
}

// eachRow calls do for every accumulator and its place in o.
func (f *neonFewValuer) eachRow(acc [][]a64.Vec, do func(x a64.Vec, m a64.Mem)) {
	f.Op("MUL", f.ldo, f.lane, f.row)
	f.Op("ADD", f.o, f.row, f.row)
	f.Op("ADD", f.column, f.row, f.row)
	for i := range acc {
		for x, v := range acc[i] {
			do(v, a64.At(f.row, x*neonBytes))
		}
		if i+1 < len(acc) {
			f.Op("ADD", f.ldo, f.row, f.row)
		}
	}
}

func (g *neon) fewFold() {
	g.function(fewFoldFunction)
	o, ldo, part, ldp := g.slice("o"), g.stride("ldo"), g.slice("part"), g.stride("ldp")
	alpha, beta, n, s := g.slice("alpha"), g.slice("beta"), g.num("n"), g.GP()
	a, b, c, x := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	po, pp := g.GP(), g.GP()
	g.eachFewRow(n, func() {
		for _, f := range []struct {
			p a64.GP
			v a64.Vec
		}{{alpha, a}, {beta, b}} {
			g.Op("MOVWU", a64.At(f.p, 0), s)
			g.Op("VDUP", s, f.v.S4())
		}
		g.Op("MOVD", o, po)
		g.Op("MOVD", part, pp)
		g.eachColumn("dv", func(move string, size int) {
			g.Op(move, a64.At(po, 0), c)
			g.Op(move, a64.At(pp, 0), x)
			g.FMUL(c, c, a)
			g.Op("VFMLA", b.S4(), x.S4(), c.S4())
			g.Op(move, c, a64.At(po, 0))
			g.advance(size, po, pp)
		})
	}, func() {
		g.Op("ADD", ldo, o, o)
		g.Op("ADD", ldp, part, part)
		g.advance(4, alpha, beta)
	})
	g.Ret()
}

func (g *neon) fewUnpack() {
	g.function(fewUnpackFunction)
	dst, off, o, ldo := g.slice("dst"), g.slice("off"), g.slice("o"), g.stride("ldo")
	sum, n, nans, row, s := g.slice("sum"), g.num("n"), g.GP(), g.GP(), g.GP()
	one, zero := g.broadcast(math.Float32bits(1)), g.broadcast(0)
	inv, finite, x, y := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	from, to := g.GP(), g.GP()
	g.Op("MOVD", 0, nans)
	g.Op("MOVD", 1, row) // its bit
	g.eachFewRow(n, func() {
		g.Comment("1/sum, 0 for a sum of 0.")
		g.Op("MOVWU", a64.At(sum, 0), s)
		g.Op("VDUP", s, x.S4())
		g.FCMEQZero(y, x)
		g.FDIV(inv, one, x)
		g.BIC(inv, inv, y)
		g.FCMEQ(finite, zero, zero) // all lanes
		g.Op("MOVD", a64.At(off, 0), to)
		g.Op("ADD", to.Shl(2), dst, to)
		g.Op("MOVD", o, from)
		g.eachColumn("dv", func(move string, size int) {
			g.Op(move, a64.At(from, 0), x)
			g.FMUL(x, x, inv)
			g.FADD(x, x, zero)
			if move == "FMOVS" {
				g.Op("VDUP", x.S(0), y.S4()) // 0·inv is NaN in the other lanes if inv is Inf
				g.FCMEQ(y, y, y)
			} else {
				g.FCMEQ(y, x, x)
			}
			g.Op("VAND", y.B16(), finite.B16(), finite.B16())
			g.Op(move, x, a64.At(to, 0))
			g.advance(size, from, to)
		})
		g.BIC(y, one, finite)
		g.Op("VADDV", y.S4(), y.Whole()) // of up to four times the same bits, not 0
		g.Op("VMOV", y.S(0), s)
		g.Jump("CBZ", "finite", s)
		g.Op("ORR", row, nans, nans)
		g.Label("finite")
	}, func() {
		g.Op("ADD", ldo, o, o)
		g.advance(4, sum)
		g.advance(8, off)
		g.Op("LSL", 1, row, row)
	})
	g.Op("MOVD", nans, g.Result())
	g.Ret()
}

// eachFewRow emits a loop over n rows.
func (g *neon) eachFewRow(n a64.GP, row, next func()) {
	g.Jump("CBZ", "done", n)
	g.Label("row")
	row()
	next()
	g.Op("SUBS", 1, n, n)
	g.Jump("BNE", "row")
	g.Label("done")
}

// eachColumn emits a loop over the columns of a row, first whole vectors, then single
// ones: how they are moved, and their bytes.
func (g *neon) eachColumn(count string, do func(move string, size int)) {
	left := g.num(count)
	g.Op("SUBS", neonLanes, left, left)
	g.Jump("BLT", "rest")
	g.Label("vector")
	do("FMOVQ", neonBytes)
	g.Op("SUBS", neonLanes, left, left)
	g.Jump("BGE", "vector")
	g.Label("rest")
	g.Op("ADDS", neonLanes, left, left)
	g.Jump("BEQ", "end")
	g.Label("single")
	do("FMOVS", 4)
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "single")
	g.Label("end")
	g.Free(left)
}

// read is the probe of the memory; see probe.go.
func (g *neon) read() {
	const lines = 16
	g.function(readFunction)
	p, left := g.slice("p"), g.param(g.Len("p"))
	v := g.Vecs(8)
	g.Op("LSR", 8, left, left) // 16 lines of 16 numbers
	g.Jump("CBZ", "done", left)
	g.Align(32)
	g.Label("loop")
	for i := range lines * lineBytes / neonBytes {
		g.load(a64.At(p, i*neonBytes), v[i%len(v)])
	}
	g.advance(lines*lineBytes, p)
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "loop")
	g.Label("done")
	g.Ret()
}
