package kernel

import (
	"fmt"

	"github.com/attn-go/attn/fallback"
)

// referenceFew returns the kernels for few rows, straight from their definition.
func referenceFew(w int) fewKernels {
	return referenceNarrow(fewKernels{
		fewScores: func(s, k []float32, ldk int, q []float32, n, m, d int, max, _ []float32, _ int) {
			for j := range m {
				fallback.TileW(1, s[j*w:], 1, q, 1, w, k[j*ldk:], 1, n, d, false)
				for lane := n; lane < w; lane++ {
					s[j*w+lane] = s[j*w+min(lane, (n-1)|3, n-1)]
					if lane > (n-1)|3 {
						s[j*w+lane] = s[j*w+lane-4]
					}
				}
			}
			fallback.Mask(s, w, 0, m, make([]int32, w), filledInt32(w, int32(m)), max)
		},
		fewValues: func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []float32, _ int) {
			fallback.TileW(dv, o, ldo, p, 1, ldp, v, ldv, n, m, load)
		},
		fewSoftmax: fallback.Softmax,
		fewFold: func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
			for x := range n * dv {
				i, e := x/dv, x%dv
				y := &o[i*ldo+e]
				*y = fallback.FMA(part[i*ldp+e], beta[i], float32(*y*alpha[i]))
			}
		},
		fewUnpack: func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
			var nans uint64
			for i := range n {
				inv := 1 / sum[i]
				if sum[i] == 0 {
					inv = 0
				}
				for e := range dv {
					y := float32(o[i*ldo+e]*inv) + 0
					dst[off[i]+e] = y
					if y != y {
						nans |= 1 << i
					}
				}
			}
			return nans
		},
	})
}

func filledInt32(n int, x int32) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// fewRowCounts are numbers of rows for a panel of w lanes.
func fewRowCounts(w int) (list []int) {
	for n := 1; n <= w; n++ {
		if n <= 9 || n >= w-4 || n == 16 || n == 17 {
			list = append(list, n)
		}
	}
	return list
}

// A fewScoresCase is a call of fewScores.
type fewScoresCase struct {
	n, m, d, gap int
	values       values
}

func (c fewScoresCase) String() string {
	return fmt.Sprintf("n=%d m=%d d=%d ldk=d+%d of %v", c.n, c.m, c.d, c.gap, c.values)
}

func fewScoresCases(w int) (list []microCase) {
	for _, n := range fewRowCounts(w) {
		for _, d := range []int{8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 64, 67} {
			for _, m := range []int{16, 17, 23, 31, 32, 33, 47, 64} {
				i := len(list)
				list = append(list, fewScoresCase{n, m, d, i % 2 * 3, kindOf(i)})
			}
		}
	}
	return list
}

func (c fewScoresCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ldk := c.d + c.gap
	k := a.matrix("k", c.m, c.d, ldk, nan32)
	c.values.fill(r, k, c.m, c.d, ldk)
	q := a.matrix("q", c.d, w, w, nan32) // NaN stays in the idle lanes
	c.values.fill(r, q, c.d, c.n, w)
	s := a.matrix("s", c.m, w, w, nan32)
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.fewScores(s, k, ldk, q, c.n, c.m, c.d, top, k, 16*ldk) }
}

// A fewValuesCase is a call of fewValues.
type fewValuesCase struct {
	n, m, dv, gapV, gapO int
	load                 bool
	values               values
}

func (c fewValuesCase) String() string {
	return fmt.Sprintf("n=%d m=%d dv=%d load=%v ldv=dv+%d ldo=dv+%d of %v", c.n, c.m, c.dv, c.load, c.gapV, c.gapO, c.values)
}

func fewValuesCases(w int) (list []microCase) {
	for _, n := range fewRowCounts(w) {
		for _, dv := range upTo(9, 15, 16, 17, 19, 20, 23, 31, 32, 33, 37, 64, 128)[1:] {
			for _, m := range []int{0, 1, 2, 3, 15, 16, 17, 31, 32, 33} {
				i := len(list)
				list = append(list, fewValuesCase{n, m, dv, i % 2 * 3, i % 3 * 2, i%5 == 0, kindOf(i)})
			}
		}
	}
	return list
}

func (c fewValuesCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ldv, ldo := c.dv+c.gapV, c.dv+c.gapO
	v := a.matrix("v", c.m, c.dv, ldv, nan32)
	c.values.fill(r, v, c.m, c.dv, ldv)
	p, o := c.weights(a, r, w), c.output(a, r)
	return func(k *panelKernels) { k.fewValues(o, ldo, v, ldv, p, w, c.n, c.m, c.dv, c.load, v, 16*ldv) }
}

// weights returns those of the rows, in a panel.
func (c fewValuesCase) weights(a *arena, r *rng, w int) []float32 {
	p := a.matrix("p", c.m, w, w, nan32)
	c.values.fill(r, p, c.m, c.n, w)
	return p
}

// output returns what the call writes to, or adds to.
func (c fewValuesCase) output(a *arena, r *rng) []float32 {
	ldo := c.dv + c.gapO
	o := a.matrix("o", c.n, c.dv, ldo, canary)
	for i := range c.n {
		row := o[i*ldo:][:c.dv]
		fill(row, nan32)
		if c.load {
			c.values.fill(r, row, 1, c.dv, c.dv)
		}
	}
	return o
}

// A fewSoftmaxCase is a call of fewSoftmax: the lanes behind the first ones are a gap, which
// the last row ends without.
type fewSoftmaxCase struct{ softmaxCase }

func fewSoftmaxCases(w int) (list []microCase) {
	for _, c := range softmaxCases(w) {
		list = append(list, fewSoftmaxCase{c.(softmaxCase)})
	}
	return list
}

func (c fewSoftmaxCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	c.gap += w - fewLanes
	s, top, sum := c.arguments(a, r, fewLanes)
	return func(p *panelKernels) {
		p.fewSoftmax(s, fewLanes+c.gap, c.n, top, sum)
		for i := range s {
			if i%(fewLanes+c.gap) >= fewLanes {
				s[i] = canary // whatever it is
			}
		}
	}
}

// A fewRowsCase is a call of fewFold or fewUnpack.
type fewRowsCase struct {
	n, dv, gap int
	values     values
}

func (c fewRowsCase) String() string {
	return fmt.Sprintf("n=%d dv=%d ldo=dv+%d of %v", c.n, c.dv, c.gap, c.values)
}

func fewRowsCases(w int, add func(c fewRowsCase)) {
	i := 0
	for _, n := range append(fewRowCounts(w), 0) {
		for _, dv := range rowLengths {
			add(fewRowsCase{n, dv, i % 3 * 2, kindOf(i)})
			i++
		}
	}
}

type fewFoldCase struct{ fewRowsCase }

func fewFoldCases(w int) (list []microCase) {
	fewRowsCases(w, func(c fewRowsCase) { list = append(list, fewFoldCase{c}) })
	return list
}

func (c fewFoldCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ldo, ldp := c.dv+c.gap, c.dv+2*c.gap
	o := a.matrix("o", c.n, c.dv, ldo, canary)
	c.values.fill(r, o, c.n, c.dv, ldo)
	part := a.matrix("part", c.n, c.dv, ldp, nan32)
	c.values.fill(r, part, c.n, c.dv, ldp)
	alpha, beta := a.vector("alpha", w, nan32), a.vector("beta", w, nan32)
	c.values.fill(r, alpha, 1, c.n, w)
	c.values.fill(r, beta, 1, c.n, w)
	return func(p *panelKernels) { p.fewFold(o, ldo, part, ldp, c.n, c.dv, alpha, beta) }
}

type fewUnpackCase struct{ fewRowsCase }

func fewUnpackCases(w int) (list []microCase) {
	fewRowsCases(w, func(c fewRowsCase) { list = append(list, fewUnpackCase{c}) })
	return list
}

func (c fewUnpackCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	off := a.ints("off", w)
	clear(off)
	size := 0
	if c.n > 0 {
		size = rowOffsets(r, off, c.n, c.dv)
	}
	dst := a.vector("dst", size, canary)
	ldo := c.dv + c.gap
	o := a.matrix("o", c.n, c.dv, ldo, nan32)
	c.values.fill(r, o, c.n, c.dv, ldo)
	sum := a.vector("sum", w, nan32)
	for i := range c.n {
		sum[i] = unpackCase{}.sum(r)
	}
	nan := a.int32s("the returned bits", 2)
	return func(p *panelKernels) {
		bits := p.fewUnpack(dst, off, o, ldo, c.n, c.dv, sum)
		nan[0], nan[1] = int32(bits), int32(bits>>32)
	}
}

var fewMutants = []mutant{
	{"fewScores", "the last columns are not fused", func(p *panelKernels) {
		f := p.fewScores
		p.fewScores = func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int) {
			f(s, k, ldk, q, n, m, d-1, max, next, far)
			for j := range m {
				s[j*p.lanes] += float32(k[j*ldk+d-1] * q[(d-1)*p.lanes])
			}
		}
	}},
	{"fewScores", "the lanes behind 4 queries are not the 4 before", func(p *panelKernels) {
		f := p.fewScores
		p.fewScores = func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int) {
			f(s, k, ldk, q, n, m, d, max, next, far)
			if n == 4 {
				s[4] = s[3]
			}
		}
	}},
	{"fewValues", "o counts although nothing is loaded", func(p *panelKernels) {
		f := p.fewValues
		p.fewValues = func(o []float32, ldo int, v []float32, ldv int, w []float32, ldp, n, m, dv int, load bool, next []float32, far int) {
			f(o, ldo, v, ldv, w, ldp, n, m, dv, load || m > 16, next, far)
		}
	}},
	{"fewValues", "a turn of 16 keys is summed by itself", func(p *panelKernels) {
		f := p.fewValues
		p.fewValues = func(o []float32, ldo int, v []float32, ldv int, w []float32, ldp, n, m, dv int, load bool, next []float32, far int) {
			if m <= 16 {
				f(o, ldo, v, ldv, w, ldp, n, m, dv, load, next, far)
				return
			}
			f(o, ldo, v, ldv, w, ldp, n, 16, dv, load, next, far)
			rest := make([]float32, n*dv)
			f(rest, dv, v[16*ldv:], ldv, w[16*ldp:], ldp, n, m-16, dv, false, next, far)
			for i := range n * dv {
				o[i/dv*ldo+i%dv] += rest[i]
			}
		}
	}},
	{"fewSoftmax", "the sum is of 4 rows at a time", func(p *panelKernels) {
		f := p.fewSoftmax
		p.fewSoftmax = func(s []float32, ld, n int, max, sum []float32) {
			f(s, ld, n, max, sum)
			if n < 8 {
				return
			}
			sum[0] = 0
			for j := 0; j < n; j += 4 {
				var part float32
				for i := j; i < min(j+4, n); i++ {
					part += s[i*ld]
				}
				sum[0] += part
			}
		}
	}},
	{"fewSoftmax", "the last row is left out", func(p *panelKernels) {
		f := p.fewSoftmax
		p.fewSoftmax = func(s []float32, ld, n int, max, sum []float32) {
			if n%4 == 3 {
				n--
			}
			f(s, ld, n, max, sum)
		}
	}},
	{"fewSoftmax", "lane 2 has the maximum of lane 3", func(p *panelKernels) {
		f := p.fewSoftmax
		p.fewSoftmax = func(s []float32, ld, n int, max, sum []float32) {
			f(s, ld, n, []float32{max[0], max[1], max[3], max[3]}, sum)
		}
	}},
	{"fewSoftmax", "the idle lanes of the last row are written to", func(p *panelKernels) {
		f := p.fewSoftmax
		p.fewSoftmax = func(s []float32, ld, n int, max, sum []float32) {
			f(s, ld, n, max, sum)
			if n%4 == 0 && n > 0 {
				*beside(s, len(s)) = 0
			}
		}
	}},
	{"fewFold", "the other product is rounded", func(p *panelKernels) {
		p.fewFold = func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
			for x := range n * dv {
				i, e := x/dv, x%dv
				o[i*ldo+e] = fallback.FMA(o[i*ldo+e], alpha[i], float32(part[i*ldp+e]*beta[i]))
			}
		}
	}},
	{"fewUnpack", "a NaN is told of the row before", func(p *panelKernels) {
		f := p.fewUnpack
		p.fewUnpack = func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
			return f(dst, off, o, ldo, n, dv, sum) >> 1
		}
	}},
}
