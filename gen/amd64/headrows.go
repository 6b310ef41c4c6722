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
// The chain of a key takes twice as long as its loads and shuffles. Two keys side by side hide
// that.
//
// It is for calls so short that vectors of 8 lanes suffice: AVX-512 has none of its own, as the
// narrowest tile of its tier is AVX2's.
func (g *gen) HeadScores() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.HeadScores)
	h := headScores{g: g, off: g.Slice("off"), ldk: g.Stride("ldk"), row: g.SliceLen("max"), first: g.GP64()}
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
	g                    *gen
	off, ldk, row, first reg.GPVirtual // row: of s and of q, in bytes; first: lane of the vector
	s                    reg.GPVirtual
	k, keys              operand.Mem // key, and how many are left after it
	top                  reg.VecVirtual
}

// keysOf emits n keys of a vector of lanes: all pairs, or the last one.
func (h *headScores) keysOf(n int) {
	name := fmt.Sprintf("keys%d", n)
	acc, src, q, left := h.g.Vecs(n), make([]reg.GPVirtual, n), h.g.GP64(), h.g.GP64()
	h.g.Commentf("%d keys of every lane.", n)
	h.g.Label(name)
	for i := range acc {
		h.g.Zero(h.g.Context, acc[i])
		src[i] = h.g.GP64()
		h.g.MOVQ(h.k, src[i])
		h.g.ADDQ(h.ldk, h.k)
	}
	h.g.LEAQ(emit.Indexed(h.g.Slice("q"), h.first, 4), q)
	h.g.MOVQ(h.g.Num("d"), left)
	h.g.AlignLoop()
	h.g.Label(name + "columns")
	for i := range acc {
		h.columns(src[i], q, acc[i])
	}
	h.g.LEAQ(emit.Indexed(q, h.row, 8), q)
	h.g.SUBQ(operand.Imm(8), left)
	h.g.JNZ(operand.LabelRef(name + "columns"))
	for _, x := range acc {
		h.g.VMOVUPS(x, emit.At(h.s, 0))
		h.g.ADDQ(h.row, h.s)
		h.g.VMAXPS(h.top, x, h.top)
	}
	if n > 1 {
		h.g.SUBQ(operand.Imm(uint64(n)), h.keys)
		h.g.JGE(operand.LabelRef(name))
	}
}

// columns emits 8 columns of a key.
func (h *headScores) columns(src, q reg.GPVirtual, acc reg.VecVirtual) {
	v := h.g.Vecs(8)
	packer{g: h.g, off: h.off}.loadEight(v, src)
	p := h.g.GP64()
	h.g.MOVQ(q, p)
	for x := 0; x < 8; x += 4 {
		for i, t := range h.g.Transpose4(v[x : x+4]) {
			h.g.VFMADD231PS(emit.At(p, 0), t, acc)
			if x+i < 7 {
				h.g.ADDQ(h.row, p)
			}
		}
	}
	h.g.ADDQ(operand.Imm(32), src)
}

// HeadValues are the rows of the output of lanes that have values of their own: columns of V are
// in the vectors, so that a row is normalised in registers and stored where it belongs. Three
// neighbouring lanes with the same values, four with AVX-512, share their loads:
//
//	v[offV[lane]+j·ldv+e..] ─► acc[lane] += broadcast(p[j][lane])·v ─► ·inv + 0 ─► dst[off[lane]+e..]
//
// 4 vectors of columns of 3 lanes make 12 accumulators, which with the 3 broadcasts and a vector of
// V are all registers of AVX2. With AVX-512, 16 accumulators take 8 loads for 16 FMAs, fewer than
// Gemm does, and no shuffles, of which Unpack takes two a vector. The columns after those are taken
// two vectors at a time, and then one, under a mask.
func (g *gen) HeadValues() {
	g.Kernel(spec.HeadValues)
	h := &headValues{g: g, inv: g.Frame(4 * maxLanes), ldv: g.Stride("ldv"), ldp: g.Stride("ldp")}
	h.lane, h.v, h.column, h.columns, h.nans = g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	h.lanes = 3
	if g.EVEX() {
		h.lanes = 4
	}
	h.inverses()
	g.XORQ(h.nans, h.nans)
	g.XORQ(h.lane, h.lane)
	g.Label("lanes")
	left := g.Num("n")
	g.SUBQ(h.lane, left)
	g.CMPQ(left, operand.Imm(uint64(h.lanes)))
	g.JL(operand.LabelRef("single"))
	off, first := g.Slice("offv"), g.GP64()
	g.LEAQ(emit.Indexed(off, h.lane, 8), off)
	g.MOVQ(emit.At(off, 0), first)
	for i := 1; i < h.lanes; i++ {
		g.CMPQ(first, emit.At(off, 8*i))
		g.JNE(operand.LabelRef("single"))
	}
	h.rows(h.lanes, "several")
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
	headVectors = 4  // of columns that are computed side by side
	maxLanes    = 64 // ukernel.MaxLanes
	leastLanes  = 8  // a tile may have no more, whatever the vectors
)

type headValues struct {
	g        *gen
	lanes    int         // with the same values that are computed side by side
	inv      operand.Mem // 1/sum of every lane
	ldv, ldp reg.GPVirtual

	lane, nans         reg.GPVirtual
	v, column, columns reg.GPVirtual // v of the lane, column in bytes, columns left
}

// inverses emits 1/sum, or 0 for a sum of 0, of all lanes.
func (h *headValues) inverses() {
	sum, n, x := h.g.Slice("sum"), h.g.Num("n"), h.g.GP64()
	zero, one := h.g.YMM(), h.g.YMM()
	h.g.Zero(h.g.Context, zero)
	h.g.VMOVUPS(h.g.Constant(math.Float32bits(1)), one)
	h.g.XORQ(x, x)
	h.g.Comment("1/sum, 0 for a sum of 0.")
	h.g.Label("inverses")
	s, inv := h.g.YMM(), h.g.YMM()
	h.g.VMOVUPS(emit.Indexed(sum, x, 4), s)
	h.g.VDIVPS(s, one, inv)
	h.g.ZeroWhere(h.g.Context, inv, s, zero)
	h.g.VMOVUPS(inv, h.inverse(x, 0))
	h.g.ADDQ(operand.U32(leastLanes), x)
	h.g.CMPQ(x, n)
	h.g.JL(operand.LabelRef("inverses"))
}

// inverse is the place of 1/sum of a lane.
func (h *headValues) inverse(lane reg.GPVirtual, more int) operand.Mem {
	m := h.inv
	m.Index, m.Scale = lane, 4
	return m.Offset(4 * more)
}

// rows emits n lanes with the same values.
func (h *headValues) rows(n int, name string) {
	off := h.g.GP64()
	h.g.Commentf("%d lanes, %d vectors of columns at a time.", n, headVectors)
	h.g.MOVQ(h.g.Slice("offv"), off)
	h.g.MOVQ(emit.Indexed(off, h.lane, 8), off)
	h.g.LEAQ(emit.Indexed(h.g.Slice("v"), off, 4), h.v)
	h.g.XORQ(h.column, h.column)
	h.g.MOVQ(h.g.Num("dv"), h.columns)
	for vectors := headVectors; vectors > 1; vectors /= 2 {
		h.whole(n, vectors, fmt.Sprintf("%s%d", name, vectors))
	}
	h.g.TESTQ(h.columns, h.columns)
	h.g.JZ(operand.LabelRef(name + "done"))
	h.g.Label(name + "vector")
	left, most, mask := h.g.GP64(), h.g.GP64(), h.g.Vec()
	h.g.MOVQ(h.columns, left)
	h.g.MOVQ(operand.U32(h.g.Lanes()), most)
	h.g.CMPQ(left, most)
	h.g.CMOVQGT(most, left)
	h.g.VMOVUPS(emit.At(h.g.Masks(left), 0), mask)
	masked := mover{
		load:  func(m operand.Mem, v reg.VecVirtual) { h.g.LoadWhere(h.g.Context, m, mask, v) },
		store: func(v reg.VecVirtual, m operand.Mem) { h.g.StoreWhere(h.g.Context, v, mask, m) },
	}
	h.tile(n, 1, name+"last", masked, mask)
	h.g.ADDQ(operand.U32(h.g.VecBytes()), h.column)
	h.g.SUBQ(operand.U32(h.g.Lanes()), h.columns)
	h.g.JG(operand.LabelRef(name + "vector"))
	h.g.Label(name + "done")
	h.g.ADDQ(operand.Imm(uint64(n)), h.lane)
}

// whole emits the loop over all groups of so many vectors. The largest leave at most a single other
// group.
func (h *headValues) whole(n, vectors int, name string) {
	width := vectors * h.g.Lanes()
	h.g.SUBQ(operand.U32(width), h.columns)
	h.g.JL(operand.LabelRef(name + "rest"))
	h.g.Label(name + "wide")
	h.tile(n, vectors, name+"step", h.g.wholeVectors(), nil)
	h.g.ADDQ(operand.U32(4*width), h.column)
	h.g.SUBQ(operand.U32(width), h.columns)
	if vectors == headVectors {
		h.g.JGE(operand.LabelRef(name + "wide"))
	}
	h.g.Label(name + "rest")
	h.g.ADDQ(operand.U32(width), h.columns)
}

// tile emits a number of vectors of the columns of n lanes.
func (h *headValues) tile(n, vectors int, name string, move mover, mask reg.Register) {
	acc := make([][]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = h.g.Vecs(vectors)
		for _, x := range acc[i] {
			h.g.Zero(h.g.Context, x)
		}
	}
	v, p, keys := h.g.GP64(), h.g.GP64(), h.g.GP64()
	h.g.LEAQ(emit.Indexed(h.v, h.column, 1), v)
	h.g.LEAQ(emit.Indexed(h.g.Slice("p"), h.lane, 4), p)
	h.g.MOVQ(h.g.Num("m"), keys)
	h.g.AlignLoop()
	h.g.Label(name)
	ps := h.g.Vecs(n)
	for i := range ps {
		h.g.VBROADCASTSS(emit.At(p, 4*i), ps[i])
	}
	for x := range vectors {
		value := h.g.Vec()
		move.load(emit.At(v, x*h.g.VecBytes()), value)
		for i := range acc {
			h.g.VFMADD231PS(value, ps[i], acc[i][x])
		}
	}
	h.g.ADDQ(h.ldv, v)
	h.g.ADDQ(h.ldp, p)
	h.g.DECQ(keys)
	h.g.JNZ(operand.LabelRef(name))
	zero := h.g.Vec()
	h.g.Zero(h.g.Context, zero)
	for i := range acc {
		h.finish(acc[i], i, fmt.Sprintf("%s%dfinite", name, i), zero, move, mask)
	}
}

// finish emits the end of the i-th lane's columns.
func (h *headValues) finish(row []reg.VecVirtual, i int, finite string, zero reg.VecVirtual, move mover, mask reg.Register) {
	inv, to := h.g.Vec(), h.g.GP64()
	h.g.VBROADCASTSS(h.inverse(h.lane, i), inv)
	h.g.MOVQ(h.g.Slice("off"), to)
	h.g.MOVQ(emit.Indexed(to, h.lane, 8).Offset(8*i), to)
	h.g.LEAQ(emit.Indexed(h.g.Slice("dst"), to, 4), to)
	h.g.ADDQ(h.column, to)
	var set reg.Register
	for x, y := range row {
		h.g.VMULPS(inv, y, y)
		h.g.VADDPS(zero, y, y)
		if mask != nil { // 0·Inf beside the columns is no NaN of the row
			h.g.VANDPS(mask, y, y)
		}
		switch first := row[x/2*2]; { // of two vectors, which take one comparison
		case x%2 == 0 && x+1 < len(row):
		case set == nil:
			set = h.g.NaN(h.g.Context, first, y)
		default:
			h.g.OrNaN(h.g.Context, set, first, y)
		}
		move.store(y, emit.At(to, x*h.g.VecBytes()))
	}
	bits := h.g.GP64()
	h.g.SetBits(h.g.Context, set, bits)
	h.g.TESTQ(bits, bits)
	h.g.JZ(operand.LabelRef(finite))
	h.g.LEAQ(emit.At(h.lane, i), bits)
	h.g.BTSQ(bits, h.nans)
	h.g.Label(finite)
}
