package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// referenceCodes adds the kernels for integers, straight from their definitions.
func referenceCodes(f ukernel.SkinnyKernels) ukernel.SkinnyKernels {
	f.QKCodes, f.Pairs, f.PVCodes = keyCodes, integerPairs, valueCodes
	f.QKCodes4, f.GroupPairs, f.PVCodes4 = keyCodes4, groupPairs, valueCodes4
	return f
}

// referenceTiles adds those for tiles.
func referenceTiles(f ukernel.LaneKernels) ukernel.LaneKernels {
	f.CodeScores, f.CodeValues, f.CodeMerge = codeScores, codeValues, codeMerge
	return f
}

// dot is the sum of the products of n pairs of integers, which lie so far apart.
func dot(a, b []int32, lda, ldb, n int) (sum float32) {
	total := int32(0)
	for i := range n {
		x, y := a[i*lda], b[i*ldb]
		total += int32(int16(x))*int32(int16(y)) + x>>16*(y>>16)
	}
	return float32(total)
}

func codeScores(a ukernel.CodeScoresArgs) {
	w := len(a.Max)
	for j := range a.M {
		for lane := range w {
			s := float32(float32(dot(a.K[j*a.D/2:], a.Q[lane:], 1, w, a.D/2)*a.Unit[lane]) * a.Scales[j*a.Lsc])
			if a.S[j*w+lane] = s; s > a.Max[lane] {
				a.Max[lane] = s
			}
		}
	}
}

func codeValues(a ukernel.CodeValuesArgs) {
	w := len(a.Unit)
	for e := range a.Dv {
		for lane, u := range a.Unit {
			x, o := dot(a.V[e:], a.P[lane:], a.Dv, w, a.Pairs), &a.O[e*w+lane]
			if !a.Load {
				*o = 0
			}
			*o = scalar.FMA(x, u, *o)
		}
	}
}

func codeMerge(o, part []float32, n int, alpha, beta []float32) {
	for i := range n * len(alpha) {
		lane := i % len(alpha)
		o[i] = scalar.FMA(part[i], beta[lane], float32(o[i]*alpha[lane]))
	}
}

// int4Of returns column x of a row of integers of 4 bits.
func int4Of(row []int8, x int) int8 {
	if x%2 == 0 {
		return row[x/2] << 4 >> 4
	}
	return row[x/2] >> 4
}

func keyCodes(a ukernel.QKCodesArgs) {
	scoresOfCodes(a, true, func(row []int8, x int) int8 { return row[x] }, func(x int) (row, half int) { return x/4*2 + x%2, x / 2 % 2 })
}

func keyCodes4(a ukernel.QKCodesArgs) {
	scoresOfCodes(a, false, int4Of, func(x int) (row, half int) { return x/8*4 + x%4, x / 4 % 2 })
}

// scoresOfCodes is QKCodes with columns of keys as code has them, and with columns of queries at
// places in rows of pairs. The columns of one query may be in order.
func scoresOfCodes(a ukernel.QKCodesArgs, inOrder bool, code func(row []int8, x int) int8, place func(x int) (row, half int)) {
	w := len(a.Max)
	for j := range a.Off {
		for lane := range (a.N + 3) / 4 * 4 {
			from, s := min(lane, a.N-1), float32(0)
			for g := 0; g < a.D; g += a.Group {
				sum, scale := 0, a.Scales[g/a.Group*a.Lsc+j]
				for x := g; x < g+a.Group; x++ {
					row, half := place(x)
					at := row*w + from
					if a.N == 1 && inOrder {
						at, half = x/2, x%2
					}
					sum += int(int16(a.Q[at]>>(half*16))) * int(code(a.K[a.Off[j]:], x))
				}
				if y := float32(float32(sum) * a.Unit[from]); g == 0 {
					s = float32(y * scale)
				} else {
					s = scalar.FMA(y, scale, s)
				}
			}
			if a.S[j*w+lane] = s; s > a.Max[lane] {
				a.Max[lane] = s
			}
		}
	}
}

func integerPairs(pairs []int32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	w, rounded := len(unit), make([]float32, n*ld)
	ref.Round(rounded, s, ld, n, scales, lsc, bits, unit)
	for lane, u := range unit {
		for j := 0; j < n; j += 2 {
			pair := [2]int32{}
			for i := range pair {
				if j+i < n && u > 0 {
					pair[i] = int32(rounded[(j+i)*ld+lane] / u)
				}
			}
			pairs[j/2*w+lane] = pair[0]&0xffff | pair[1]<<16
		}
	}
}

func groupPairs(pairs []int32, lpg int, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	const w = 4
	for g := range len(unit) / w {
		integerPairs(pairs[g*lpg:], s, ld, n, scales[g:], lsc, bits, unit[g*w:][:w])
	}
}

func valueCodes(a ukernel.PVCodesArgs) {
	sumsOfCodes(a, func(row []int8, e int) int8 { return row[e] })
}

func valueCodes4(a ukernel.PVCodesArgs) { sumsOfCodes(a, int4Of) }

// sumsOfCodes is PVCodes with columns of values as code has them.
func sumsOfCodes(a ukernel.PVCodesArgs, code func(row []int8, e int) int8) {
	for i := range a.N {
		for e := range a.Dv {
			sum := int32(0)
			for j, at := range a.Off {
				sum += int32(int16(a.Pairs[e/a.Group*a.Lpg+j/2*a.Ldp+i]>>(j%2*16))) * int32(code(a.V[at:], e))
			}
			o, u := &a.O[i*a.Ldo+e], a.Unit[e/a.Group*a.Ldp+i]
			if a.Load {
				*o = scalar.FMA(float32(sum), u, *o)
			} else {
				*o = float32(float32(sum) * u)
			}
		}
	}
}

// A roundCase is a call of Round or Pairs.
type roundCase struct {
	n, gap, lsc, bits int
	values            testutil.Kind
	far               float32 // factor of all numbers
}

func (c roundCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d lsc=%d bits=%d of %v times %v", c.n, c.gap, c.lsc, c.bits, c.values, c.far)
}

func roundCases(int) (list []kernelCase) {
	for _, n := range upTo(33, 64, 128) {
		for kind := range 12 {
			i := len(list)
			if n > 0 {
				list = append(list, roundCase{n, i % 2 * 3, i % 3, 10 + i%2, testutil.KindOf(kind), []float32{1, 0x1p-100, 0x1p98, 0x1p-104}[i/7%4]})
			}
		}
	}
	return list
}

func (c roundCase) arguments(a *testutil.Arena, r *testutil.Rand, w int) (s, scales, unit []float32) {
	s = a.Matrix("s", c.n, w, w+c.gap, testutil.Canary)
	c.values.Fill(r, s, c.n, w, w+c.gap)
	for j := range c.n {
		for lane := range w {
			x := &s[j*(w+c.gap)+lane]
			if c.n%3 == 0 { // many ties
				*x = float32(r.IntN(1<<13) - 1<<12)
			}
			*x *= c.far
		}
	}
	scales = a.Vector("scales", (c.n-1)*c.lsc+1, 0)
	testutil.Dyadics.Fill(r, scales, 1, len(scales), len(scales))
	if c.n%3 == 0 {
		copy(scales, testutil.Filled(len(scales), 0.5))
	}
	return s, scales, a.Vector("unit", w, testutil.NaN)
}

func (c roundCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	s, scales, unit := c.arguments(a, r, w)
	ld := w + c.gap
	if c.n%2 == 0 {
		return func(p *kernelSet) { p.Round(s, s, ld, c.n, scales, c.lsc, c.bits, unit) }
	}
	dst := a.Matrix("dst", c.n, w, ld, testutil.Canary)
	return func(p *kernelSet) { p.Round(dst, s, ld, c.n, scales, c.lsc, c.bits, unit) }
}

// A pairsCase is a call of Pairs.
type pairsCase struct{ roundCase }

func (c pairsCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	s, scales, unit := c.arguments(a, r, w)
	pairs := testutil.Slice[int32](a, "pairs", (c.n+1)/2*w)
	return func(p *kernelSet) { p.Skinny.Pairs(pairs, s, w+c.gap, c.n, scales, c.lsc, c.bits, unit) }
}

func pairsCases(w int) (list []kernelCase) {
	for _, c := range roundCases(w) {
		list = append(list, pairsCase{c.(roundCase)})
	}
	return list
}

// A groupPairsCase is a call of GroupPairs.
type groupPairsCase struct {
	roundCase
	groups int
}

func (c groupPairsCase) String() string {
	return fmt.Sprintf("%d groups, %v", c.groups, c.roundCase)
}

func groupPairsCases(w int) (list []kernelCase) {
	for i, c := range roundCases(w) {
		list = append(list, groupPairsCase{c.(roundCase), 2 + i%4*2})
	}
	return list
}

func (c groupPairsCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	const lanes = 4
	s, _, _ := c.arguments(a, r, lanes)
	lsc, size := c.groups+c.lsc, (c.n+1)/2*lanes
	scales := a.Matrix("group scales", c.n, c.groups, lsc, 0)
	testutil.Dyadics.Fill(r, scales, c.n, c.groups, lsc)
	lpg := size + c.lsc*lanes
	pairs, unit := testutil.Slice[int32](a, "pairs", (c.groups-1)*lpg+size), a.Vector("units", c.groups*lanes, testutil.NaN)
	for i := range pairs {
		pairs[i] = math.MaxInt32 // stays between groups
	}
	return func(p *kernelSet) {
		p.Skinny.GroupPairs(pairs, lpg, s, lanes+c.gap, c.n, scales, lsc, c.bits, unit)
	}
}

// A scaleRowsCase is a call of ScaleRows.
type scaleRowsCase struct {
	n, gap, lsc int
	load, same  bool
	values      testutil.Kind
}

func (c scaleRowsCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d lsc=%d load=%v same=%v of %v", c.n, c.gap, c.lsc, c.load, c.same, c.values)
}

func scaleRowsCases(int) (list []kernelCase) {
	for _, n := range upTo(20, 256) {
		for kind := range 12 {
			i := len(list)
			list = append(list, scaleRowsCase{n, i % 2 * 3, i % 3, i/2%2 == 0, i/4%2 == 0, testutil.KindOf(kind)})
		}
	}
	return list
}

func (c scaleRowsCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	in, lda := s, ld
	if !c.same {
		in, lda = a.Matrix("a", c.n, w, w, testutil.Canary), w
		c.values.Fill(r, in, c.n, w, w)
	}
	scales := a.Vector("scales", max(0, (c.n-1)*c.lsc+1), 0)
	c.values.Fill(r, scales, 1, len(scales), len(scales))
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.ScaleRows(s, ld, in, lda, c.n, scales, c.lsc, c.load, top) }
}

// A keyCodesCase is a call of QKCodes, or of QKCodes4. Extreme numbers are the largest, with equal
// signs.
type keyCodesCase struct {
	n, m, groups, group, gap int
	as4, extreme             bool
	values                   testutil.Kind
}

func (c keyCodesCase) String() string {
	return fmt.Sprintf("n=%d m=%d d=%d·%d ldk=d+%d extreme=%v of %v", c.n, c.m, c.groups, c.group, c.gap, c.extreme, c.values)
}

func keyCodesCases(w int) []kernelCase { return casesOfKeys(w, ukernel.SkinnyGroup) }

func keyCodes4Cases(w int) []kernelCase { return casesOfKeys(w, ukernel.CodesColumns4) }

func casesOfKeys(w, step int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for group := step; group <= ukernel.CodesColumns; group += step {
			for _, m := range []int{16, 17, 19, 23, 24, 31, 32, 35} {
				i := len(list)
				list = append(list, keyCodesCase{n, m, 1 + i%3*(i/3%2), group, i % 2 * 3, step == ukernel.CodesColumns4, i%5 == 0, testutil.KindOf(i)})
			}
		}
	}
	return list
}

func (c keyCodesCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	d := c.groups * c.group
	k, ldk := codeRows(a, r, "k", c.m, d, c.gap, c.as4, c.extreme)
	lsc := c.m + c.gap
	unit := a.Vector("unit", c.n, testutil.NaN)
	c.values.Fill(r, unit, 1, c.n, c.n)
	q := testutil.Slice[int32](a, "q", d/2*w)
	for i := range q {
		q[i] = int32(r.IntN(1<<12+1)-1<<11)<<16 | int32(uint16(r.IntN(1<<12+1)-1<<11))
		if c.extreme {
			q[i] = 1<<27 | 1<<11
		}
	}
	scales := a.Matrix("scales", c.groups, c.m, lsc, testutil.NaN)
	c.values.Fill(r, scales, c.groups, c.m, lsc)
	s, top := a.Matrix("s", c.m, w, w, testutil.NaN), a.Vector("max", w, 0)
	maxima(r, top, c.values)
	off, next := anyOrder(a, r, "off", c.m, ldk), anyOrder(a, r, "next", c.m, ldk)
	return func(p *kernelSet) {
		kernel := p.Skinny.QKCodes
		if c.as4 {
			kernel = p.Skinny.QKCodes4
		}
		kernel(ukernel.QKCodesArgs{S: s, K: k, Off: off, Scales: scales, Lsc: lsc, Group: c.group, Q: q, Unit: unit, N: c.n, D: d, Max: top, Next: next})
	}
}

// codeRows returns n rows of d integers of 8 or 4 bits, and their distance. Extreme ones are the
// least.
func codeRows(a *testutil.Arena, r *testutil.Rand, name string, n, d, gap int, as4, extreme bool) (rows []int8, ld int) {
	least := int8(-128)
	if as4 {
		d /= 2
		least = -8<<4 | 8 // both halves are -8
	}
	rows = testutil.Rows[int8](a, name, n, d, d+gap)
	for i := range rows {
		if rows[i] = int8(r.Uint64()); extreme {
			rows[i] = least
		}
	}
	return rows, d + gap
}

// A valueCodesCase is a call of PVCodes, or of PVCodes4.
type valueCodesCase struct {
	n, m, dv, group, gap int
	as4, load, extreme   bool
	values               testutil.Kind
}

func (c valueCodesCase) String() string {
	return fmt.Sprintf("n=%d m=%d dv=%d group=%d gaps=%d load=%v extreme=%v of %v", c.n, c.m, c.dv, c.group, c.gap, c.load, c.extreme, c.values)
}

func valueCodesCases(w int) []kernelCase {
	return casesOfValues(w, []int{16, 32, 48, 64, 80, 128}, ukernel.SkinnyGroup)
}

func valueCodes4Cases(w int) []kernelCase {
	return casesOfValues(w, []int{32, 64, 96, 128}, ukernel.CodesColumns4)
}

func casesOfValues(w int, columns []int, least int) (list []kernelCase) {
	for _, n := range skinnyRowCounts(w) {
		for _, dv := range columns {
			for _, m := range []int{1, 2, 3, 8, 15, 16, 31, 32} {
				i, group := len(list), dv
				if i%4 > 1 {
					group = least
				}
				if i%4 == 3 && dv%32 == 0 {
					group = 32
				}
				list = append(list, valueCodesCase{n, m, dv, group, i % 2 * 3, least == ukernel.CodesColumns4, i%3 == 0, i%5 == 0, testutil.KindOf(i)})
			}
		}
	}
	return list
}

func (c valueCodesCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	if c.gap > 0 && c.n <= ukernel.GroupLanes {
		w = ukernel.GroupLanes
	}
	ld := c.dv + c.gap
	v, ldv := codeRows(a, r, "v", c.m, c.dv, c.gap, c.as4, c.extreme)
	lpg, groups := (c.m+1)/2*w, c.dv/c.group
	pairs := testutil.Slice[int32](a, "pairs", groups*lpg)
	code := func() int32 {
		if c.extreme {
			return 1 << 12
		}
		return int32(r.IntN(1<<13+1) - 1<<12)
	}
	for i := range pairs {
		if pairs[i] = code() & 0xffff; i%lpg/w*2+1 < c.m {
			pairs[i] |= code() << 16
		}
	}
	// Units are powers of two, 0 or NaN.
	unit := a.Vector("unit", (groups-1)*w+c.n, 0)
	for i := range unit {
		unit[i] = []float32{1, 0x1p-11, 0x1p-20, 0, testutil.NaN}[r.IntN(5)]
	}
	o := a.Matrix("o", c.n, c.dv, ld, testutil.Canary)
	testutil.Dyadics.Fill(r, o, c.n, c.dv, ld)
	off, next := anyOrder(a, r, "off", c.m, ldv), anyOrder(a, r, "next", c.m, ldv)
	return func(p *kernelSet) {
		kernel := p.Skinny.PVCodes
		if c.as4 {
			kernel = p.Skinny.PVCodes4
		}
		kernel(ukernel.PVCodesArgs{O: o, Ldo: ld, V: v, Off: off, Pairs: pairs, Ldp: w, Lpg: lpg, Unit: unit, Group: c.group, N: c.n, Dv: c.dv, Load: c.load, Next: next})
	}
}

// A pairsArgument returns the integers of some rows of pairs, of at most so much, or all the
// largest.
func pairsArgument(a *testutil.Arena, r *testutil.Rand, name string, n, most int, extreme bool) []int32 {
	x := testutil.Slice[int32](a, name, n)
	for i := range x {
		low, high := r.IntN(2*most)-most, r.IntN(2*most)-most
		if extreme {
			low, high = most, most
			if most == 128 {
				low, high = -128, -128
			}
		}
		x[i] = int32(low)&0xffff | int32(high)<<16
	}
	return x
}

// A codeScoresCase is a call of CodeScores. Extreme numbers are the largest, with equal signs.
type codeScoresCase struct {
	m, d, lsc int
	extreme   bool
	values    testutil.Kind
}

func (c codeScoresCase) String() string {
	return fmt.Sprintf("m=%d d=%d lsc=%d extreme=%v of %v", c.m, c.d, c.lsc, c.extreme, c.values)
}

func codeScoresCases(int) (list []kernelCase) {
	for d := 16; d <= ukernel.CodesColumns; d += 16 {
		for _, m := range upTo(13, 32, 63) {
			if i := len(list); m > 0 {
				list = append(list, codeScoresCase{m, d, i % 3, i%5 == 0, testutil.KindOf(i)})
			}
		}
	}
	return list
}

func (c codeScoresCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	k, q := pairsArgument(a, r, "k", c.m*c.d/2, 128, c.extreme), pairsArgument(a, r, "q", c.d/2*w, 1<<11, c.extreme)
	unit, scales := a.Vector("unit", w, testutil.NaN), a.Vector("scales", (c.m-1)*c.lsc+1, 0)
	c.values.Fill(r, unit, 1, w, w)
	c.values.Fill(r, scales, 1, len(scales), len(scales))
	s, top := a.Matrix("s", c.m, w, w, testutil.NaN), a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) {
		p.CodeScores(ukernel.CodeScoresArgs{S: s, K: k, Scales: scales, Lsc: c.lsc, Q: q, Unit: unit, M: c.m, D: c.d, Max: top})
	}
}

// A codeValuesCase is a call of CodeValues.
type codeValuesCase struct {
	pairs, dv     int
	load, extreme bool
	values        testutil.Kind
}

func (c codeValuesCase) String() string {
	return fmt.Sprintf("pairs=%d dv=%d load=%v extreme=%v of %v", c.pairs, c.dv, c.load, c.extreme, c.values)
}

func codeValuesCases(int) (list []kernelCase) {
	for dv := 16; dv <= 128; dv += 16 {
		for pairs := 1; pairs <= ukernel.ValueSegment/2; pairs++ {
			i := len(list)
			list = append(list, codeValuesCase{pairs, dv, i%3 == 0, i%5 == 0, testutil.KindOf(i)})
		}
	}
	return list
}

func (c codeValuesCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	v, weights := pairsArgument(a, r, "v", c.pairs*c.dv, 128, c.extreme), pairsArgument(a, r, "p", c.pairs*w, 1<<12, c.extreme)
	unit := a.Vector("unit", w, 0)
	for i := range unit {
		unit[i] = []float32{1, 0x1p-11, 0x1p-20, 0, testutil.NaN}[r.IntN(5)]
	}
	o := a.Matrix("o", c.dv, w, w, testutil.NaN)
	if c.load {
		c.values.Fill(r, o, c.dv, w, w)
	}
	return func(p *kernelSet) {
		p.CodeValues(ukernel.CodeValuesArgs{O: o, V: v, P: weights, Unit: unit, Pairs: c.pairs, Dv: c.dv, Load: c.load})
	}
}

// A codeMergeCase is a call of CodeMerge.
type codeMergeCase struct {
	n      int
	values testutil.Kind
}

func (c codeMergeCase) String() string { return fmt.Sprintf("n=%d of %v", c.n, c.values) }

func codeMergeCases(int) (list []kernelCase) {
	for n := 1; n <= 20; n++ {
		for kind := range 12 {
			list = append(list, codeMergeCase{n, testutil.KindOf(kind)})
		}
	}
	return list
}

func (c codeMergeCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	o, part := a.Matrix("o", c.n, w, w, 0), a.Matrix("part", c.n, w, w, 0)
	alpha, beta := a.Vector("alpha", w, 0), a.Vector("beta", w, 0)
	for _, x := range [][]float32{o, part, alpha, beta} {
		c.values.Fill(r, x, 1, len(x), len(x))
	}
	return func(p *kernelSet) { p.CodeMerge(o, part, c.n, alpha, beta) }
}

// A pairCase is a call of PairColumns or PairRows.
type pairCase struct {
	rows      bool
	n, d, gap int
}

func (c pairCase) String() string { return fmt.Sprintf("n=%d d=%d lds=d+%d", c.n, c.d, c.gap) }

func pairCases(rows bool) func(int) []kernelCase {
	return func(int) (list []kernelCase) {
		for d := 16; d <= 80; d += 16 {
			for n := 1; n <= 9; n++ {
				list = append(list, pairCase{rows, n, d, n % 3 * 5})
			}
		}
		return list
	}
}

func (c pairCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	src := testutil.Rows[int8](a, "src", c.n, c.d, c.d+c.gap)
	for i := range src {
		src[i] = int8(r.Uint64())
	}
	n := c.n * c.d / 2
	if c.rows {
		n = (c.n + 1) / 2 * c.d
	}
	dst := testutil.Slice[int32](a, "dst", n)
	return func(p *kernelSet) {
		if c.rows {
			p.Convert.PairRows(dst, src, c.d+c.gap, c.n, c.d)
		} else {
			p.Convert.PairColumns(dst, src, c.d+c.gap, c.n, c.d)
		}
	}
}

var codesMutants = []mutant{
	{"Round", "ties go away from 0", func(p *kernelSet) {
		f := p.Round
		p.Round = func(dst, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
			x := make([]float32, n*ld)
			for j := range n {
				for lane := range unit {
					x[j*ld+lane] = float32(s[j*ld+lane] * scales[j*lsc])
				}
			}
			f(dst, s, ld, n, scales, lsc, bits, unit)
			for j := range n {
				for lane, u := range unit {
					if y := x[j*ld+lane] / u; math.Abs(float64(y)) < 1<<12 {
						dst[j*ld+lane] = float32(math.Round(float64(y)))*u + 0
					}
				}
			}
		}
	}},
	{"ScaleRows", "a product is rounded before it is added", func(p *kernelSet) {
		f := p.ScaleRows
		p.ScaleRows = func(s []float32, ld int, a []float32, lda, n int, scales []float32, lsc int, load bool, max []float32) {
			before := append([]float32(nil), s...)
			f(s, ld, a, lda, n, scales, lsc, false, max)
			for j := range n {
				for lane := range max {
					if i := j*ld + lane; load {
						s[i] += before[i]
					}
				}
			}
		}
	}},
	{"Skinny.QKCodes", "a key is at most 127", func(p *kernelSet) {
		f := p.Skinny.QKCodes
		p.Skinny.QKCodes = func(a ukernel.QKCodesArgs) {
			k := append([]int8(nil), a.K...)
			for i := range k {
				k[i] = max(k[i], -127)
			}
			a.K = k
			f(a)
		}
	}},
	{"Skinny.PVCodes", "the last of an odd number of rows is left out", func(p *kernelSet) {
		f := p.Skinny.PVCodes
		p.Skinny.PVCodes = func(a ukernel.PVCodesArgs) {
			if m := len(a.Off); m > 1 {
				a.Off = a.Off[:m&^1]
			}
			f(a)
		}
	}},
	{"Skinny.QKCodes4", "a key is at least -7", func(p *kernelSet) {
		f := p.Skinny.QKCodes4
		p.Skinny.QKCodes4 = func(a ukernel.QKCodesArgs) {
			k := append([]int8(nil), a.K...)
			for i := range k {
				if k[i]&15 == 8 {
					k[i]++
				}
			}
			a.K = k
			f(a)
		}
	}},
	{"Skinny.PVCodes4", "the last of an odd number of rows is left out", func(p *kernelSet) {
		f := p.Skinny.PVCodes4
		p.Skinny.PVCodes4 = func(a ukernel.PVCodesArgs) {
			if m := len(a.Off); m > 1 {
				a.Off = a.Off[:m&^1]
			}
			f(a)
		}
	}},
	{"Skinny.Pairs", "the second of a pair is shifted with the sign of the first", func(p *kernelSet) {
		f := p.Skinny.Pairs
		p.Skinny.Pairs = func(pairs []int32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
			f(pairs, s, ld, n, scales, lsc, bits, unit)
			for i, x := range pairs[:(n+1)/2*len(unit)] {
				pairs[i] = x + int32(int16(x))>>15<<16
			}
		}
	}},
	{"Skinny.GroupPairs", "the scales of the first group are those of all", func(p *kernelSet) {
		f := p.Skinny.GroupPairs
		p.Skinny.GroupPairs = func(pairs []int32, lpg int, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
			same := append([]float32(nil), scales...)
			for j := range n {
				for g := range len(unit) / 4 {
					same[j*lsc+g] = scales[j*lsc]
				}
			}
			f(pairs, lpg, s, ld, n, same, lsc, bits, unit)
		}
	}},
	{"CodeScores", "one of the keys after the last four is left out", func(p *kernelSet) {
		f := p.CodeScores
		p.CodeScores = func(a ukernel.CodeScoresArgs) {
			if a.M%4 == 3 {
				a.M--
			}
			f(a)
		}
	}},
	{"CodeValues", "the product is rounded before it is added", func(p *kernelSet) {
		f := p.CodeValues
		p.CodeValues = func(a ukernel.CodeValuesArgs) {
			before, load := append([]float32(nil), a.O...), a.Load
			a.Unit, a.Load = append([]float32(nil), a.Unit...), false
			for i := range a.Unit {
				a.Unit[i] *= 0x1.000002p0
			}
			f(a)
			for i := range a.O {
				if load {
					a.O[i] += before[i]
				}
			}
		}
	}},
	{"CodeMerge", "alpha and beta change places", func(p *kernelSet) {
		f := p.CodeMerge
		p.CodeMerge = func(o, part []float32, n int, alpha, beta []float32) { f(o, part, n, beta, alpha) }
	}},
	{"Convert.PairColumns", "the first of a pair is not extended", func(p *kernelSet) {
		f := p.Convert.PairColumns
		p.Convert.PairColumns = func(dst []int32, src []int8, lds, n, d int) {
			f(dst, src, lds, n, d)
			for i := range dst {
				dst[i] &^= 0xff00
			}
		}
	}},
	{"Convert.PairRows", "a last row without a second has zeros", func(p *kernelSet) {
		f := p.Convert.PairRows
		p.Convert.PairRows = func(dst []int32, src []int8, lds, n, d int) {
			f(dst, src, lds, n, d)
			for i := range dst {
				if n%2 == 1 && i/d == n/2 {
					dst[i] &= 0xffff
				}
			}
		}
	}},
}
