package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A gemmKind is one way to use the three products.
type gemmKind int

const (
	gemmFromZero gemmKind = iota // Gemm from +0
	gemmFromC                    // Gemm added to c
	gemmMax                      // GemmMax
	gemmMerge                    // GemmMerge
)

// An operand is a layout of A in memory.
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

// A gemmCase is a call of a product.
type gemmCase struct {
	kind       gemmKind
	m, k, seg  int
	a          operand
	gapB, gapC int // ldb, ldc - lanes
	values     testutil.Kind
}

func (c gemmCase) String() string {
	rs, cs := c.a.strides(c.m, c.k)
	return fmt.Sprintf("m=%d k=%d seg=%d load=%v A in %v (rs=%d cs=%d) ldb=lanes+%d ldc=lanes+%d of %v",
		c.m, c.k, c.seg, c.kind == gemmFromC, c.a, rs, cs, c.gapB, c.gapC, c.values)
}

// gemmRows is twice the largest number of rows of a register tile, plus one.
const gemmRows = 2*16 + 1

// gemmCases returns a function that lists the cases of some kinds.
func gemmCases(kinds ...gemmKind) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for _, kind := range kinds {
			for a := range operands {
				for gaps := range 4 {
					for _, k := range []int{0, 1, 2, 3, 5, 16, 17} {
						for m := range gemmRows + 1 {
							list = append(list, gemmCase{kind, m, k, segmentOf(len(list)), a, gaps & 1 * 5, gaps >> 1 * 3, testutil.KindOf(len(list))})
						}
					}
				}
			}
		}
		return list
	}
}

// segmentOf returns the length of segments for case i: whole products, and segments that
// unrolled loops divide or do not.
func segmentOf(i int) int { return [...]int{math.MaxInt, 1, 2, 7, 16}[i%5] }

func (t gemmCase) call(mem *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	m, k, seg := t.m, t.k, t.seg
	rs, cs := t.a.strides(m, k)
	ldb, ldc := w+t.gapB, w+t.gapC
	a := t.operand(mem, r, rs, cs)
	b := mem.Matrix("b", k, w, ldb, testutil.NaN)
	t.values.Fill(r, b, k, w, ldb)
	c := mem.Matrix("c", m, w, ldc, testutil.Canary)
	t.output(r, c, w, ldc)
	switch t.kind {
	case gemmMax:
		top := mem.Vector("max", w, 0)
		maxima(r, top, t.values)
		return func(p *kernelSet) { p.GemmMax(c, ldc, a, rs, cs, b, ldb, m, k, seg, top) }
	case gemmMerge:
		alpha, beta := mem.Vector("alpha", w, 0), mem.Vector("beta", w, 0)
		t.factors().Fill(r, alpha, 1, w, w)
		t.factors().Fill(r, beta, 1, w, w)
		return func(p *kernelSet) { p.GemmMerge(c, ldc, a, rs, cs, b, ldb, m, k, alpha, beta) }
	}
	return func(p *kernelSet) { p.Gemm(c, ldc, a, rs, cs, b, ldb, m, k, seg, t.kind == gemmFromC) }
}

// operand makes A, with NaN between its elements.
func (t gemmCase) operand(mem *testutil.Arena, r *testutil.Rand, rs, cs int) []float32 {
	n := 0
	if t.m > 0 && t.k > 0 {
		n = (t.m-1)*rs + (t.k-1)*cs + 1
	}
	a := mem.Vector("a", n, testutil.NaN)
	for i := range t.m {
		for x := range t.k {
			a[i*rs+x*cs] = t.values.Next(r)
		}
	}
	return a
}

// output sets the content of c before the call: NaN where it must not be read.
func (t gemmCase) output(r *testutil.Rand, c []float32, w, ldc int) {
	v := t.values
	if v == testutil.Tinies && t.kind == gemmFromC && t.m%2 == 0 {
		v = testutil.Zeros // so that the products' own bits stay
	}
	v.Fill(r, c, t.m, w, ldc)
	if t.kind == gemmFromC || t.kind == gemmMerge {
		return
	}
	for i := range t.m {
		copy(c[i*ldc:i*ldc+w], testutil.Filled(w, testutil.NaN))
	}
}

// factors returns a kind of alpha and beta that keeps products near the subnormals
// there.
func (t gemmCase) factors() testutil.Kind {
	if t.values == testutil.Tinies {
		return testutil.Mantissas
	}
	return t.values
}

// maxima sets running maxima: often the initial -Inf, or a zero.
func maxima(r *testutil.Rand, top []float32, v testutil.Kind) {
	for lane := range top {
		switch r.IntN(4) {
		case 0:
			top[lane] = -testutil.Inf
		case 1:
			top[lane] = testutil.Zeros.Next(r)
		default:
			top[lane] = v.Next(r)
		}
	}
}

// spoilGemm calls f after the kernel, with slices that start at the first lane of the last
// row.
func spoilGemm(f func(x *lastRow)) func(p *kernelSet) {
	return func(p *kernelSet) {
		tile := p.Gemm
		p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			x := &lastRow{cs: cs, ldb: ldb, k: k, seg: seg, load: load}
			if m > 0 && load {
				x.old = c[(m-1)*ldc]
			}
			tile(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
			if m > 0 && k > 0 {
				x.c, x.a, x.b = c[(m-1)*ldc:], a[(m-1)*rs:], b
				f(x)
			}
		}
	}
}

// lastRow is what spoilGemm passes to a mutant.
type lastRow struct {
	c, a, b []float32
	cs, ldb int
	k, seg  int
	load    bool
	old     float32 // what c held in the first lane before, if load is set
}

// chain continues the chain acc by the steps from lo to hi.
func (x *lastRow) chain(acc float32, lo, hi int) float32 {
	for i := lo; i < hi; i++ {
		acc = scalar.FMA(x.a[i*x.cs], x.b[i*x.ldb], acc)
	}
	return acc
}

// set sets the first lane to the result of a product.
func (x *lastRow) set(product float32) {
	x.c[0] = product
	if x.load {
		x.c[0] = x.old + product
	}
}

var gemmMutants = []mutant{
	{"Gemm", "the last product is rounded", spoilGemm(func(x *lastRow) {
		if last := x.k - 1; x.seg >= x.k {
			x.set(float32(x.a[last*x.cs]*x.b[last*x.ldb]) + x.chain(0, 0, last))
		}
	})},
	{"Gemm", "the chain is descending", spoilGemm(func(x *lastRow) {
		if x.seg >= x.k {
			var acc float32
			for i := x.k - 1; i >= 0; i-- {
				acc = x.chain(acc, i, i+1)
			}
			x.set(acc)
		}
	})},
	{"Gemm", "a segment continues the chain of the one before", spoilGemm(func(x *lastRow) {
		if !x.load {
			x.set(x.chain(0, 0, x.k))
		}
	})},
	{"Gemm", "a chain starts from c", spoilGemm(func(x *lastRow) {
		if x.load && x.seg >= x.k {
			x.c[0] = x.chain(x.old, 0, x.k)
		}
	})},
	{"Gemm", "segments are added in descending order", spoilGemm(func(x *lastRow) {
		if x.load || x.seg >= x.k {
			return
		}
		first := (x.k - 1) / x.seg * x.seg
		sum := x.chain(0, first, x.k)
		for lo := first - x.seg; lo >= 0; lo -= x.seg {
			sum += x.chain(0, lo, lo+x.seg)
		}
		x.set(sum)
	})},
	{"Gemm", "subnormal results are flushed", spoilGemm(func(x *lastRow) {
		if c := &x.c[0]; *c != 0 && math.Abs(float64(*c)) < 0x1p-126 {
			*c = 0
		}
	})},
	{"Gemm", "the sum starts from the product, not from +0", spoilGemm(func(x *lastRow) {
		if !x.load && x.k == 1 {
			x.c[0] = float32(x.a[0] * x.b[0])
		}
	})},
	{"Gemm", "one bit is wrong in one of the largest tiles", spoilGemm(func(x *lastRow) {
		if len(x.c) > 23 && x.k == 17 && x.load {
			x.c[23] = math.Float32frombits(math.Float32bits(x.c[23]) ^ 1)
		}
	})},
	{"Gemm", "a gap is written to", func(p *kernelSet) {
		tile := p.Gemm
		p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
			if m > 1 && ldc > p.Lanes {
				c[p.Lanes] = 0
			}
		}
	}},
	{"Gemm", "the memory behind is written to", func(p *kernelSet) {
		tile := p.Gemm
		p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
			if m > 0 {
				*testutil.Beside(c, len(c)) = 0
			}
		}
	}},
	{"Gemm", "an input is written to", func(p *kernelSet) {
		tile := p.Gemm
		p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
			if m > 0 && k > 0 {
				b[0] = 0
			}
		}
	}},
	{"GemmMax", "the maximum is the new one of two testutil.Zeros", func(p *kernelSet) {
		tileMax := p.GemmMax
		p.GemmMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, top []float32) {
			tileMax(c, ldc, a, rs, cs, b, ldb, m, k, seg, top)
			for i := range m {
				if top[0] == c[i*ldc] {
					top[0] = c[i*ldc]
				}
			}
		}
	}},
	{"GemmMax", "NaN counts", func(p *kernelSet) {
		tileMax := p.GemmMax
		p.GemmMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, top []float32) {
			tileMax(c, ldc, a, rs, cs, b, ldb, m, k, seg, top)
			for i := range m {
				if c[i*ldc] != c[i*ldc] {
					top[0] = testutil.NaN
				}
			}
		}
	}},
	{"GemmMerge", "the other product is rounded", func(p *kernelSet) {
		p.GemmMerge = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
			acc := make([]float32, m*p.Lanes)
			p.Gemm(acc, p.Lanes, a, rs, cs, b, ldb, m, k, max(k, 1), false)
			for i := range m {
				for lane := range p.Lanes {
					x := &c[i*ldc+lane]
					*x = scalar.FMA(*x, alpha[lane], float32(acc[i*p.Lanes+lane]*beta[lane]))
				}
			}
		}
	}},
}
