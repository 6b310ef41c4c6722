package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The ends of all register tiles are one piece of code, as in amd64/gemm_store.go.

// An end has the registers of that code: what a tile loads before it jumps there, and scratch.
type end struct{ max, alpha, beta, scratch []a64.Vec }

func (t *gemmer) newEnd() (e end) {
	switch t.epilogue {
	case spec.StoreMax:
		e.max, e.scratch = t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors)
	case spec.StoreMerge:
		e.alpha, e.beta, e.scratch = t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors), t.Vecs(2)
	}
	return e
}

// vecs lists the registers, which are free until then.
func (e *end) vecs() []any { return []any{e.max, e.alpha, e.beta, e.scratch} }

// toStore emits the way of a register tile to there.
func (t *gemmer) toStore(rows int, e end) {
	switch t.epilogue {
	case spec.StoreMax:
		t.Load(t.Base("max"), t.x)
		t.loadRow(t.x, e.max)
	case spec.StoreMerge:
		t.Load(t.Base("alpha"), t.p)
		t.Load(t.Base("beta"), t.b)
		t.loadRow(t.p, e.alpha)
		t.loadRow(t.b, e.beta)
		t.Jump("B", storeLabel("store", rows))
		return
	}
	t.Load(t.more, t.x)
	t.Jump("CBZ", storeLabel("store", rows), t.x)
	t.Op("MOVD", rows, t.x)
	t.Op("MOVD", t.x, t.height)
	t.Op("MOVD", t.c, t.start)
	t.Load(t.adds, t.x)
	t.Jump("CBZ", storeLabel("store", rows), t.x)
	t.Jump("B", storeLabel("add", rows))
}

// loadRow loads vectors from p on.
func (t *gemmer) loadRow(p a64.GP, vecs []a64.Vec) {
	for v := range vecs {
		t.LoadFrom(a64.At(p, v*emit.VecBytes), vecs[v])
	}
}

func storeLabel(kind string, rows int) string { return fmt.Sprintf("%s%d", kind, rows) }

// store emits the ends of all register tiles.
func (t *gemmer) store(e end) {
	t.Commentf("%s", t.stored())
	t.eachRow("store", func(i, v int, c a64.Mem) { t.storeVector(e, i, v, c) })
	if t.epilogue == spec.StoreMerge {
		t.Jump("B", "rows")
		return
	}
	t.Label("stored")
	t.Load(t.more, t.x)
	t.Jump("CBNZ", "several", t.x)
	t.Label("end")
	if t.epilogue == spec.StoreMax {
		t.Load(t.Base("max"), t.x)
		for v := range e.max {
			t.StoreTo(e.max[v], a64.At(t.x, v*emit.VecBytes))
		}
	}
	t.Jump("B", "rows")
	t.Commentf("The same with C added.")
	sums, n := t.Vecs(min(4, t.FreeVecs())), 0
	t.eachRow("add", func(i, v int, c a64.Mem) {
		sum := sums[n%len(sums)]
		n++
		t.LoadFrom(c, sum)
		t.FADD(t.all[i][v], sum, t.all[i][v])
		t.storeVector(e, i, v, c)
	})
	t.Jump("B", "stored")
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
func (t *gemmer) eachRow(kind string, f func(i, v int, c a64.Mem)) {
	for i := range t.all {
		t.Label(storeLabel(kind, len(t.all)-i))
		for v := range t.all[i] {
			f(i, v, a64.At(t.c, v*emit.VecBytes))
		}
		t.Op("ADD", t.ldc, t.c, t.c)
	}
}

// storeVector emits the end of a vector of sums.
func (t *gemmer) storeVector(e end, i, v int, c a64.Mem) {
	sum := t.all[i][v]
	switch t.epilogue {
	case spec.StoreMerge:
		x := e.scratch[(i*t.shape.Vectors+v)%2]
		t.LoadFrom(c, x)
		t.FMUL(x, x, e.alpha[v])
		t.Op("VFMLA", e.beta[v].S4(), sum.S4(), x.S4())
		t.StoreTo(x, c)
	case spec.StoreMax:
		t.StoreTo(sum, c)
		t.Raise(e.max[v], sum, e.scratch[v])
	default:
		t.StoreTo(sum, c)
	}
}

// nextSegment emits what follows a segment, unless it is the only one and C holds no sum.
func (t *gemmer) nextSegment() {
	t.Label("several")
	t.Load(t.left, t.k)
	t.Jump("CBNZ", "next", t.k)
	t.Commentf("It was the last one: the next tile begins with the first one.")
	t.Load(t.rest, t.x)
	t.Op("MOVD", t.x, t.left)
	t.loadFlag(t.x)
	t.Op("MOVD", t.x, t.adds)
	t.Jump("B", "end")
	t.Label("next")
	t.Load(t.start, t.c)
	t.Op("MOVD", 1, t.x)
	t.Op("MOVD", t.x, t.adds)
	t.limit(t.k, t.x)
	t.Load(t.left, t.x)
	t.Op("SUB", t.k, t.x, t.x)
	t.Op("MOVD", t.x, t.left)
	t.Load(t.height, t.x)
	for h := len(t.all); h > 1; h-- {
		t.Op("CMP", h, t.x)
		t.Jump("BEQ", tileLabel(h)+"segment")
	}
	t.Jump("B", tileLabel(1)+"segment")
}
