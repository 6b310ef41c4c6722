package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attn-go/attn/fallback"
)

// without tells whether a tier does without a kernel.
func (p *panelKernels) without(kernel string) bool {
	few := strings.HasPrefix(kernel, "fewScores") || strings.HasPrefix(kernel, "fewValues")
	return few && !strings.HasSuffix(kernel, "s") && p.fewScoresF16 == nil
}

// referenceNarrow adds the kernels for few rows of narrow types: those of float32 on
// what converters widen.
func referenceNarrow(f fewKernels) fewKernels {
	type widening = func(dst []float32, ldd int, src []uint16, lds, n, d int)
	scores := func(widen widening) func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
		return func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
			wide := make([]float32, m*d)
			widen(wide, d, k, ldk, m, d)
			f.fewScores(s, wide, d, q, n, m, d, max, nil, 0)
		}
	}
	values := func(widen widening) func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
		return func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
			wide := make([]float32, m*dv)
			widen(wide, dv, v, ldv, m, dv)
			f.fewValues(o, ldo, wide, dv, p, ldp, n, m, dv, load, nil, 0)
		}
	}
	f.fewScoresF16, f.fewValuesF16 = scores(fallback.WidenF16), values(fallback.WidenF16)
	f.fewScoresBF16, f.fewValuesBF16 = scores(fallback.WidenBF16), values(fallback.WidenBF16)
	f.fewScoresInt8 = func(s []float32, k []int8, ldk int, scales []float32, lsc, group int, q []float32, n, m, d int, max []float32, _ []int8, _ int) {
		wide := make([]float32, m*d)
		for j := range m {
			for x := range d {
				wide[j*d+x] = float32(float32(k[j*ldk+x]) * scales[x/group*lsc+j])
			}
		}
		f.fewScores(s, wide, d, q, n, m, d, max, nil, 0)
	}
	f.fewValuesInt8 = func(o []float32, ldo int, v []int8, ldv int, scales []float32, lsc, group int, p []float32, ldp, n, m, dv int, load bool, _ []int8, _ int) {
		wide := make([]float32, m*dv)
		fallback.WidenInt8(wide, dv, v, ldv, scales, lsc, group, m, dv)
		f.fewValues(o, ldo, wide, dv, p, ldp, n, m, dv, load, nil, 0)
	}
	return f
}

// A narrowRows is a matrix of a narrow type, with the scales of Int8.
type narrowRows struct {
	u16    []uint16
	i8     []int8
	scales []float32
}

// narrowMatrix returns rows of d elements, of numbers that the kind of values says, or,
// where it has NaN and Inf, of any bits. Of scales there are as many rows as asked for.
func (a *arena) narrowMatrix(r *rng, name string, t DType, v values, rows, d, ld, scaleRows, scaleCount, lsc int) (x narrowRows) {
	if t == Int8 {
		x.i8 = elementsOf[int8](a, name, rows, d, ld, 1)
		for i := range x.i8 {
			x.i8[i] = int8(r.next())
		}
		x.scales = a.matrix("the scales of "+name, scaleRows, scaleCount, lsc, nan32)
		v.fill(r, x.scales, scaleRows, scaleCount, lsc)
		return x
	}
	x.u16 = elementsOf[uint16](a, name, rows, d, ld, 2)
	for i := range x.u16 {
		switch y := v.next(r); {
		case v == nonfinite:
			x.u16[i] = uint16(r.next())
		case t == Float16:
			x.u16[i] = uint16(ToF16(y))
		default:
			x.u16[i] = uint16(ToBF16(y))
		}
	}
	return x
}

// groupsOf are numbers of elements that share a scale in a row of d.
func groupsOf(t DType, d, i int) int {
	if t != Int8 {
		return d
	}
	list := []int{d}
	for g := fewNarrow; g < d; g += fewNarrow {
		if d%g == 0 {
			list = append(list, g)
		}
	}
	return list[i%len(list)]
}

// A narrowScoresCase is a call of fewScores with keys of a type.
type narrowScoresCase struct {
	dtype               DType
	n, m, d, gap, group int
	values              values
}

func (c narrowScoresCase) String() string {
	return fmt.Sprintf("n=%d m=%d d=%d ldk=d+%d group=%d of %v", c.n, c.m, c.d, c.gap, c.group, c.values)
}

func narrowScoresCases(t DType) func(w int) []microCase {
	return func(w int) (list []microCase) {
		for _, n := range fewRowCounts(w) {
			for _, d := range []int{16, 32, 48, 64, 80, 128} {
				for _, m := range []int{16, 17, 23, 31, 32, 33, 47, 64} {
					i := len(list)
					list = append(list, narrowScoresCase{t, n, m, d, i % 2 * 3, groupsOf(t, d, i/2), kindOf(i)})
				}
			}
		}
		return list
	}
}

func (c narrowScoresCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ldk, lsc := c.d+c.gap, c.m+c.gap
	k := a.narrowMatrix(r, "k", c.dtype, c.values, c.m, c.d, ldk, c.d/c.group, c.m, lsc)
	q := a.matrix("q", c.d, w, w, nan32) // NaN stays in the idle lanes
	c.values.fill(r, q, c.d, c.n, w)
	s := a.matrix("s", c.m, w, w, nan32)
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) {
		switch c.dtype {
		case Float16:
			p.fewScoresF16(s, k.u16, ldk, q, c.n, c.m, c.d, top, k.u16, 16*ldk)
		case BFloat16:
			p.fewScoresBF16(s, k.u16, ldk, q, c.n, c.m, c.d, top, k.u16, 16*ldk)
		default:
			p.fewScoresInt8(s, k.i8, ldk, k.scales, lsc, c.group, q, c.n, c.m, c.d, top, k.i8, 16*ldk)
		}
	}
}

// A narrowValuesCase is a call of fewValues with values of a type.
type narrowValuesCase struct {
	dtype DType
	fewValuesCase
	group int
}

func (c narrowValuesCase) String() string {
	return fmt.Sprintf("%v group=%d", c.fewValuesCase, c.group)
}

func narrowValuesCases(t DType) func(w int) []microCase {
	return func(w int) (list []microCase) {
		for _, n := range fewRowCounts(w) {
			for _, dv := range []int{16, 32, 48, 64, 80, 128} {
				for _, m := range []int{0, 1, 2, 3, 15, 16, 17, 31, 32, 33} {
					i := len(list)
					c := fewValuesCase{n, m, dv, i % 2 * 3, i % 3 * 2, i%5 == 0, kindOf(i)}
					list = append(list, narrowValuesCase{t, c, groupsOf(t, dv, i/2)})
				}
			}
		}
		return list
	}
}

func (c narrowValuesCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	groups := c.dv / c.group
	ldv, ldo, lsc := c.dv+c.gapV, c.dv+c.gapO, groups+c.gapV
	v := a.narrowMatrix(r, "v", c.dtype, c.values, c.m, c.dv, ldv, c.m, groups, lsc)
	p, o := c.weights(a, r, w), c.output(a, r)
	return func(k *panelKernels) {
		switch c.dtype {
		case Float16:
			k.fewValuesF16(o, ldo, v.u16, ldv, p, w, c.n, c.m, c.dv, c.load, v.u16, 16*ldv)
		case BFloat16:
			k.fewValuesBF16(o, ldo, v.u16, ldv, p, w, c.n, c.m, c.dv, c.load, v.u16, 16*ldv)
		default:
			k.fewValuesInt8(o, ldo, v.i8, ldv, v.scales, lsc, c.group, p, w, c.n, c.m, c.dv, c.load, v.i8, 16*ldv)
		}
	}
}

// TestFewNarrowAll has all values of 16 bits, and all of 8 with many scales, widened in
// the kernels for few rows: as keys, a value in every row and column of a step in turn,
// and as values.
func TestFewNarrowAll(t *testing.T) {
	for _, dtype := range []DType{Float16, BFloat16, Int8} {
		kernel := map[DType]string{Float16: "F16", BFloat16: "BF16", Int8: "Int8"}[dtype]
		t.Run(kernel, func(t *testing.T) {
			const d, m = fewNarrow, 1 << 16
			r, k, v := rng(9), narrowRows{}, narrowRows{}
			k.u16, k.i8, k.scales = make([]uint16, m*d), make([]int8, m*d), make([]float32, m)
			v.u16, v.i8, v.scales = make([]uint16, m), make([]int8, m), make([]float32, m/256)
			for i := range m {
				v.u16[i], v.i8[i], v.scales[i/256] = uint16(i), int8(i), kindOf(i/256).next(&r)
				at := i*d + i%d
				k.u16[at], k.i8[at], k.scales[i] = v.u16[i], v.i8[i], v.scales[i/256]
			}
			eachPanel(t, func(t *testing.T, p *panelKernels) {
				if p.without("fewScores" + kernel) {
					return // as TestMain says
				}
				ref := reference(p.lanes)
				sameNumbers(t, "keys", k.scores(p, dtype, d), k.scores(ref, dtype, d))
				sameNumbers(t, "values", v.weighed(p, dtype), v.weighed(ref, dtype))
			})
		})
	}
}

// sameNumbers fails unless both hold the same bits, or NaN.
func sameNumbers(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, x := range want {
		if !sameBits(got[i], x) {
			t.Fatalf("%s: [%d] is %v, want %v", what, i, got[i], x)
		}
	}
}

// scores returns the products of all rows, d elements long with a scale each, and a query
// of ones.
func (k narrowRows) scores(p *panelKernels, dtype DType, d int) []float32 {
	w, m := p.lanes, len(k.scales)
	s, q, top := make([]float32, m*w), filled(d*w, 1), make([]float32, w)
	for j := 0; j < m; j += blockKeys {
		s, u16, i8 := s[j*w:], k.u16[j*d:], k.i8[j*d:]
		switch dtype {
		case Float16:
			p.fewScoresF16(s, u16, d, q, 1, blockKeys, d, top, u16, 0)
		case BFloat16:
			p.fewScoresBF16(s, u16, d, q, 1, blockKeys, d, top, u16, 0)
		default:
			p.fewScoresInt8(s, i8, d, k.scales[j:], blockKeys, d, q, 1, blockKeys, d, top, i8, 0)
		}
	}
	return s
}

// weighed returns all elements, of which 256 share a scale, times 1, in rows of 4096.
func (v narrowRows) weighed(p *panelKernels, dtype DType) []float32 {
	const dv, group = 4096, 256
	o, one := make([]float32, len(v.u16)), []float32{1}
	for at := 0; at < len(o); at += dv {
		o, u16, i8 := o[at:], v.u16[at:], v.i8[at:]
		switch dtype {
		case Float16:
			p.fewValuesF16(o, dv, u16, dv, one, 1, 1, 1, dv, false, u16, 0)
		case BFloat16:
			p.fewValuesBF16(o, dv, u16, dv, one, 1, 1, 1, dv, false, u16, 0)
		default:
			p.fewValuesInt8(o, dv, i8, dv, v.scales[at/group:], 0, group, one, 1, 1, 1, dv, false, i8, 0)
		}
	}
	return o
}

var narrowMutants = []mutant{
	{"fewScoresF16", "a subnormal is 0", func(p *panelKernels) {
		f := p.fewScoresF16
		p.fewScoresF16 = func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int) {
			flushed := make([]uint16, len(k))
			for i, x := range k {
				if flushed[i] = x; x&0x7c00 == 0 {
					flushed[i] = x & 0x8000
				}
			}
			f(s, flushed, ldk, q, n, m, d, max, next, far)
		}
	}},
	{"fewScoresInt8", "the scale comes after the sum", func(p *panelKernels) {
		f := p.fewScoresInt8
		p.fewScoresInt8 = func(s []float32, k []int8, ldk int, scales []float32, lsc, group int, q []float32, n, m, d int, max []float32, next []int8, far int) {
			if group < d {
				f(s, k, ldk, scales, lsc, group, q, n, m, d, max, next, far)
				return
			}
			f(s, k, ldk, filled(m, 1), 0, group, q, n, m, d, filled(len(max), inf32), next, far)
			for j := range m {
				for lane := range p.lanes {
					s[j*p.lanes+lane] *= scales[j]
				}
			}
			fallback.Mask(s, p.lanes, 0, m, make([]int32, p.lanes), filledInt32(p.lanes, int32(m)), max)
		}
	}},
	{"fewValuesInt8", "all of a row has the first scale", func(p *panelKernels) {
		f := p.fewValuesInt8
		p.fewValuesInt8 = func(o []float32, ldo int, v []int8, ldv int, scales []float32, lsc, group int, w []float32, ldp, n, m, dv int, load bool, next []int8, far int) {
			f(o, ldo, v, ldv, scales, lsc, dv, w, ldp, n, m, dv, load, next, far)
		}
	}},
	{"fewValuesBF16", "a half is rounded to 7 bits", func(p *panelKernels) {
		f := p.fewValuesBF16
		p.fewValuesBF16 = func(o []float32, ldo int, v []uint16, ldv int, w []float32, ldp, n, m, dv int, load bool, next []uint16, far int) {
			short := make([]uint16, len(v))
			for i, x := range v {
				short[i] = x &^ 1
			}
			f(o, ldo, short, ldv, w, ldp, n, m, dv, load, next, far)
		}
	}},
}
