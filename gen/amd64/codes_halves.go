package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention with tiles, beside GemmHalves.

// RoundHalves is round for pairs of sums of two bfloat16. A rounded number has up to 12 bits, so
// what its upper half lacks is a bfloat16, too.
func (g *gen) RoundHalves() {
	if !g.EVEX() {
		return
	}
	g.Kernel(spec.RoundHalves)
	r, first, other := g.newRounder(), g.Slice("first"), g.Slice("other")
	row, upper := g.SliceLen("unit"), g.Vec()
	g.SHLQ(operand.Imm(2), row)
	g.SUBQ(first, other)
	g.VMOVUPS(g.Constant(0xffff0000), upper)
	r.eachVector(first, func() {
		s, scale, left := r.start()
		to, single, both := g.GP64(), g.Vec(), g.Vec()
		g.MOVQ(first, to)
		g.VPSRLD(operand.Imm(16), r.other, single) // what stands in a word with one number, and with two
		g.VORPS(single, r.other, both)
		number := func() (parts [2]reg.VecVirtual) {
			x, y := r.product(s, scale), g.Vec()
			g.VADDPS(r.magic, x, x)
			g.VSUBPS(r.magic, x, x)
			g.VANDPS(upper, x, y)
			g.VSUBPS(y, x, x)
			r.next(s, scale)
			return [2]reg.VecVirtual{y, x}
		}
		store := func(x, other reg.VecVirtual, m operand.Mem) {
			g.VANDPS(r.keep, x, x)
			g.VORPS(other, x, x)
			g.VMOVUPS(x, m)
		}
		places := []operand.Mem{emit.At(to, 0), emit.Indexed(to, other, 1)}
		g.SUBQ(operand.Imm(2), left)
		g.JL(operand.LabelRef("single"))
		g.Label("pair")
		low, high := number(), number()
		for i, m := range places {
			g.pairHalves(low[i], high[i], upper)
			store(low[i], both, m)
		}
		g.ADDQ(row, to)
		g.SUBQ(operand.Imm(2), left)
		g.JGE(operand.LabelRef("pair"))
		g.Label("single")
		g.ADDQ(operand.Imm(2), left)
		g.JZ(operand.LabelRef("end"))
		last := number()
		for i, m := range places {
			g.VPSRLD(operand.Imm(16), last[i], last[i])
			store(last[i], single, m)
		}
		g.Label("end")
	})
}

// Scores of quantized attention. The tiles of 16 queries stay while the keys go by. The sums of 16
// keys go through memory, as in GemmHalves: they are scaled while the products of the third tile
// of keys after them are on their way.
type halvesScores struct {
	tileStack
	lda, line reg.GPVirtual  // the bytes between rows of A, and of sums on the stack
	s, scale  reg.GPVirtual  // of the next key
	top       reg.VecVirtual // the largest scores
}

// The tiles: queries of two segments, of which both halves, then keys and sums, and the same of the
// lower tile.
const (
	scoresQueries emit.Tile = 0
	scoresKeys    emit.Tile = 4
	scoresSums    emit.Tile = 5
	scoresLowKeys emit.Tile = 6
	scoresLowSums emit.Tile = 7
)

// The variables on the stack, and after them a ring of tiles of sums.
const (
	scoresRow   = emit.TileConfigBytes + 8*iota // the bytes of a row of S, and of pairs
	scoresLSC                                   //
	scoresCount                                 // tiles of 16 keys
	scoresEnd                                   // the same, and sumsBehind
	scoresFirst                                 // the strip of lanes
	scoresOther                                 //
	scoresS                                     //
	scoresMax                                   //
	scoresLeft                                  // 4 times the lanes from there on
	scoresVars

	scoresRing = (scoresVars + 63) / 64 * 64
)

// ScoreHalves emits the scores of quantized attention.
func (g *gen) ScoreHalves() {
	if !g.EVEX() {
		return
	}
	g.Kernel(spec.ScoreHalves)
	t := &halvesScores{tileStack: g.newTileStack(scoresRing + sumsRing*tileBytes)}
	t.lowTiles(scoresLowKeys, scoresLowSums)
	t.lda, t.line = t.StrideOf("lda", spec.BF16), t.GP64()
	t.MOVQ(operand.U32(spec.LineBytes), t.line)
	row, count := t.SliceLen("max"), t.Num("m")
	t.SHLQ(operand.Imm(2), row)
	t.MOVQ(row, t.local(scoresRow))
	t.MOVQ(row, t.local(scoresLeft))
	t.MOVQ(t.Stride("lsc"), t.local(scoresLSC))
	t.SHRQ(operand.Imm(4), count) // emit.TileRows
	t.MOVQ(count, t.local(scoresCount))
	t.ADDQ(operand.Imm(sumsBehind), count)
	t.MOVQ(count, t.local(scoresEnd))
	strips := map[string]int{"first": scoresFirst, "other": scoresOther, "s": scoresS, "max": scoresMax}
	for _, name := range []string{"first", "other", "s", "max"} {
		t.Move(t.Memory(t.Param(name).Base()), t.local(strips[name]))
	}

	t.Comment("16 lanes.")
	t.Label("lanes")
	t.queries()
	top, max := t.Vec(), t.get(scoresMax)
	t.VMOVUPS(emit.At(max, 0), top)
	t.s, t.scale, t.top = t.get(scoresS), t.Slice("scales"), top
	a := t.Slice("a")
	t.keys(a)
	t.lowKeys(a)
	max = t.get(scoresMax)
	t.VMOVUPS(top, emit.At(max, 0))
	for _, v := range []int{scoresFirst, scoresOther, scoresS, scoresMax} {
		t.ADDQ(operand.I32(spec.LineBytes), t.local(v))
	}
	t.SUBQ(operand.I32(spec.LineBytes), t.local(scoresLeft))
	t.JNZ(operand.LabelRef("lanes"))
	t.TILERELEASE()
	t.Return()
}

// ifTwo emits what there is for a second segment.
func (t *halvesScores) ifTwo(name string, second func()) {
	t.CMPQ(t.Argument("k"), operand.Imm(spec.BF16Segment))
	t.JE(operand.LabelRef(name))
	second()
	t.Label(name)
}

// queries loads the tiles of queries.
func (t *halvesScores) queries() {
	b, row := [2]reg.GPVirtual{t.get(scoresFirst), t.get(scoresOther)}, t.get(scoresRow)
	load := func(segment emit.Tile) {
		for half := range b {
			t.TILELOADD(emit.Indexed(b[half], row, 1), scoresQueries+2*segment+emit.Tile(half))
		}
	}
	load(0)
	t.ifTwo("queries", func() {
		next := t.GP64()
		t.MOVQ(row, next)
		t.SHLQ(operand.Imm(4), next) // rows of pairs of a segment
		for _, p := range b {
			t.ADDQ(next, p)
		}
		load(1)
	})
}

// product emits the products of the next keys and their way to memory.
func (t *halvesScores) product(name string, sums, keys emit.Tile, a, to reg.GPVirtual) {
	multiply := func(segment emit.Tile) {
		m := emit.Indexed(a, t.lda, 1)
		m.Disp = int(segment) * spec.LineBytes
		t.TILELOADD(m, keys)
		for half := range emit.Tile(2) {
			t.TDPBF16PS(scoresQueries+2*segment+half, keys, sums)
		}
	}
	t.TILEZERO(sums)
	multiply(0)
	t.ifTwo(name, func() { multiply(1) })
	t.TILESTORED(sums, emit.Indexed(to, t.line, 1))
}

// keys emits the scores of whole tiles of keys.
func (t *halvesScores) keys(a reg.GPVirtual) {
	done, to, from := t.GP64(), t.GP64(), t.GP64()
	t.XORQ(done, done)
	t.CMPQ(t.local(scoresCount), operand.Imm(0))
	t.JE(operand.LabelRef("wholedone"))
	t.LEAQ(t.local(scoresRing), to)
	t.AlignLoop()
	t.Label("keys")
	t.CMPQ(done, t.local(scoresCount))
	t.JGE(operand.LabelRef("last"))
	t.product("multiplied", scoresSums, scoresKeys, a, to)
	next := t.GP64()
	t.MOVQ(t.lda, next)
	t.SHLQ(operand.Imm(4), next)
	t.ADDQ(next, a)
	t.Label("last")
	t.nextSums(to, from, scoresRing)
	t.CMPQ(done, operand.Imm(sumsBehind))
	t.JL(operand.LabelRef("first"))
	t.eitherWay("sums", func(load bool) {
		for i := range emit.TileRows {
			t.score(emit.At(from, i*spec.LineBytes), load)
		}
	})
	t.Label("first")
	t.MOVQ(from, to)
	t.INCQ(done)
	t.CMPQ(done, t.local(scoresEnd))
	t.JNE(operand.LabelRef("keys"))
	t.Label("wholedone")
}

// lowKeys emits the scores of the keys that are left.
func (t *halvesScores) lowKeys(a reg.GPVirtual) {
	left, to := t.Num("m"), t.GP64()
	t.ANDQ(operand.Imm(emit.TileRows-1), left)
	t.JZ(operand.LabelRef("lowdone"))
	t.LEAQ(t.local(scoresRing), to)
	t.product("lowmultiplied", scoresLowSums, scoresLowKeys, a, to)
	t.eitherWay("low", func(load bool) {
		name := "lowrows"
		if load {
			name = "lowadded"
		}
		loop.Times(t, left, name, func() {
			t.score(emit.At(to, 0), load)
			t.ADDQ(t.line, to)
		})
	})
	t.Label("lowdone")
}

// eitherWay emits what there is without load and with it.
func (t *halvesScores) eitherWay(name string, scores func(load bool)) {
	t.CMPB(t.Argument("load"), operand.Imm(0))
	t.JNE(operand.LabelRef(name + "loaded"))
	scores(false)
	t.Goto(name + "scored")
	t.Label(name + "loaded")
	scores(true)
	t.Label(name + "scored")
}

// score emits the scores of a key, and goes on to the next.
func (t *halvesScores) score(sums operand.Mem, load bool) {
	factor, to := t.Vec(), emit.At(t.s, 0)
	x := factor
	t.VBROADCASTSS(emit.At(t.scale, 0), factor)
	if load {
		x = t.Vec()
		t.VMOVUPS(to, x)
		t.VFMADD231PS(sums, factor, x)
	} else {
		t.VMULPS(sums, factor, x)
	}
	t.VMOVUPS(x, to)
	t.VMAXPS(t.top, x, t.top)
	t.ADDQ(t.local(scoresRow), t.s)
	t.ADDQ(t.local(scoresLSC), t.scale)
}
