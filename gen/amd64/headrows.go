package amd64

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// HeadScores are the scores of lanes that have keys of their own, one vector of lanes after the
// other. The keys of the lanes are transposed as Pack does with queries, 8 columns at a time, but
// each column is used at once:
//
//	k[off[lane]+x] ──► Transpose4 ──► a vector for each column x ──► acc += that · q[x]
//
// The chain of a key takes twice as long as its loads and shuffles. Two keys side by side hide that.
//
// These kernels are for calls so short that vectors of 8 lanes suffice: AVX-512 has none of its
// own, as the narrowest tile of its tier is that of AVX2.
func (g *gen) HeadScores() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.HeadScores)
	h := headScores{gen: g, off: g.Slice("off"), ldk: g.Stride("ldk"), row: g.SliceLen("max"), first: g.GP64()}
	h.s, h.k, h.keys, h.top = g.GP64(), g.Memory(g.Param("s").Cap()), g.Memory(g.Param("max").Cap()), g.Vec()
	g.SHLQ(operand.Imm(2), h.row)
	g.XORQ(h.first, h.first)
	g.Label("lanes")
	g.Move(g.Argument("m"), h.keys)
	g.MOVQ(g.Slice("k"), h.k)
	g.LEAQ(emit.Indexed(g.Slice("s"), h.first, 4), h.s)
	g.VMOVUPS(g.Constant(spec.MinusInf), h.top)
	g.SUBQ(operand.Imm(2), h.keys)
	g.JL(operand.LabelRef("fewer"))
	h.keysOf(2)
	g.Label("fewer")
	g.ADDQ(operand.Imm(2), h.keys)
	g.JZ(operand.LabelRef("next"))
	h.keysOf(1)
	g.Label("next")
	g.VMOVUPS(h.top, emit.Indexed(g.Slice("max"), h.first, 4))
	g.ADDQ(operand.U32(g.Lanes()), h.first)
	g.ADDQ(operand.U32(8*g.Lanes()), h.off)
	g.CMPQ(h.first, g.Memory(g.Param("max").Len()))
	g.JL(operand.LabelRef("lanes"))
	g.Return()
}

type headScores struct {
	*gen
	off, ldk, row, first reg.GPVirtual // row: of s and of q, in bytes; first: lane of the vector
	s                    reg.GPVirtual
	k, keys              operand.Mem // key, and how many are left after it
	top                  reg.VecVirtual
}

// keysOf emits n keys of a vector of lanes: all pairs, or the last one.
func (h *headScores) keysOf(n int) {
	name := fmt.Sprintf("keys%d", n)
	acc, src, q, left := h.Vecs(n), make([]reg.GPVirtual, n), h.GP64(), h.GP64()
	h.Commentf("%d keys of every lane.", n)
	h.Label(name)
	for i := range acc {
		h.Zero(h.Context, acc[i])
		src[i] = h.GP64()
		h.MOVQ(h.k, src[i])
		h.ADDQ(h.ldk, h.k)
	}
	h.LEAQ(emit.Indexed(h.Slice("q"), h.first, 4), q)
	h.MOVQ(h.Num("d"), left)
	h.AlignLoop()
	h.Label(name + "columns")
	for i := range acc {
		h.columns(src[i], q, acc[i])
	}
	h.LEAQ(emit.Indexed(q, h.row, 8), q)
	h.SUBQ(operand.Imm(8), left)
	h.JNZ(operand.LabelRef(name + "columns"))
	for _, x := range acc {
		h.VMOVUPS(x, emit.At(h.s, 0))
		h.ADDQ(h.row, h.s)
		h.VMAXPS(h.top, x, h.top)
	}
	if n > 1 {
		h.SUBQ(operand.Imm(uint64(n)), h.keys)
		h.JGE(operand.LabelRef(name))
	}
}

// columns emits 8 columns of a key.
func (h *headScores) columns(src, q reg.GPVirtual, acc reg.VecVirtual) {
	v := h.Vecs(8)
	packer{gen: h.gen, off: h.off}.loadEight(v, src)
	p := h.GP64()
	h.MOVQ(q, p)
	for x := 0; x < 8; x += 4 {
		for i, t := range h.Transpose4(v[x : x+4]) {
			h.VFMADD231PS(emit.At(p, 0), t, acc)
			if x+i < 7 {
				h.ADDQ(h.row, p)
			}
		}
	}
	h.ADDQ(operand.Imm(32), src)
}

// HeadValues are the rows of the output of lanes that have values of their own: columns of V are
// in the vectors, so that a row is normalised in registers and stored where it belongs. Three
// neighbouring lanes with the same values share their loads:
//
//	v[offV[lane]+j·ldv+e..] ──► acc[lane] += p[j][lane], a broadcast, · v ──► ·inv + 0 ──► dst[off[lane]+e..]
//
// 4 vectors of columns of 3 lanes make 12 accumulators, which with the 3 broadcasts and a vector
// of V are all registers of AVX2. The columns after those are taken a vector at a time, under a mask.
func (g *gen) HeadValues() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.HeadValues)
	h := &headValues{gen: g, inv: g.Frame(4 * maxLanes), ldv: g.Stride("ldv"), ldp: g.Stride("ldp")}
	h.lane, h.v, h.column, h.columns, h.nans = g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	h.inverses()
	g.XORQ(h.nans, h.nans)
	g.XORQ(h.lane, h.lane)
	g.Label("lanes")
	left := g.Num("n")
	g.SUBQ(h.lane, left)
	g.CMPQ(left, operand.Imm(headLanes))
	g.JL(operand.LabelRef("single"))
	off, first := g.Slice("offv"), g.GP64()
	g.LEAQ(emit.Indexed(off, h.lane, 8), off)
	g.MOVQ(emit.At(off, 0), first)
	for i := 1; i < headLanes; i++ {
		g.CMPQ(first, emit.At(off, 8*i))
		g.JNE(operand.LabelRef("single"))
	}
	h.rows(headLanes, "several")
	g.JMP(operand.LabelRef("next"))
	g.Label("single")
	h.rows(1, "one")
	g.Label("next")
	g.CMPQ(h.lane, g.Argument("n"))
	g.JL(operand.LabelRef("lanes"))
	g.Store(h.nans, g.ReturnIndex(0))
	g.Return()
}

const (
	headLanes   = 3  // lanes with the same values that are computed side by side
	headVectors = 4  // of their columns
	maxLanes    = 64 // ukernel.MaxLanes
)

type headValues struct {
	*gen
	inv      operand.Mem // 1/sum of every lane
	ldv, ldp reg.GPVirtual

	lane, nans         reg.GPVirtual
	v, column, columns reg.GPVirtual // v of the lane, column in bytes, columns left
}

// inverses emits 1/sum, or 0 for a sum of 0, of all lanes.
func (h *headValues) inverses() {
	sum, n, x := h.Slice("sum"), h.Num("n"), h.GP64()
	zero, one := h.Vec(), h.Vec()
	h.Zero(h.Context, zero)
	h.VMOVUPS(h.Constant(math.Float32bits(1)), one)
	h.XORQ(x, x)
	h.Comment("1/sum, 0 for a sum of 0.")
	h.Label("inverses")
	s, inv := h.Vec(), h.Vec()
	h.VMOVUPS(emit.Indexed(sum, x, 4), s)
	h.VDIVPS(s, one, inv)
	h.ZeroWhere(h.Context, inv, s, zero)
	h.VMOVUPS(inv, h.inverse(x, 0))
	h.ADDQ(operand.U32(h.Lanes()), x)
	h.CMPQ(x, n)
	h.JL(operand.LabelRef("inverses"))
}

// inverse is the place of 1/sum of a lane.
func (h *headValues) inverse(lane reg.GPVirtual, more int) operand.Mem {
	m := h.inv
	m.Index, m.Scale = lane, 4
	return m.Offset(4 * more)
}

// rows emits n lanes with the same values.
func (h *headValues) rows(n int, name string) {
	width := headVectors * h.Lanes()
	off := h.GP64()
	h.Commentf("%d lanes, %d vectors of columns at a time.", n, headVectors)
	h.MOVQ(h.Slice("offv"), off)
	h.MOVQ(emit.Indexed(off, h.lane, 8), off)
	h.LEAQ(emit.Indexed(h.Slice("v"), off, 4), h.v)
	h.XORQ(h.column, h.column)
	h.MOVQ(h.Num("dv"), h.columns)
	h.SUBQ(operand.U32(width), h.columns)
	h.JL(operand.LabelRef(name + "rest"))
	h.Label(name + "wide")
	h.tile(n, headVectors, name+"step", h.wholeVectors(), nil)
	h.ADDQ(operand.U32(4*width), h.column)
	h.SUBQ(operand.U32(width), h.columns)
	h.JGE(operand.LabelRef(name + "wide"))
	h.Label(name + "rest")
	h.ADDQ(operand.U32(width), h.columns)
	h.JZ(operand.LabelRef(name + "done"))
	h.Label(name + "vector")
	left, most, mask := h.GP64(), h.GP64(), h.Vec()
	h.MOVQ(h.columns, left)
	h.MOVQ(operand.U32(h.Lanes()), most)
	h.CMPQ(left, most)
	h.CMOVQGT(most, left)
	h.VMOVUPS(emit.At(h.Masks(left), 0), mask)
	masked := mover{
		load:  func(m operand.Mem, v reg.VecVirtual) { h.LoadWhere(h.Context, m, mask, v) },
		store: func(v reg.VecVirtual, m operand.Mem) { h.StoreWhere(h.Context, v, mask, m) },
	}
	h.tile(n, 1, name+"last", masked, mask)
	h.ADDQ(operand.U32(h.VecBytes()), h.column)
	h.SUBQ(operand.U32(h.Lanes()), h.columns)
	h.JG(operand.LabelRef(name + "vector"))
	h.Label(name + "done")
	h.ADDQ(operand.Imm(uint64(n)), h.lane)
}

// tile emits a number of vectors of the columns of n lanes.
func (h *headValues) tile(n, vectors int, name string, move mover, mask reg.Register) {
	acc := make([][]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = h.Vecs(vectors)
		for _, x := range acc[i] {
			h.Zero(h.Context, x)
		}
	}
	v, p, keys := h.GP64(), h.GP64(), h.GP64()
	h.LEAQ(emit.Indexed(h.v, h.column, 1), v)
	h.LEAQ(emit.Indexed(h.Slice("p"), h.lane, 4), p)
	h.MOVQ(h.Num("m"), keys)
	h.AlignLoop()
	h.Label(name)
	ps := h.Vecs(n)
	for i := range ps {
		h.VBROADCASTSS(emit.At(p, 4*i), ps[i])
	}
	for x := range vectors {
		value := h.Vec()
		move.load(emit.At(v, x*h.VecBytes()), value)
		for i := range acc {
			h.VFMADD231PS(value, ps[i], acc[i][x])
		}
	}
	h.ADDQ(h.ldv, v)
	h.ADDQ(h.ldp, p)
	h.DECQ(keys)
	h.JNZ(operand.LabelRef(name))
	zero := h.Vec()
	h.Zero(h.Context, zero)
	for i := range acc {
		h.finish(acc[i], i, fmt.Sprintf("%s%dfinite", name, i), zero, move, mask)
	}
}

// finish emits the end of the i-th lane's columns.
func (h *headValues) finish(row []reg.VecVirtual, i int, finite string, zero reg.VecVirtual, move mover, mask reg.Register) {
	inv, to := h.Vec(), h.GP64()
	h.VBROADCASTSS(h.inverse(h.lane, i), inv)
	h.MOVQ(h.Slice("off"), to)
	h.MOVQ(emit.Indexed(to, h.lane, 8).Offset(8*i), to)
	h.LEAQ(emit.Indexed(h.Slice("dst"), to, 4), to)
	h.ADDQ(h.column, to)
	set := h.NewSet(h.Context)
	for x, y := range row {
		h.VMULPS(inv, y, y)
		h.VADDPS(zero, y, y)
		if mask != nil { // 0·Inf beside the columns is no NaN of the row
			h.VANDPS(mask, y, y)
		}
		h.OrNaN(h.Context, set, y)
		move.store(y, emit.At(to, x*h.VecBytes()))
	}
	bits := h.GP64()
	h.SetBits(h.Context, set, bits)
	h.TESTQ(bits, bits)
	h.JZ(operand.LabelRef(finite))
	h.LEAQ(emit.At(h.lane, i), bits)
	h.BTSQ(bits, h.nans)
	h.Label(finite)
}
