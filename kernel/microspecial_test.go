package kernel

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
)

// upTo returns 0..n and then more.
func upTo(n int, more ...int) (list []int) {
	for i := range n + 1 {
		list = append(list, i)
	}
	return append(list, more...)
}

// A maskCase is a call of mask.
type maskCase struct {
	n, j0, gap int
	spans      spanKind
	values     values
}

// A spanKind says which keys lanes see.
type spanKind int

const (
	anySpans   spanKind = iota // from and to anywhere, some back to front
	noSpans                    // empty ones
	allSpans                   // all rows
	causalEdge                 // up to a key of their own
	extremeSpans
	spanKinds
)

func (c maskCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d spans=%d of %v", c.n, c.j0, c.gap, c.spans, c.values)
}

func maskCases(int) (list []microCase) {
	for spans := range spanKinds {
		for _, v := range []values{dyadics, specials, nonfinite, zeros} {
			for _, j0 := range []int{0, 3, 250} {
				for _, gap := range []int{0, 3} {
					for _, n := range upTo(20, 256) {
						list = append(list, maskCase{n, j0, gap, spans, v})
					}
				}
			}
		}
	}
	return list
}

func (c maskCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	lo, hi := a.int32s("lo", w), a.int32s("hi", w)
	for lane := range w {
		lo[lane], hi[lane] = c.span(r, lane)
	}
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.mask(s, ld, c.j0, c.n, lo, hi, top) }
}

func (c maskCase) span(r *rng, lane int) (lo, hi int32) {
	end := c.j0 + c.n
	switch c.spans {
	case noSpans:
		lo = int32(r.intn(end + 1))
		return lo, lo
	case allSpans:
		return 0, int32(end)
	case causalEdge:
		return int32(c.j0), int32(c.j0 + lane)
	case extremeSpans:
		ends := []int32{math.MinInt32, -1, int32(c.j0), int32(end), math.MaxInt32}
		return ends[r.intn(5)], ends[r.intn(5)]
	}
	return int32(r.intn(end + 3)), int32(r.intn(end + 3))
}

// A softmaxCase is a call of softmax.
type softmaxCase struct {
	n, gap int
	lanes  scoreKind
}

// A scoreKind says what the scores of a lane are like.
type scoreKind int

const (
	closeScores   scoreKind = iota // weights of all sizes
	farScores                      // most weights 0
	edgeScores                     // around exp2's cut-off and its ties, from a maximum of 0
	shiftedEdges                   // the same from another maximum
	someHidden                     // -Inf among them
	allHidden                      // nothing but -Inf
	someNaN                        // NaN among them
	hiddenOrNaN                    // -Inf and NaN, so that the maximum is -Inf
	someInfinite                   // +Inf among them
	extremeScores                  // subnormal, huge
	scoreKinds
	mixedKinds = scoreKinds // every lane its own
)

// exp2Edges are arguments near which exp2 changes its ways.
var exp2Edges = []float32{
	0, float32(math.Copysign(0, -1)), -0x1p-149, -0x1.fffffcp-127, -0x1p-126, -0x1p-30, -0x1p-24, -0x1p-23,
	-0.49999997, -0.5, -0.50000006, -1, -1.4999999, -1.5, -1.5000001, -2.5, -3.5, -64.5,
	-124.5, -125, -125.49999, -125.5, -125.50001, -125.99999, -126, -126.00001, -126.5, -127, -127.5,
	-149, -149.5, -150, -151, -255.5, -256, -1e4, -0x1p22, -0x1.8p23, -0x1p31, -1e30, -math.MaxFloat32, -inf32,
}

func (c softmaxCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d scores=%d", c.n, c.gap, c.lanes)
}

func softmaxCases(int) (list []microCase) {
	for lanes := range mixedKinds + 1 {
		for _, gap := range []int{0, 5} {
			for _, n := range upTo(20, 255, 256) {
				list = append(list, softmaxCase{n, gap, lanes})
			}
		}
	}
	return list
}

func (c softmaxCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	s, top, sum := c.arguments(a, r, w)
	return func(p *panelKernels) { p.softmax(s, w+c.gap, c.n, top, sum) }
}

// arguments returns those of the call: scores, their maxima and where the sums go.
func (c softmaxCase) arguments(a *arena, r *rng, w int) (s, top, sum []float32) {
	ld := w + c.gap
	s = a.matrix("s", c.n, w, ld, canary)
	top, sum = a.vector("max", w, 0), a.vector("sum", w, nan32)
	for lane := range w {
		kind := c.lanes
		if kind == mixedKinds {
			kind = scoreKind(r.intn(int(scoreKinds)))
		}
		top[lane] = -inf32
		for j := range c.n {
			x := kind.next(r)
			s[j*ld+lane] = x
			if x > top[lane] {
				top[lane] = x
			}
		}
		switch kind {
		case edgeScores:
			top[lane] = 0
		case shiftedEdges:
			top[lane] = edgeShift
		}
	}
	return s, top, sum
}

const edgeShift = 2.5

// next returns a score.
func (k scoreKind) next(r *rng) float32 {
	rare := r.intn(6) == 0
	switch {
	case k == farScores:
		return mantissas.next(r)
	case k == edgeScores:
		return exp2Edges[r.intn(len(exp2Edges))]
	case k == shiftedEdges:
		return edgeShift + exp2Edges[r.intn(len(exp2Edges))]
	case k == allHidden, k == someHidden && rare:
		return -inf32
	case k == hiddenOrNaN:
		return []float32{-inf32, nan32}[r.intn(2)]
	case k == someNaN && rare:
		return nan32
	case k == someInfinite && rare:
		return inf32
	case k == extremeScores:
		return specials.next(r)
	}
	return 8 * dyadics.next(r) / 3
}

// A foldCase is a call of fold: ordinary numbers, or combinations of special
// ones, one a lane.
type foldCase struct {
	first int  // combination, -1 for none
	apart bool // the maxima, by more than exp2's range
}

func (c foldCase) String() string {
	if c.first < 0 {
		return "ordinary numbers"
	}
	return fmt.Sprintf("combinations from %d on, apart=%v", c.first, c.apart)
}

func foldCases(w int) (list []microCase) {
	for range 256 {
		list = append(list, foldCase{-1, false})
	}
	for turn := range 6 {
		for first := 0; first < 6*6*6*6; first += w {
			list = append(list, foldCase{first + turn, turn&1 == 1}) // every combination in several lanes
		}
	}
	return list
}

func (c foldCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	top, sum := a.vector("max", w, 0), a.vector("sum", w, 0)
	blockMax, blockSum := a.vector("blockMax", w, 0), a.vector("blockSum", w, 0)
	alpha, beta := a.vector("alpha", w, nan32), a.vector("beta", w, nan32)
	for lane := range w {
		i, j, k, l := 1, 1, 1, 1
		if x := c.first + lane; c.first >= 0 {
			i, j, k, l = x%6, x/6%6, x/36%6, x/216%6
		}
		top[lane], blockMax[lane] = c.maximum(r, i), c.maximum(r, j)
		sum[lane], blockSum[lane] = someSum(r, k), someSum(r, l)
	}
	return func(p *panelKernels) { p.fold(top, sum, blockMax, blockSum, alpha, beta) }
}

func (c foldCase) maximum(r *rng, i int) float32 {
	x := dyadics.next(r) / 3
	if c.apart {
		x *= 128
	}
	return [...]float32{-inf32, x, exp2Edges[r.intn(len(exp2Edges))], zeros.next(r), inf32, nan32}[i]
}

func someSum(r *rng, i int) float32 {
	x := float32(math.Abs(float64(mantissas.next(r))))
	return [...]float32{0, x, 256 * x, tinies.next(r) * 0x1p-70, inf32, nan32}[i]
}

// A packCase is a call of pack.
type packCase struct {
	n, d, gap int
	scale     float32
	values    values
}

func (c packCase) String() string {
	return fmt.Sprintf("n=%d d=%d ld=lanes+%d scale=%v of %v", c.n, c.d, c.gap, c.scale, c.values)
}

// rowLengths are the lengths of rows to pack and unpack.
var rowLengths = upTo(2*16+1, 64, 128)

func packCases(w int) (list []microCase) {
	scales := []float32{0.18033688, 1, -3, 0x1.234568p-100}
	for _, d := range rowLengths {
		for n := range w {
			i := len(list)
			list = append(list, packCase{n + 1, d, (n + d) & 1 * 3, scales[(i+i/4)%4], kindOf(i)})
		}
	}
	return list
}

func (c packCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	off := a.ints("off", w)
	size := rowOffsets(r, off, c.n, c.d)
	src := a.vector("src", size, nan32)
	for _, o := range off[:c.n] {
		c.values.fill(r, src[o:], 1, c.d, c.d)
	}
	ld := w + c.gap
	dst := a.matrix("dst", c.d, w, ld, canary)
	return func(p *panelKernels) {
		p.pack(dst, ld, src, off, c.n, c.d, c.scale)
		for lane := c.n; lane < w; lane++ {
			c.settle(dst, ld, lane)
		}
	}
}

// settle makes an idle lane, which may hold any of the rows, hold the last.
func (c packCase) settle(dst []float32, ld, lane int) {
	for row := c.n - 1; row >= 0; row-- {
		if !c.holds(dst, ld, lane, row) {
			continue
		}
		for x := range c.d {
			dst[x*ld+lane] = dst[x*ld+c.n-1]
		}
		return
	}
}

// holds tells whether lane holds the same row as lane row does.
func (c packCase) holds(dst []float32, ld, lane, row int) bool {
	for x := range c.d {
		if !sameBits(dst[x*ld+lane], dst[x*ld+row]) {
			return false
		}
	}
	return true
}

// rowOffsets puts n rows of d elements one after the other in any order with
// gaps between them, sets where they start and returns where the last one ends.
// Offsets from n on repeat the last lane's.
func rowOffsets(r *rng, off []int, n, d int) int {
	for lane := range n { // a random order
		x := r.intn(lane + 1)
		off[lane] = off[x]
		off[x] = lane
	}
	at, end := make([]int, n), 0
	for i := range at {
		if i > 0 {
			end += r.intn(4)
		}
		at[i] = end
		end += d
	}
	for lane := range off {
		if lane < n {
			off[lane] = at[off[lane]]
		} else {
			off[lane] = off[n-1]
		}
	}
	return end
}

// An unpackCase is a call of unpack.
type unpackCase struct {
	n, d, gap int
	values    values
}

func (c unpackCase) String() string {
	return fmt.Sprintf("n=%d d=%d ld=lanes+%d of %v", c.n, c.d, c.gap, c.values)
}

func unpackCases(w int) (list []microCase) {
	for _, d := range rowLengths {
		for n := range w {
			list = append(list, unpackCase{n + 1, d, (n + d) & 1 * 3, kindOf(len(list))})
		}
	}
	return list
}

func (c unpackCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	off := a.ints("off", w)
	size := rowOffsets(r, off, c.n, c.d)
	dst := a.vector("dst", size, canary)
	ld := w + c.gap
	src := a.matrix("src", c.d, w, ld, nan32)
	sum := a.vector("sum", w, nan32)
	for lane := range c.n { // NaN stays in the idle ones
		sum[lane] = c.sum(r)
		for x := range c.d {
			src[x*ld+lane] = c.values.next(r)
		}
	}
	nan := a.int32s("the returned bits", 2)
	return func(p *panelKernels) {
		bits := p.unpack(dst, off, src, ld, c.n, c.d, sum)
		bits &= 1<<c.n - 1 // 1<<64 - 1 is all of them
		nan[0], nan[1] = int32(bits), int32(bits>>32)
	}
}

// sum returns a lane's sum: as softmax makes them, and now and then one that
// makes the result zero, infinite or NaN.
func (c unpackCase) sum(r *rng) float32 {
	x := 1 + float32(r.next()&0xffffff)/0x10000
	if r.intn(4) > 0 {
		return x
	}
	odd := [...]float32{0, 0, float32(math.Copysign(0, -1)), 0x1p-149, 0x1p-128, 0x1p127, inf32, nan32}
	return odd[r.intn(len(odd))]
}

var exp2All = flag.Bool("exp2all", false, "try all arguments of exp2 from -130 to -0 (a minute)")

// TestExp2 compares the exp2 in every softmax with fallback.Exp2 on arguments
// from -130 to -0: some millions of them, or all.
func TestExp2(t *testing.T) {
	const (
		first = uint64(0x80000000) // -0
		last  = 0xc3020000         // -130
		chunk = 256 * 64
	)
	step := uint64(487)
	switch {
	case *exp2All:
		step = 1
	case thin():
		step = 9973
	}
	var x, want [chunk]float32
	bad := map[*panelKernels]bool{}
	for bits := first; bits <= last; bits += chunk * step {
		for i := range x {
			x[i] = math.Float32frombits(uint32(min(bits+uint64(i)*step, last)))
			want[i] = fallback.Exp2(x[i])
		}
		eachKernels(func(tier string, p *panelKernels) {
			if err := checkExp2(p, x[:], want[:]); err != nil && !bad[p] {
				bad[p] = true
				t.Errorf("tier=%s/lanes=%d: %v", tier, p.lanes, err)
			}
		})
	}
}

// eachKernels calls f for every tier that runs here and every width it has.
func eachKernels(f func(tier string, p *panelKernels)) {
	for i := range tiers {
		if tiers[i].lacks() != "" {
			continue
		}
		for x := range tiers[i].panels {
			f(tiers[i].name, &tiers[i].panels[x])
		}
	}
}

// checkExp2 compares the weights of scores x under a maximum of 0 with want.
func checkExp2(p *panelKernels, x, want []float32) error {
	const block = 256
	w := p.lanes
	s, top, sum := make([]float32, block*w), make([]float32, w), make([]float32, w)
	for len(x) > 0 {
		n := copy(s, x)
		p.softmax(s, w, (n+w-1)/w, top, sum)
		for i, y := range s[:n] {
			if !sameBits(y, want[i]) {
				return fmt.Errorf("exp2(%v = %08x) is %v (%08x), want %v (%08x)", x[i], math.Float32bits(x[i]),
					y, math.Float32bits(y), want[i], math.Float32bits(want[i]))
			}
		}
		x, want = x[n:], want[n:]
	}
	return nil
}
