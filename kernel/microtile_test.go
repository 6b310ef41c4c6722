package kernel

import "fmt"

// A tileKind is one way to use the three tile kernels.
type tileKind int

const (
	tileProduct   tileKind = iota // tile from +0
	tileContinued                 // tile from c
	tileTop                       // tileMax
	tileFolded                    // tileFold
)

// An operand is a way for A to lie in memory.
type operand int

const (
	rowsTight    operand = iota // one row after the other, as K
	rowsApart                   // at an odd distance
	columnsTight                // one column after the other, as V's rows are
	columnsApart                // at an odd distance
	scattered                   // no two elements side by side
	operands
)

func (o operand) String() string {
	return [...]string{"rows", "rows apart", "columns", "columns apart", "scattered"}[o]
}

// strides returns rs and cs for m × k elements.
func (o operand) strides(m, k int) (rs, cs int) {
	switch o {
	case rowsTight:
		return k, 1
	case rowsApart:
		return (k | 1) + 2, 1
	case columnsTight:
		return 1, m
	case columnsApart:
		return 1, (m | 1) + 2
	default:
		return 2*k + 1, 2
	}
}

// A tileCase is a call of a tile kernel.
type tileCase struct {
	kind       tileKind
	m, k       int
	a          operand
	gapB, gapC int // ldb, ldc - lanes
	values     values
}

func (c tileCase) String() string {
	rs, cs := c.a.strides(c.m, c.k)
	return fmt.Sprintf("m=%d k=%d load=%v A in %v (rs=%d cs=%d) ldb=lanes+%d ldc=lanes+%d of %v",
		c.m, c.k, c.kind == tileContinued, c.a, rs, cs, c.gapB, c.gapC, c.values)
}

// tileRows is twice the most rows that a tile may have, and one more.
const tileRows = 2*16 + 1

// tileCases returns a function that lists the cases of some kinds.
func tileCases(kinds ...tileKind) func(w int) []microCase {
	return func(int) (list []microCase) {
		for _, kind := range kinds {
			for a := range operands {
				for gaps := range 4 {
					for _, k := range []int{0, 1, 2, 3, 5, 16, 17} {
						for m := range tileRows + 1 {
							list = append(list, tileCase{kind, m, k, a, gaps & 1 * 5, gaps >> 1 * 3, kindOf(len(list))})
						}
					}
				}
			}
		}
		return list
	}
}

func (t tileCase) call(mem *arena, r *rng, w int) func(p *panelKernels) {
	m, k := t.m, t.k
	rs, cs := t.a.strides(m, k)
	ldb, ldc := w+t.gapB, w+t.gapC
	a := t.operand(mem, r, rs, cs)
	b := mem.matrix("b", k, w, ldb, nan32)
	t.values.fill(r, b, k, w, ldb)
	c := mem.matrix("c", m, w, ldc, canary)
	t.output(r, c, w, ldc)
	switch t.kind {
	case tileTop:
		top := mem.vector("max", w, 0)
		maxima(r, top, t.values)
		return func(p *panelKernels) { p.tileMax(c, ldc, a, rs, cs, b, ldb, m, k, top) }
	case tileFolded:
		alpha, beta := mem.vector("alpha", w, 0), mem.vector("beta", w, 0)
		t.factors().fill(r, alpha, 1, w, w)
		t.factors().fill(r, beta, 1, w, w)
		return func(p *panelKernels) { p.tileFold(c, ldc, a, rs, cs, b, ldb, m, k, alpha, beta) }
	}
	return func(p *panelKernels) { p.tile(c, ldc, a, rs, cs, b, ldb, m, k, t.kind == tileContinued) }
}

// operand makes A, with NaN between its elements.
func (t tileCase) operand(mem *arena, r *rng, rs, cs int) []float32 {
	n := 0
	if t.m > 0 && t.k > 0 {
		n = (t.m-1)*rs + (t.k-1)*cs + 1
	}
	a := mem.vector("a", n, nan32)
	for i := range t.m {
		for x := range t.k {
			a[i*rs+x*cs] = t.values.next(r)
		}
	}
	return a
}

// output sets what c holds before: NaN where it is not to be read.
func (t tileCase) output(r *rng, c []float32, w, ldc int) {
	v := t.values
	if v == tinies && t.kind == tileContinued && t.m%2 == 0 {
		v = zeros // so that the products' own bits stay
	}
	v.fill(r, c, t.m, w, ldc)
	if t.kind == tileContinued || t.kind == tileFolded {
		return
	}
	for i := range t.m {
		copy(c[i*ldc:i*ldc+w], filled(w, nan32))
	}
}

// factors are such that a tile of products near the subnormals stays there.
func (t tileCase) factors() values {
	if t.values == tinies {
		return mantissas
	}
	return t.values
}

// maxima sets maxima so far: often that of nothing, or a zero.
func maxima(r *rng, top []float32, v values) {
	for lane := range top {
		switch r.intn(4) {
		case 0:
			top[lane] = -inf32
		case 1:
			top[lane] = zeros.next(r)
		default:
			top[lane] = v.next(r)
		}
	}
}
