package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A maskSpanCase is a call of MaskSpan.
type maskSpanCase struct {
	n, j0, gap int
	spans      spanKind
	values     testutil.Kind
}

// A spanKind says which keys are visible to the lanes.
type spanKind int

const (
	anySpans   spanKind = iota // from and to anywhere, some back to front
	noSpans                    // empty ones
	allSpans                   // all rows
	causalEdge                 // up to a key of their own
	extremeSpans
	spanKinds
)

func (c maskSpanCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d spans=%d of %v", c.n, c.j0, c.gap, c.spans, c.values)
}

func maskSpanCases(int) (list []kernelCase) {
	for spans := range spanKinds {
		for _, v := range []testutil.Kind{testutil.Dyadics, testutil.Specials, testutil.NonFinite, testutil.Zeros} {
			for _, j0 := range []int{0, 3, 250} {
				for _, gap := range []int{0, 3} {
					for _, n := range upTo(20, 256) {
						list = append(list, maskSpanCase{n, j0, gap, spans, v})
					}
				}
			}
		}
	}
	return list
}

func (c maskSpanCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	lo, hi := testutil.Slice[int32](a, "lo", w), testutil.Slice[int32](a, "hi", w)
	for lane := range w {
		lo[lane], hi[lane] = c.span(r, lane)
	}
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.MaskSpan(s, ld, c.j0, c.n, lo, hi, top) }
}

func (c maskSpanCase) span(r *testutil.Rand, lane int) (lo, hi int32) {
	end := c.j0 + c.n
	switch c.spans {
	case noSpans:
		lo = int32(r.IntN(end + 1))
		return lo, lo
	case allSpans:
		return 0, int32(end)
	case causalEdge:
		return int32(c.j0), int32(c.j0 + lane)
	case extremeSpans:
		ends := []int32{math.MinInt32, -1, int32(c.j0), int32(end), math.MaxInt32}
		return ends[r.IntN(5)], ends[r.IntN(5)]
	}
	return int32(r.IntN(end + 3)), int32(r.IntN(end + 3))
}

// An alibiCase is a call of ALiBi.
type alibiCase struct {
	n, j0, gap int
	pos        positionKind
	values     testutil.Kind
}

// A positionKind says where queries are.
type positionKind int

const (
	anyPositions positionKind = iota
	nearPositions
	pastKeys   // behind all keys
	futureKeys // before all keys
	positionKinds
)

func (c alibiCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d positions=%d of %v", c.n, c.j0, c.gap, c.pos, c.values)
}

func alibiCases(int) (list []kernelCase) {
	for pos := range positionKinds {
		for _, j0 := range []int{0, 3, 1<<24 - 10, math.MaxInt32 - 255} {
			for _, gap := range []int{0, 3} {
				for _, n := range upTo(20, 256) {
					list = append(list, alibiCase{n, j0, gap, pos, testutil.KindOf(len(list))})
				}
			}
		}
	}
	return list
}

func (c alibiCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	slopes, pos := a.Vector("slopes", w, 0), testutil.Slice[int32](a, "pos", w)
	c.values.Fill(r, slopes, 1, w, w)
	for lane := range pos {
		pos[lane] = c.position(r)
	}
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.ALiBi(s, ld, c.j0, c.n, slopes, pos, top) }
}

func (c alibiCase) position(r *testutil.Rand) int32 {
	const all = uint64(1) << 31
	first, end := uint64(c.j0), min(uint64(c.j0)+uint64(c.n), all-1)
	x := r.Uint64()
	switch c.pos {
	case nearPositions:
		return int32(first + x%(end-first+1))
	case pastKeys:
		return int32(end + x%(all-end))
	case futureKeys:
		return int32(x % (first + 1))
	}
	return int32(x >> (33 + r.IntN(31)))
}

// A biasCase is a call of Bias.
type biasCase struct {
	n, gap int
	rows   rowKind
	values testutil.Kind
}

// A rowKind says how lanes share rows.
type rowKind int

const (
	ownRows rowKind = iota
	someRows
	oneRow
	rowKinds
)

func (c biasCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d rows=%d of %v", c.n, c.gap, c.rows, c.values)
}

// scoreRows are numbers of rows for kernels that transpose: all remainders of 16, and
// more than one iteration.
var scoreRows = upTo(2*16+1, 63, 255, 256)

func biasCases(int) (list []kernelCase) {
	for rows := range rowKinds {
		for v := range testutil.Kinds {
			for _, n := range scoreRows {
				list = append(list, biasCase{n, len(list) & 1 * 3, rows, v})
			}
		}
	}
	return list
}

func (c biasCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	if c.values == testutil.NonFinite {
		sprinkle(r, s, c.n, w, ld, testutil.NaN, testutil.Inf, -testutil.Inf)
	}
	off := testutil.Slice[int](a, "off", w)
	src := a.Vector("src", c.rows.offsets(r, off, c.n), testutil.NaN)
	for _, o := range off {
		c.values.Fill(r, src[o:], 1, c.n, c.n)
		sprinkle(r, src[o:], 1, c.n, c.n, -testutil.Inf)
		if c.values == testutil.Specials {
			sprinkle(r, src[o:], 1, c.n, c.n, limits...)
		}
	}
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.Bias(s, ld, c.n, src, off, top) }
}

// limits are biases around the limit of those that are finite, and beyond.
var limits = []float32{
	math.Float32frombits(0x7f317216), math.Float32frombits(0x7f317217), math.Float32frombits(0x7f317218), math.MaxFloat32,
	math.Float32frombits(0xff317216), math.Float32frombits(0xff317217), math.Float32frombits(0xff317218), -math.MaxFloat32,
}

// sprinkle replaces one element in eight by some value.
func sprinkle(r *testutil.Rand, s []float32, rows, w, ld int, some ...float32) {
	for i := range rows {
		for lane := range w {
			if r.IntN(8) == 0 {
				s[i*ld+lane] = some[r.IntN(len(some))]
			}
		}
	}
}

// offsets places the rows of the lanes, n elements each, and returns the end of the last
// one.
func (k rowKind) offsets(r *testutil.Rand, off []int, n int) int {
	rows := len(off)
	switch k {
	case someRows:
		rows = 1 + r.IntN(rows)
	case oneRow:
		rows = 1
	}
	return rowOffsets(r, off, rows, n)
}

// A maskBoolCase is a call of MaskBool.
type maskBoolCase struct {
	n, gap int
	rows   rowKind
	hidden bool
	odds   int // of 4 keys so many take part, on average
	values testutil.Kind
}

func (c maskBoolCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d rows=%d hidden=%v true=%d/4 of %v", c.n, c.gap, c.rows, c.hidden, c.odds, c.values)
}

func maskBoolCases(int) (list []kernelCase) {
	for rows := range rowKinds {
		for _, hidden := range []bool{false, true} {
			for _, odds := range []int{0, 1, 3, 4} {
				for _, n := range scoreRows {
					list = append(list, maskBoolCase{n, len(list) & 1 * 3, rows, hidden, odds, testutil.KindOf(len(list))})
				}
			}
		}
	}
	return list
}

func (c maskBoolCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	off := testutil.Slice[int](a, "off", w)
	size := c.rows.offsets(r, off, c.n)
	keep := testutil.Slice[bool](a, "keep", size)
	for i := range keep {
		keep[i] = r.IntN(4) < c.odds
	}
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.MaskBool(s, ld, c.n, keep, off, c.hidden, top) }
}

// A dropoutCase is a call of Dropout.
type dropoutCase struct {
	n, j0, gap int
	threshold  uint32
	values     testutil.Kind
}

func (c dropoutCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d threshold=%08x of %v", c.n, c.j0, c.gap, c.threshold, c.values)
}

func dropoutCases(int) (list []kernelCase) {
	for _, threshold := range []uint32{0, 1, 1 << 28, 1<<31 - 1, 1 << 31, 7 << 29, math.MaxUint32} {
		for _, j0 := range []int{0, 1, 2, 3, 254, math.MaxInt32 - 255} {
			for _, n := range upTo(13, 256) {
				list = append(list, dropoutCase{n, j0, len(list) & 1 * 3, threshold, testutil.KindOf(len(list))})
			}
		}
	}
	return list
}

func (c dropoutCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	keys := testutil.Slice[uint32](a, "keys", 2*contract.PhiloxRounds)
	philox := scalar.PhiloxKeys(r.Uint64())
	copy(keys, philox[:])
	sequence, head, pos := uint32(r.Uint64()), testutil.Slice[uint32](a, "head", w), testutil.Slice[uint32](a, "pos", w)
	for lane := range pos {
		head[lane], pos[lane] = uint32(r.Uint64()), uint32(r.Uint64())
	}
	return func(p *kernelSet) {
		p.Dropout(s, ld, c.j0, c.n, keys, sequence, head, pos, c.threshold, 1.25)
	}
}

var maskMutants = []mutant{
	{"MaskSpan", "the spans include their ends", func(p *kernelSet) {
		mask := p.MaskSpan
		p.MaskSpan = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			ends := make([]int32, len(hi))
			for i, h := range hi {
				ends[i] = h
				if h < math.MaxInt32 {
					ends[i]++
				}
			}
			mask(s, ld, j0, n, lo, ends, max)
		}
	}},
	{"MaskSpan", "keys are numbered from the call's first", func(p *kernelSet) {
		mask := p.MaskSpan
		p.MaskSpan = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			mask(s, ld, 0, n, lo, hi, max)
		}
	}},
	{"MaskSpan", "hidden scores count for the maximum", func(p *kernelSet) {
		mask := p.MaskSpan
		p.MaskSpan = func(s []float32, ld, j0, n int, lo, hi []int32, top []float32) {
			if n > 0 && s[0] > top[0] {
				top[0] = s[0]
			}
			mask(s, ld, j0, n, lo, hi, top)
		}
	}},
	{"MaskSpan", "ends compare without a sign", func(p *kernelSet) {
		mask := p.MaskSpan
		p.MaskSpan = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			ends := make([]int32, len(hi))
			for i, h := range hi {
				ends[i] = h
				if h < 0 {
					ends[i] = math.MaxInt32
				}
			}
			mask(s, ld, j0, n, lo, ends, max)
		}
	}},
}

var scoreMutants = []mutant{
	{"ALiBi", "keys are numbered from the call's first", func(p *kernelSet) {
		alibi := p.ALiBi
		p.ALiBi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			alibi(s, ld, 0, n, slopes, pos, max)
		}
	}},
	{"ALiBi", "the distance has a sign", spoilALiBi(func(x, slope float32, d int32) float32 {
		return scalar.FMA(slope, -float32(d), x)
	})},
	{"ALiBi", "the product is rounded", spoilALiBi(func(x, slope float32, d int32) float32 {
		return x - float32(slope*float32(max(d, -d)))
	})},
	{"ALiBi", "the distance is cut to a float32", spoilALiBi(func(x, slope float32, d int32) float32 {
		y := float32(max(d, -d))
		if int64(y) > int64(max(d, -d)) {
			y = math.Nextafter32(y, 0)
		}
		return scalar.FMA(slope, -y, x)
	})},
	{"ALiBi", "scores without the bias count for the maximum", func(p *kernelSet) {
		alibi := p.ALiBi
		p.ALiBi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			raise(max, s, n)
			alibi(s, ld, j0, n, slopes, pos, max)
		}
	}},
	{"Bias", "a score of NaN stays under a bias of -Inf", spoilBias(func(x, b float32) float32 {
		return scalar.FMA(scalar.Limited(b, limits[1]), math.Float32frombits(0x3fb8aa3b), x)
	})},
	{"Bias", "a finite bias overflows", spoilBias(func(x, b float32) float32 {
		if b-b != 0 {
			return b
		}
		return scalar.FMA(b, math.Float32frombits(0x3fb8aa3b), x)
	})},
	{"Bias", "the limit is the number before", spoilBias(func(x, b float32) float32 {
		if b-b != 0 {
			return b
		}
		return scalar.FMA(scalar.Limited(b, limits[0]), math.Float32frombits(0x3fb8aa3b), x)
	})},
	{"Bias", "the product is rounded", spoilBias(func(x, b float32) float32 {
		if b == -testutil.Inf {
			return b
		}
		return x + float32(b*math.Float32frombits(0x3fb8aa3b))
	})},
	{"Bias", "natural units", spoilBias(func(x, b float32) float32 {
		if b == -testutil.Inf {
			return b
		}
		return x + b
	})},
	{"Bias", "the first of less than 4 last keys counts twice", func(p *kernelSet) {
		bias := p.Bias
		p.Bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			bias(s, ld, n, src, off, max)
			if n > 4 && n%4 > 0 {
				bias(s[(n-4)*ld:], ld, 1, src[n-4:], off, max)
			}
		}
	}},
	{"Bias", "the last lane has the row of the first", func(p *kernelSet) {
		bias := p.Bias
		p.Bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			rows := append([]int(nil), off...)
			rows[len(rows)-1] = rows[0]
			bias(s, ld, n, src, rows, max)
		}
	}},
	{"MaskBool", "true always takes part", func(p *kernelSet) {
		hide := p.MaskBool
		p.MaskBool = func(s []float32, ld, n int, keep []bool, off []int, _ bool, max []float32) {
			hide(s, ld, n, keep, off, false, max)
		}
	}},
	{"MaskBool", "the last key is left out", func(p *kernelSet) {
		hide := p.MaskBool
		p.MaskBool = func(s []float32, ld, n int, keep []bool, off []int, hidden bool, top []float32) {
			hide(s, ld, max(0, n-1), keep, off, hidden, top)
		}
	}},
	{"MaskBool", "hidden scores count for the maximum", func(p *kernelSet) {
		hide := p.MaskBool
		p.MaskBool = func(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32) {
			raise(max, s, n)
			hide(s, ld, n, keep, off, hidden, max)
		}
	}},
	{"Dropout", "keys are numbered from the call's first", func(p *kernelSet) {
		dropout := p.Dropout
		p.Dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			dropout(s, ld, j0&^3, n, keys, sequence, head, pos, threshold, scale)
		}
	}},
	{"Dropout", "head and position change places", func(p *kernelSet) {
		dropout := p.Dropout
		p.Dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			dropout(s, ld, j0, n, keys, sequence, pos, head, threshold, scale)
		}
	}},
	{"Dropout", "one round less", func(p *kernelSet) {
		dropout := p.Dropout
		p.Dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			fewer := append([]uint32{0, 0}, keys...)
			dropout(s, ld, j0, n, fewer[:len(keys)], sequence, head, pos, threshold, scale)
		}
	}},
	{"Dropout", "numbers compare with a sign", func(p *kernelSet) {
		dropout := p.Dropout
		p.Dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			if threshold > math.MaxInt32 {
				threshold = 0
			}
			dropout(s, ld, j0, n, keys, sequence, head, pos, threshold, scale)
		}
	}},
	{"Dropout", "a dropped weight is multiplied by 0", func(p *kernelSet) {
		dropout := p.Dropout
		p.Dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			before := append([]float32(nil), s...)
			dropout(s, ld, j0, n, keys, sequence, head, pos, threshold, scale)
			if n > 0 && s[0] == 0 {
				s[0] = before[0] * 0
			}
		}
	}},
}

// raise raises the first lane's maximum to its first score, if there are n > 0.
func raise(top, s []float32, n int) {
	if n > 0 && s[0] > top[0] {
		top[0] = s[0]
	}
}

// spoilALiBi replaces the first score by f of the score before, the slope, and the
// position less the key's.
func spoilALiBi(f func(x, slope float32, d int32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		alibi := p.ALiBi
		p.ALiBi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			var x float32
			if n > 0 {
				x = f(s[0], slopes[0], pos[0]-int32(j0))
			}
			alibi(s, ld, j0, n, slopes, pos, max)
			if n > 0 {
				s[0] = x
			}
		}
	}
}

// spoilBias replaces the first lane's scores by f of the score before and the bias.
func spoilBias(f func(x, b float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		bias := p.Bias
		p.Bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			x := make([]float32, n)
			for j := range x {
				x[j] = f(s[j*ld], src[off[0]+j])
			}
			bias(s, ld, n, src, off, max)
			for j := range x {
				s[j*ld] = x[j]
			}
		}
	}
}
