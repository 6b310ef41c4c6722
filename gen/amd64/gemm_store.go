package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The end of a segment: its sums are added to those before it, which are in C, and stored. The
// code is there once for all heights: it counts the rows down, and leaves after a tile's last one.
//
// What a tile jumps to depends on the mode. A single segment that is stored takes the shortest way.

// toStore emits the way of a register tile to there.
func (t *gemmer) toStore(s emit.Span) {
	t.g.CMPQ(t.mode, operand.Imm(storeOne))
	if s.Single() {
		t.g.MOVQ(operand.U32(s.Most), t.k)
		t.g.JE(operand.LabelRef("store"))
		t.g.MOVQ(t.k, t.height)
	} else {
		t.g.JE(operand.LabelRef("stores"))
	}
	t.g.JMP(operand.LabelRef("modes"))
}

// eachRow moves c over the rows of C, as many as k says, and calls f with the memory of each
// vector.
func (t *gemmer) eachRow(kind string, sums [][]reg.VecVirtual, f func(sum reg.VecVirtual, v int, c operand.Mem)) {
	for i, row := range sums {
		for v, sum := range row {
			f(sum, v, emit.At(t.c, v*t.g.VecBytes()))
		}
		if kind != "max" { // which leaves C to store
			t.g.ADDQ(t.ldc, t.c)
		}
		if i < len(sums)-1 {
			t.g.DECQ(t.k)
			t.g.JZ(operand.LabelRef(kind + "end"))
		}
	}
	t.g.Label(kind + "end")
}

// store emits the ends of all register tiles.
func (t *gemmer) store() {
	t.g.Comment("Store.")
	t.g.Label("store")
	t.eachRow("store", t.acc, func(sum reg.VecVirtual, v int, c operand.Mem) { t.g.VMOVUPS(sum, c) })
	t.g.CMPQ(t.mode, operand.Imm(storeOne))
	t.g.JE(operand.LabelRef("rows"))
	if t.segment == 0 {
		t.g.CMPQ(t.mode, operand.Imm(maxOne))
		t.g.JE(operand.LabelRef("rows"))
	}
	t.nextSegment()

	t.g.Comment("C is added.")
	t.g.Label("modes")
	t.g.MOVQ(t.c, t.start)
	if t.segment == 0 {
		t.g.CMPQ(t.mode, operand.Imm(merge))
		t.g.JE(operand.LabelRef("merge"))
		t.g.CMPQ(t.mode, operand.Imm(maxOne))
		t.g.JE(operand.LabelRef("max"))
	}
	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(operand.LabelRef("sums"))
	t.g.MOVQ(t.height, t.k)
	t.eachRow("add", t.acc, func(sum reg.VecVirtual, v int, c operand.Mem) { t.g.VADDPS(c, sum, sum) })
	t.g.MOVQ(t.start, t.c)
	t.g.Label("sums")
	if t.segment == 0 {
		t.g.CMPQ(t.mode, operand.Imm(maxMore))
		t.g.JNE(operand.LabelRef("stores"))
		t.g.CMPQ(t.left, operand.Imm(0))
		t.g.JNE(operand.LabelRef("stores"))
		t.raiseMax()
	}
	t.g.Label("stores")
	t.g.MOVQ(t.height, t.k)
	t.g.JMP(operand.LabelRef("store"))
	if t.segment == 0 {
		t.storeMerge()
	}
}

// raiseMax raises the maxima of scores, after the last segment: max = C > max ? C : max. VMAXPS
// returns its second source if one is NaN or both are zero, which here is the running maximum.
func (t *gemmer) raiseMax() {
	t.g.Comment("Maxima.")
	t.g.Label("max")
	max := t.g.Vecs(t.vectors)
	t.g.MOVQ(t.maxima, t.k)
	for v := range max {
		t.g.VMOVUPS(emit.At(t.k, v*t.g.VecBytes()), max[v])
	}
	t.g.MOVQ(t.height, t.k)
	t.eachRow("max", t.acc, func(sum reg.VecVirtual, v int, c operand.Mem) { t.g.VMAXPS(max[v], sum, max[v]) })
	t.g.MOVQ(t.maxima, t.k)
	for v := range max {
		t.g.VMOVUPS(max[v], emit.At(t.k, v*t.g.VecBytes()))
	}
}

// storeMerge leaves beta in memory, as AVX2 has no registers for it.
func (t *gemmer) storeMerge() {
	t.g.Comment("C = fma(sum, beta, C·alpha)")
	t.g.Label("merge")
	alpha, beta := t.g.Vecs(t.vectors), t.g.GP64()
	t.g.MOVQ(t.alphas, t.k)
	for v := range alpha {
		t.g.VMOVUPS(emit.At(t.k, v*t.g.VecBytes()), alpha[v])
	}
	t.g.MOVQ(t.betas, beta)
	t.g.MOVQ(t.height, t.k)
	t.eachRow("merge", t.acc, func(sum reg.VecVirtual, v int, c operand.Mem) {
		x := t.g.Vec()
		t.g.VMULPS(c, alpha[v], x)
		t.g.VFMADD231PS(emit.At(beta, v*t.g.VecBytes()), sum, x)
		t.g.VMOVUPS(x, c)
	})
	t.g.JMP(operand.LabelRef("rows"))
}

// nextSegment emits what follows a segment, unless it is the only one and C holds no sum.
func (t *gemmer) nextSegment() {
	t.g.CMPQ(t.left, operand.Imm(0))
	t.g.JNE(operand.LabelRef("next"))
	t.g.Comment("It was the last one: the next tile begins with the first one.")
	t.g.Move(t.rest, t.left)
	t.g.Move(t.begins, t.adds)
	t.g.JMP(operand.LabelRef("rows"))
	t.g.Label("next")
	t.g.MOVQ(t.start, t.c)
	t.g.MOVQ(operand.U32(1), t.adds)
	t.g.MOVQ(t.left, t.k)
	t.limit(t.k)
	t.g.SUBQ(t.k, t.left)
	t.toSegment()
}

// toSegment emits the way back to a segment of the tile.
func (t *gemmer) toSegment() {
	for _, s := range t.spans[:len(t.spans)-1] {
		t.g.CMPQ(t.height, operand.U32(s.Least))
		t.g.JGE(operand.LabelRef(tileLabel(s.Most) + "segment"))
	}
	t.g.JMP(operand.LabelRef(tileLabel(t.spans[len(t.spans)-1].Most) + "segment"))
}
