package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vnniDot multiplies by VPDPBUSD: four unsigned bytes, the weights, times four signed ones, and
// adds all products to a 32-bit lane. That is exact. Accumulators begin with what makes up for the
// offset. CPUs with AVX-512 that have no VNNI take the kernels of AVX2.
//
// A tile of 8 rows and 3 vectors has 24 accumulators. The other registers are for 3 vectors of
// weights, a number of x and a mask. Panels that are not whole are taken one vector at a time.
// AVX2's tiles are vexDot's.
//
// Package gen's TestVNNI runs these kernels by an interpreter, as few machines of those who change
// them have the instruction.
type vnniDot struct{}

func (vnniDot) tiles(ukernel.PackedFormat) [][]spec.TileShape {
	return [][]spec.TileShape{
		{{Vectors: 3, Rows: 8}, {Vectors: 3, Rows: 4}, {Vectors: 3, Rows: 3}, {Vectors: 3, Rows: 2}, {Vectors: 3, Rows: 1}},
		{{Vectors: 1, Rows: 8}, {Vectors: 1, Rows: 2}, {Vectors: 1, Rows: 1}},
	}
}

// A vexDot is vnniDot with the registers of AVX2, for CPUs that have AVX-VNNI: Intel's without
// AVX-512, since Alder Lake.
type vexDot struct{ vnniDot }

func (vexDot) tiles(q ukernel.PackedFormat) [][]spec.TileShape {
	if q.Values() != nil {
		return tilesOf(4, 2)
	}
	return tilesOf(6, 4, 3, 2)
}

func (vnniDot) frameBytes(ukernel.PackedFormat) int { return 0 }

func (vnniDot) manyRows(t *int8Gemmer) { t.clear() }

func (vnniDot) prepare(*int8Gemmer) {}

func (d vnniDot) sums(t *int8Gemmer, name string) {
	g := t.g
	x := t.tileRows(t.x, t.ldx)
	if t.looksUp {
		t.eachOfValues(name+"start", func(q ukernel.PackedFormat) {
			if q.BFloat16Scales() {
				t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
			} else {
				d.begin(t, q, x)
			}
		})
		d.sums4(t, x, name)
		return
	}
	g.CMPQ(t.which, operand.Imm(uint64(ukernel.S4)))
	g.JL(operand.LabelRef(name + "eight"))
	g.JG(operand.LabelRef(name + "minima"))
	d.begin(t, ukernel.S4, x)
	g.Goto(name + "four")
	g.Label(name + "minima")
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	g.Label(name + "four")
	d.sums4(t, x, name)
	g.Goto(name + "done")

	g.Label(name + "eight")
	d.begin(t, ukernel.S8, x)
	last := t.format
	t.format = ukernel.S8
	t.eachWord(name+"bytes", 8, func() {
		d.dot(t, x, 0, func(from operand.Mem, w reg.VecVirtual) { g.VMOVUPS(from, w) })
		x.advance(g, 4)
	})
	t.format = last
	g.Label(name + "done")
}

// begin sets accumulators to what makes up for the offset of a format.
func (vnniDot) begin(t *int8Gemmer, q ukernel.PackedFormat, x rowPointers) {
	t.clearOthers(t.acc)
	t.eachRow(func(i int) {
		row := t.acc[i]
		t.broadcastOffset(q, x, i, row[0])
		for _, v := range row[1:] {
			t.g.VMOVUPS(row[0], v)
		}
	})
}

// dot emits the products of a word, disp bytes from where x is.
func (vnniDot) dot(t *int8Gemmer, x rowPointers, disp int, part func(from operand.Mem, w reg.VecVirtual)) {
	t.eachProduct(part, func(i int) operand.Mem { return x.at(i, disp) }, func(number, w, acc reg.VecVirtual) { t.g.VPDPBUSD(number, w, acc) })
}

// sums4 takes a word in an iteration: its lower halves of bytes, then the upper ones.
func (d vnniDot) sums4(t *int8Gemmer, x rowPointers, name string) {
	g, mask, lookUp := t.g, t.mask(0x0f0f0f0f), t.valueOf(name)
	t.eachWord(name, 4, func() {
		for half, part := range []func(from operand.Mem, w reg.VecVirtual){mask.and, mask.andUpper} {
			d.dot(t, x, 16*half, func(from operand.Mem, w reg.VecVirtual) {
				part(from, w)
				lookUp(w)
			})
		}
		x.advance(g, 4)
	})
}
