package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The end of a segment: its sums are added to those before it, which are in C, and stored. The
// code is there once for all heights: a register tile jumps to the place in it that is for its
// first row.
//
//	tile of 3 rows ──► row 0                 tile of 1 row ──┐
//	                   row 1   ◄── tile of 2 rows            │
//	                   row 2   ◄─────────────────────────────┘
//
// It also computes the maxima, which are stored after the last segment only.

// toStore emits the way of a register tile to there. VMAXPS returns its second source if one is NaN
// or both are zero, which here is the running maximum.
func (t *gemmer) toStore(rows int) {
	switch t.epilogue {
	case spec.StoreMerge:
		t.g.MOVQ(t.g.Memory(t.g.Param("alpha").Base()), t.alpha)
		t.g.MOVQ(t.g.Memory(t.g.Param("beta").Base()), t.beta)
	case spec.StoreMax:
		t.g.MOVQ(t.g.Memory(t.g.Param("max").Base()), t.ldc) // which is free until below
		for v := range t.max {
			t.g.VMOVUPS(emit.At(t.ldc, v*t.g.VecBytes()), t.max[v])
		}
	}
	t.g.MOVQ(t.g.Argument("ldc"), t.ldc)
	t.g.SHLQ(operand.Imm(2), t.ldc)
	if t.epilogue == spec.StoreMerge {
		t.g.JMP(operand.LabelRef(storeLabel("store", rows)))
		return
	}
	t.g.CMPQ(t.more, operand.Imm(0))
	t.g.JE(operand.LabelRef(storeLabel("store", rows)))
	t.g.MOVQ(operand.U32(rows), t.height)
	t.g.MOVQ(t.c, t.start)
	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(operand.LabelRef(storeLabel("store", rows)))
	t.g.JMP(operand.LabelRef(storeLabel("add", rows)))
}

func storeLabel(kind string, rows int) string { return fmt.Sprintf("%s%d", kind, rows) }

// store emits the ends of all register tiles.
func (t *gemmer) store() {
	t.g.Comment(t.stored())
	t.eachRow("store", func(i, v int, c operand.Mem) { t.storeVector(t.acc[i][v], v, c) })
	if t.epilogue == spec.StoreMerge {
		t.g.JMP(operand.LabelRef("rows"))
		return
	}
	t.g.Label("stored")
	t.g.CMPQ(t.more, operand.Imm(0))
	t.g.JNE(operand.LabelRef("several"))
	t.g.Label("end")
	if t.epilogue == spec.StoreMax {
		p := t.g.Slice("max")
		for v := range t.max {
			t.g.VMOVUPS(t.max[v], emit.At(p, v*t.g.VecBytes()))
		}
	}
	t.g.JMP(operand.LabelRef("rows"))
	t.g.Comment("The same with C added.")
	t.eachRow("add", func(i, v int, c operand.Mem) {
		t.g.VADDPS(c, t.acc[i][v], t.acc[i][v])
		t.storeVector(t.acc[i][v], v, c)
	})
	t.g.JMP(operand.LabelRef("stored"))
	t.nextSegment()
}

// stored tells what store does with the sums.
func (t *gemmer) stored() string {
	switch t.epilogue {
	case spec.StoreMax:
		return "Store; max = C > max ? C : max."
	case spec.StoreMerge:
		return "C = fma(acc, beta, C·alpha)"
	}
	return "Store."
}

// eachRow moves c over the rows of C and calls f with the memory of each vector. It begins with a
// label for each height.
func (t *gemmer) eachRow(kind string, f func(i, v int, c operand.Mem)) {
	for i := range t.acc {
		t.g.Label(storeLabel(kind, len(t.acc)-i))
		for v := range t.vectors {
			f(i, v, emit.At(t.c, v*t.g.VecBytes()))
		}
		t.g.ADDQ(t.ldc, t.c)
	}
}

// storeVector emits the end of a vector of sums. StoreMerge leaves alpha and beta in memory, as
// AVX2 has no registers for them.
func (t *gemmer) storeVector(sum reg.VecVirtual, v int, c operand.Mem) {
	if t.epilogue == spec.StoreMerge {
		x := t.g.Vec()
		t.g.VMOVUPS(c, x)
		t.g.VMULPS(emit.At(t.alpha, v*t.g.VecBytes()), x, x)
		t.g.VFMADD231PS(emit.At(t.beta, v*t.g.VecBytes()), sum, x)
		t.g.VMOVUPS(x, c)
		return
	}
	t.g.VMOVUPS(sum, c)
	if t.epilogue == spec.StoreMax {
		t.g.VMAXPS(t.max[v], sum, t.max[v])
	}
}

// nextSegment emits what follows a segment, unless it is the only one and C holds no sum.
func (t *gemmer) nextSegment() {
	t.g.Label("several")
	t.g.CMPQ(t.left, operand.Imm(0))
	t.g.JNE(operand.LabelRef("next"))
	t.g.Comment("It was the last one: the next tile begins with the first one.")
	t.g.Move(t.rest, t.left)
	t.addsFirst()
	t.g.JMP(operand.LabelRef("end"))
	t.g.Label("next")
	t.g.MOVQ(t.start, t.c)
	t.g.MOVQ(operand.U32(1), t.adds)
	t.g.MOVQ(t.left, t.k)
	t.limit(t.k)
	t.g.SUBQ(t.k, t.left)
	for h := len(t.acc); h > 1; h-- {
		t.g.CMPQ(t.height, operand.U32(h))
		t.g.JE(operand.LabelRef(tileLabel(h) + "segment"))
	}
	t.g.JMP(operand.LabelRef(tileLabel(1) + "segment"))
}
