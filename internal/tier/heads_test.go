package tier

import (
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
)

// A headCase is a call of HeadScores or HeadValues: n rows of several heads, whose m keys or values
// of d elements lie anywhere.
type headCase struct {
	values         bool
	n, heads, m, d int
	gap            int // between rows
	kind           testutil.Kind
}

func (c headCase) String() string {
	return fmt.Sprintf("n=%d of %d heads m=%d d=%d ld=d+%d of %v", c.n, c.heads, c.m, c.d, c.gap, c.kind)
}

func headScoresCases(w int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for _, d := range []int{8, 16, 24, 40, 56, 64} {
			for _, m := range []int{1, 2, 3, 4, 7, 15} {
				i := len(list)
				list = append(list, headCase{n: n, heads: min(n, 1+i%5), m: m, d: d, gap: i % 2 * 3, kind: testutil.KindOf(i)})
			}
		}
	}
	return list
}

func headValuesCases(w int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for _, d := range upTo(9, 15, 16, 17, 31, 32, 33, 37, 63, 64, 65, 71, 128, 131)[1:] {
			for _, m := range []int{1, 2, 5, 16} {
				i := len(list)
				list = append(list, headCase{values: true, n: n, heads: min(n, 1+i%5), m: m, d: d, gap: i % 2 * 3, kind: testutil.KindOf(i)})
			}
		}
	}
	return list
}

// place makes rows for every head, in any order and with gaps between them, and sets off to the
// head of each lane, in runs. The lanes from n on repeat the one before.
func (c headCase) place(a *testutil.Arena, r *testutil.Rand, name string, off []int) []float32 {
	ld := c.d + c.gap
	starts := make([]int, c.heads)
	end := rowOffsets(r, starts, c.heads, (c.m-1)*ld+c.d)
	x := a.Vector(name, end, testutil.NaN)
	for _, at := range starts {
		c.kind.Fill(r, x[at:], c.m, c.d, ld)
	}
	for lane := range off {
		off[lane] = starts[min(lane, c.n-1)*c.heads/c.n]
	}
	return x
}

func (c headCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := c.d + c.gap
	if c.values {
		return c.callValues(a, r, w, ld)
	}
	off := testutil.Slice[int](a, "off", w)
	k := c.place(a, r, "k", off)
	q := a.Matrix("q", c.d, w, w, testutil.NaN) // NaN stays in the idle lanes
	c.kind.Fill(r, q, c.d, c.n, w)
	s := a.Matrix("s", c.m, w, w, testutil.NaN)
	top := a.Vector("max", w, testutil.NaN)
	return func(p *kernelSet) { p.HeadScores(s, k, off, ld, q, c.m, c.d, top) }
}

func (c headCase) callValues(a *testutil.Arena, r *testutil.Rand, w, ld int) func(p *kernelSet) {
	off, offV := testutil.Slice[int](a, "off", w), testutil.Slice[int](a, "offv", w)
	v := c.place(a, r, "v", offV)
	dst := a.Vector("dst", rowOffsets(r, off, c.n, c.d), testutil.Canary)
	weights := a.Matrix("p", c.m, w, w, testutil.NaN)
	c.kind.Fill(r, weights, c.m, c.n, w)
	sum := a.Vector("sum", w, testutil.NaN)
	for lane := range c.n {
		sum[lane] = unpackCase{}.sum(r)
	}
	nan := testutil.Slice[uint64](a, "the returned bits", 1)
	return func(p *kernelSet) {
		nan[0] = p.Skinny.HeadValues(dst, off, v, offV, ld, weights, w, c.n, c.m, c.d, sum)
	}
}

var headMutants = []mutant{
	{"HeadScores", "a lane has the keys of the first one", func(p *kernelSet) {
		scores := p.HeadScores
		p.HeadScores = func(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32) {
			was := off[len(off)-1]
			off[len(off)-1] = off[0]
			scores(s, k, off, ldk, q, m, d, max)
			off[len(off)-1] = was
		}
	}},
	{"HeadScores", "the maximum is that of all but the last key", func(p *kernelSet) {
		scores := p.HeadScores
		p.HeadScores = func(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32) {
			scores(s, k, off, ldk, q, m, d, max)
			if m > 1 {
				scores(s, k, off, ldk, q, m-1, d, max)
			}
		}
	}},
	{"Skinny.HeadValues", "a lane has the values of the first one", func(p *kernelSet) {
		values := p.Skinny.HeadValues
		p.Skinny.HeadValues = func(dst []float32, off []int, v []float32, offv []int, ldv int, w []float32, ldp, n, m, dv int, sum []float32) uint64 {
			was := offv[n-1]
			offv[n-1] = offv[0]
			defer func() { offv[n-1] = was }()
			return values(dst, off, v, offv, ldv, w, ldp, n, m, dv, sum)
		}
	}},
	{"Skinny.HeadValues", "-0 stays", func(p *kernelSet) {
		values := p.Skinny.HeadValues
		p.Skinny.HeadValues = func(dst []float32, off []int, v []float32, offv []int, ldv int, w []float32, ldp, n, m, dv int, sum []float32) uint64 {
			nan := values(dst, off, v, offv, ldv, w, ldp, n, m, dv, sum)
			if y := &dst[off[0]]; *y == 0 && w[0] != 0 {
				*y = -*y
			}
			return nan
		}
	}},
	{"Skinny.HeadValues", "NaN is not told", func(p *kernelSet) {
		values := p.Skinny.HeadValues
		p.Skinny.HeadValues = func(dst []float32, off []int, v []float32, offv []int, ldv int, w []float32, ldp, n, m, dv int, sum []float32) uint64 {
			return values(dst, off, v, offv, ldv, w, ldp, n, m, dv, sum) &^ 1
		}
	}},
	{"Skinny.HeadValues", "the gap behind a row is written to", func(p *kernelSet) {
		values := p.Skinny.HeadValues
		p.Skinny.HeadValues = func(dst []float32, off []int, v []float32, offv []int, ldv int, w []float32, ldp, n, m, dv int, sum []float32) uint64 {
			nan := values(dst, off, v, offv, ldv, w, ldp, n, m, dv, sum)
			if n == 2 && max(off[0], off[1]) > min(off[0], off[1])+dv {
				dst[min(off[0], off[1])+dv] = 0
			}
			return nan
		}
	}},
}
