package neon

import (
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
)

// The ends of all register tiles are one piece of code, as in amd64/gemm_store.go.

// toStore emits the way of a register tile to there.
func (t *gemmer) toStore(s emit.Span) {
	t.Load(t.mode, t.x)
	if s.Single() {
		t.Op("MOVD", s.Most, t.k)
		t.Jump("CBZ", "store", t.x) // storeOne
		t.Op("MOVD", t.k, t.height)
	} else {
		t.Jump("CBZ", "stores", t.x)
	}
	t.Jump("B", "modes")
}

// eachRow moves c over the rows of C, as many as k says, and calls f with the memory of each
// vector.
func (t *gemmer) eachRow(kind string, f func(sum a64.Vec, v int, c a64.Mem)) {
	for i, row := range t.all {
		for v, sum := range row {
			f(sum, v, a64.At(t.c, v*emit.VecBytes))
		}
		if kind != "max" { // which leaves C to store
			t.Op("ADD", t.ldc, t.c, t.c)
		}
		if i < len(t.all)-1 {
			t.Op("SUBS", 1, t.k, t.k)
			t.Jump("BEQ", kind+"end")
		}
	}
	t.Label(kind + "end")
}

// store emits the ends of all register tiles.
func (t *gemmer) store() {
	t.Commentf("Store.")
	t.Label("store")
	t.eachRow("store", func(sum a64.Vec, v int, c a64.Mem) { t.StoreTo(sum, c) })
	t.Load(t.mode, t.x)
	t.Jump("CBZ", "rows", t.x) // storeOne
	if t.segment == 0 {
		t.Op("CMP", maxOne, t.x)
		t.Jump("BEQ", "rows")
	}
	t.nextSegment()

	t.Commentf("C is added.")
	t.Label("modes")
	t.Op("MOVD", t.c, t.start)
	if t.segment == 0 {
		t.Op("CMP", merge, t.x)
		t.Jump("BEQ", "merge")
		t.Op("CMP", maxOne, t.x)
		t.Jump("BEQ", "max")
	}
	t.Load(t.adds, t.x)
	t.Jump("CBZ", "sums", t.x)
	t.Load(t.height, t.k)
	t.Scope(t.add)
	t.Label("sums")
	if t.segment == 0 {
		t.Load(t.mode, t.x)
		t.Op("CMP", maxMore, t.x)
		t.Jump("BNE", "stores")
		t.Load(t.left, t.k)
		t.Jump("CBNZ", "stores", t.k)
		t.Scope(t.raiseMax)
	}
	if t.segment == 0 || slices.ContainsFunc(t.spans, func(s emit.Span) bool { return !s.Single() }) {
		t.Label("stores")
	}
	t.Load(t.height, t.k)
	t.Jump("B", "store")
	if t.segment == 0 {
		t.Scope(t.storeMerge)
	}
}

// add adds C to the sums.
func (t *gemmer) add() {
	scratch, n := t.Vecs(min(4, t.FreeVecs())), 0
	t.eachRow("add", func(sum a64.Vec, _ int, c a64.Mem) {
		x := scratch[n%len(scratch)]
		n++
		t.LoadFrom(c, x)
		t.FADD(sum, x, sum)
	})
	t.Load(t.start, t.c)
}

// raiseMax raises the maxima of scores, after the last segment: max = C > max ? C : max.
func (t *gemmer) raiseMax() {
	t.Commentf("Maxima.")
	t.Label("max")
	max, larger := t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors)
	t.Load(t.maxima, t.x)
	t.loadRow(t.x, max)
	t.Load(t.height, t.k)
	t.eachRow("max", func(sum a64.Vec, v int, _ a64.Mem) { t.Raise(max[v], sum, larger[v]) })
	t.Load(t.maxima, t.k)
	for v := range max {
		t.StoreTo(max[v], a64.At(t.k, v*emit.VecBytes))
	}
}

// storeMerge emits the end for weighted sums.
func (t *gemmer) storeMerge() {
	t.Commentf("C = fma(sum, beta, C·alpha)")
	t.Label("merge")
	alpha, beta, scratch, n := t.Vecs(t.shape.Vectors), t.Vecs(t.shape.Vectors), t.Vecs(2), 0
	t.Load(t.alphas, t.p)
	t.Load(t.betas, t.b)
	t.loadRow(t.p, alpha)
	t.loadRow(t.b, beta)
	t.Load(t.height, t.k)
	t.eachRow("merge", func(sum a64.Vec, v int, c a64.Mem) {
		x := scratch[n%2]
		n++
		t.LoadFrom(c, x)
		t.FMUL(x, x, alpha[v])
		t.Op("VFMLA", beta[v].S4(), sum.S4(), x.S4())
		t.StoreTo(x, c)
	})
	t.Jump("B", "rows")
}

// loadRow loads vectors from p on.
func (t *gemmer) loadRow(p a64.GP, vecs []a64.Vec) {
	for v := range vecs {
		t.LoadFrom(a64.At(p, v*emit.VecBytes), vecs[v])
	}
}

// nextSegment emits what follows a segment, unless it is the only one and C holds no sum.
func (t *gemmer) nextSegment() {
	t.Load(t.left, t.k)
	t.Jump("CBNZ", "next", t.k)
	t.Commentf("It was the last one: the next tile begins with the first one.")
	t.Load(t.rest, t.x)
	t.Op("MOVD", t.x, t.left)
	t.Load(t.begins, t.x)
	t.Op("MOVD", t.x, t.adds)
	t.Jump("B", "rows")
	t.Label("next")
	t.Load(t.start, t.c)
	t.Op("MOVD", 1, t.x)
	t.Op("MOVD", t.x, t.adds)
	t.limit(t.k, t.x)
	t.Load(t.left, t.x)
	t.Op("SUB", t.k, t.x, t.x)
	t.Op("MOVD", t.x, t.left)
	t.Load(t.height, t.x)
	for _, s := range t.spans[:len(t.spans)-1] {
		t.Op("CMP", s.Least, t.x)
		t.Jump("BGE", tileLabel(s.Most)+"segment")
	}
	t.Jump("B", tileLabel(t.spans[len(t.spans)-1].Most)+"segment")
}
