package tier

import (
	"fmt"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// referenceSkinny returns the skinny kernels, straight from their definition.
func referenceSkinny(w int) ukernel.SkinnyKernels {
	return referenceNarrow(ukernel.SkinnyKernels{
		QK: func(s, k []float32, ldk int, q []float32, n, m, d int, max, _ []float32, _ int) {
			testutil.Gemm(n, s, w, k, ldk, 1, q, w, m, d, ukernel.ColumnSegment, false)
			for j := range m {
				for lane := n; lane < w; lane++ {
					s[j*w+lane] = s[j*w+min(lane, (n-1)|3, n-1)]
					if lane > (n-1)|3 {
						s[j*w+lane] = s[j*w+lane-4]
					}
				}
			}
			ref.MaskSpan(s, w, 0, m, make([]int32, w), filledInt32(w, int32(m)), max)
		},
		PV: func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []float32, _ int) {
			for i := range n {
				row := o[i*ldo:][:dv]
				if !load {
					clear(row)
				}
				for j := range m {
					testutil.FMA(row, p[j*ldp+i], v[j*ldv:])
				}
			}
		},
		Softmax: ref.Softmax, HeadValues: ref.Skinny.HeadValues, Additive: ref.Skinny.Additive,
		Merge: func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
			for x := range n * dv {
				i, e := x/dv, x%dv
				y := &o[i*ldo+e]
				*y = scalar.FMA(part[i*ldp+e], beta[i], float32(*y*alpha[i]))
			}
		},
		Unpack: func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
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

// skinnyRowCounts are numbers of rows for a query tile of w lanes.
func skinnyRowCounts(w int) (list []int) {
	for n := 1; n <= w; n++ {
		if n <= 9 || n >= w-4 || n == 16 || n == 17 {
			list = append(list, n)
		}
	}
	return list
}

// A skinnyQKCase is a call of QK.
type skinnyQKCase struct {
	n, m, d, gap int
	values       testutil.Kind
}

func (c skinnyQKCase) String() string {
	return fmt.Sprintf("n=%d m=%d d=%d ldk=d+%d of %v", c.n, c.m, c.d, c.gap, c.values)
}

func skinnyQKCases(w int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for _, d := range []int{8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 64, 65, 71, 72, 128, 133, 256, 261} {
			for _, m := range []int{16, 17, 23, 31, 32, 33, 47, 64} {
				i := len(list)
				list = append(list, skinnyQKCase{n, m, d, i % 2 * 3, testutil.KindOf(i)})
			}
		}
	}
	return list
}

func (c skinnyQKCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ldk := c.d + c.gap
	k := a.Matrix("k", c.m, c.d, ldk, testutil.NaN)
	c.values.Fill(r, k, c.m, c.d, ldk)
	q := a.Matrix("q", c.d, w, w, testutil.NaN) // NaN stays in the idle lanes
	c.values.Fill(r, q, c.d, c.n, w)
	s := a.Matrix("s", c.m, w, w, testutil.NaN)
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.Skinny.QK(s, k, ldk, q, c.n, c.m, c.d, top, k, 16*ldk) }
}

// A skinnyPVCase is a call of PV.
type skinnyPVCase struct {
	n, m, dv, gapV, gapO int
	load                 bool
	values               testutil.Kind
}

func (c skinnyPVCase) String() string {
	return fmt.Sprintf("n=%d m=%d dv=%d load=%v ldv=dv+%d ldo=dv+%d of %v", c.n, c.m, c.dv, c.load, c.gapV, c.gapO, c.values)
}

func skinnyPVCases(w int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for _, dv := range upTo(9, 15, 16, 17, 19, 20, 23, 31, 32, 33, 37, 64, 128)[1:] {
			for _, m := range []int{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 70} {
				i := len(list)
				list = append(list, skinnyPVCase{n, m, dv, i % 2 * 3, i % 3 * 2, i%5 == 0, testutil.KindOf(i)})
			}
		}
	}
	return list
}

func (c skinnyPVCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ldv, ldo := c.dv+c.gapV, c.dv+c.gapO
	v := a.Matrix("v", c.m, c.dv, ldv, testutil.NaN)
	c.values.Fill(r, v, c.m, c.dv, ldv)
	p, o := c.weights(a, r, w), c.output(a, r)
	return func(k *kernelSet) { k.Skinny.PV(o, ldo, v, ldv, p, w, c.n, c.m, c.dv, c.load, v, 16*ldv) }
}

// weights returns the weights of the rows, in the lanes of a tile.
func (c skinnyPVCase) weights(a *testutil.Arena, r *testutil.Rand, w int) []float32 {
	p := a.Matrix("p", c.m, w, w, testutil.NaN)
	c.values.Fill(r, p, c.m, c.n, w)
	return p
}

// output returns the memory of the result, with a sum to continue if load is set.
func (c skinnyPVCase) output(a *testutil.Arena, r *testutil.Rand) []float32 {
	ldo := c.dv + c.gapO
	o := a.Matrix("o", c.n, c.dv, ldo, testutil.Canary)
	for i := range c.n {
		row := o[i*ldo:][:c.dv]
		copy(row, testutil.Filled(c.dv, testutil.NaN))
		if c.load {
			c.values.Fill(r, row, 1, c.dv, c.dv)
		}
	}
	return o
}

// A skinnySoftmaxCase is a call of Softmax: the lanes after the first ones are a gap,
// and the last row ends before it.
type skinnySoftmaxCase struct{ softmaxCase }

func skinnySoftmaxCases(w int) (list []kernelCase) {
	for _, c := range softmaxCases(w) {
		list = append(list, skinnySoftmaxCase{c.(softmaxCase)})
	}
	return list
}

func (c skinnySoftmaxCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	c.gap += w - ukernel.SkinnyLanes
	s, top, sum := c.arguments(a, r, ukernel.SkinnyLanes)
	return func(p *kernelSet) {
		p.Skinny.Softmax(s, ukernel.SkinnyLanes+c.gap, c.n, top, sum)
		for i := range s {
			if i%(ukernel.SkinnyLanes+c.gap) >= ukernel.SkinnyLanes {
				s[i] = testutil.Canary // whatever it is
			}
		}
	}
}

// A skinnyRowsCase is a call of Merge or Unpack.
type skinnyRowsCase struct {
	n, dv, gap int
	values     testutil.Kind
}

func (c skinnyRowsCase) String() string {
	return fmt.Sprintf("n=%d dv=%d ldo=dv+%d of %v", c.n, c.dv, c.gap, c.values)
}

func skinnyRowsCases(w int, add func(c skinnyRowsCase)) {
	i := 0
	for _, n := range append(skinnyRowCounts(w), 0) {
		for _, dv := range rowLengths {
			add(skinnyRowsCase{n, dv, i % 3 * 2, testutil.KindOf(i)})
			i++
		}
	}
}

type skinnyMergeCase struct{ skinnyRowsCase }

func skinnyMergeCases(w int) (list []kernelCase) {
	skinnyRowsCases(w, func(c skinnyRowsCase) { list = append(list, skinnyMergeCase{c}) })
	return list
}

func (c skinnyMergeCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ldo, ldp := c.dv+c.gap, c.dv+2*c.gap
	o := a.Matrix("o", c.n, c.dv, ldo, testutil.Canary)
	c.values.Fill(r, o, c.n, c.dv, ldo)
	part := a.Matrix("part", c.n, c.dv, ldp, testutil.NaN)
	c.values.Fill(r, part, c.n, c.dv, ldp)
	alpha, beta := a.Vector("alpha", w, testutil.NaN), a.Vector("beta", w, testutil.NaN)
	c.values.Fill(r, alpha, 1, c.n, w)
	c.values.Fill(r, beta, 1, c.n, w)
	return func(p *kernelSet) { p.Skinny.Merge(o, ldo, part, ldp, c.n, c.dv, alpha, beta) }
}

type skinnyUnpackCase struct{ skinnyRowsCase }

func skinnyUnpackCases(w int) (list []kernelCase) {
	skinnyRowsCases(w, func(c skinnyRowsCase) { list = append(list, skinnyUnpackCase{c}) })
	return list
}

func (c skinnyUnpackCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	off := testutil.Slice[int](a, "off", w)
	clear(off)
	size := 0
	if c.n > 0 {
		size = rowOffsets(r, off, c.n, c.dv)
	}
	dst := a.Vector("dst", size, testutil.Canary)
	ldo := c.dv + c.gap
	o := a.Matrix("o", c.n, c.dv, ldo, testutil.NaN)
	c.values.Fill(r, o, c.n, c.dv, ldo)
	sum := a.Vector("sum", w, testutil.NaN)
	for i := range c.n {
		sum[i] = unpackCase{}.sum(r)
	}
	nan := testutil.Slice[uint64](a, "the returned bits", 1)
	return func(p *kernelSet) {
		nan[0] = p.Skinny.Unpack(dst, off, o, ldo, c.n, c.dv, sum)
	}
}

var skinnyMutants = []mutant{
	{"Skinny.QK", "the last columns are not fused", func(p *kernelSet) {
		f := p.Skinny.QK
		p.Skinny.QK = func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int) {
			f(s, k, ldk, q, n, m, d-1, max, next, far)
			for j := range m {
				s[j*p.Lanes] += float32(k[j*ldk+d-1] * q[(d-1)*p.Lanes])
			}
		}
	}},
	{"Skinny.QK", "the lanes behind 4 queries are not the 4 before", func(p *kernelSet) {
		f := p.Skinny.QK
		p.Skinny.QK = func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int) {
			f(s, k, ldk, q, n, m, d, max, next, far)
			if n == 4 {
				s[4] = s[3]
			}
		}
	}},
	{"Skinny.PV", "o counts although nothing is loaded", func(p *kernelSet) {
		f := p.Skinny.PV
		p.Skinny.PV = func(o []float32, ldo int, v []float32, ldv int, w []float32, ldp, n, m, dv int, load bool, next []float32, far int) {
			f(o, ldo, v, ldv, w, ldp, n, m, dv, load || m > 16, next, far)
		}
	}},
	{"Skinny.PV", "a turn of 16 keys is summed by itself", func(p *kernelSet) {
		f := p.Skinny.PV
		p.Skinny.PV = func(o []float32, ldo int, v []float32, ldv int, w []float32, ldp, n, m, dv int, load bool, next []float32, far int) {
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
	{"Skinny.Softmax", "the sum is of 4 rows at a time", func(p *kernelSet) {
		f := p.Skinny.Softmax
		p.Skinny.Softmax = func(s []float32, ld, n int, max, sum []float32) {
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
	{"Skinny.Softmax", "the last row is left out", func(p *kernelSet) {
		f := p.Skinny.Softmax
		p.Skinny.Softmax = func(s []float32, ld, n int, max, sum []float32) {
			if n%4 == 3 {
				n--
			}
			f(s, ld, n, max, sum)
		}
	}},
	{"Skinny.Softmax", "lane 2 has the maximum of lane 3", func(p *kernelSet) {
		f := p.Skinny.Softmax
		p.Skinny.Softmax = func(s []float32, ld, n int, max, sum []float32) {
			f(s, ld, n, []float32{max[0], max[1], max[3], max[3]}, sum)
		}
	}},
	{"Skinny.Softmax", "the idle lanes of the last row are written to", func(p *kernelSet) {
		f := p.Skinny.Softmax
		p.Skinny.Softmax = func(s []float32, ld, n int, max, sum []float32) {
			f(s, ld, n, max, sum)
			if n%4 == 0 && n > 0 {
				*testutil.Beside(s, len(s)) = 0
			}
		}
	}},
	{"Skinny.Merge", "the other product is rounded", func(p *kernelSet) {
		p.Skinny.Merge = func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
			for x := range n * dv {
				i, e := x/dv, x%dv
				o[i*ldo+e] = scalar.FMA(o[i*ldo+e], alpha[i], float32(part[i*ldp+e]*beta[i]))
			}
		}
	}},
	{"Skinny.Unpack", "a NaN is told of the row before", func(p *kernelSet) {
		f := p.Skinny.Unpack
		p.Skinny.Unpack = func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
			return f(dst, off, o, ldo, n, dv, sum) >> 1
		}
	}},
}
