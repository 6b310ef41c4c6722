package tier

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A softmaxCase is a call of Softmax, or of SoftmaxBF16.
type softmaxCase struct {
	n, gap int
	lanes  scoreKind
	bf16   bool
}

// A scoreKind is a kind of scores of a lane.
type scoreKind int

const (
	closeScores   scoreKind = iota // weights of all sizes
	farScores                      // most weights 0
	edgeScores                     // around the cut-offs of weights and exp2, and its ties, from a maximum of 0
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

// exp2Edges are arguments around the ties of exp2, and the cut-offs of weights and exp2.
var exp2Edges = []float32{
	0, float32(math.Copysign(0, -1)), -0x1p-149, -0x1.fffffcp-127, -0x1p-126, -0x1p-30, -0x1p-24, -0x1p-23,
	-0.49999997, -0.5, -0.50000006, -1, -1.4999999, -1.5, -1.5000001, -2.5, -3.5, -64.5,
	-55, -55.5, -56, -56.002815, -56.00282, -56.002823, -56.5, -99.5, -99.99999, -100, -100.00001, -100.5, -101,
	-124.5, -125, -125.49999, -125.5, -125.50001, -125.99999, -126, -126.00001, -126.5, -127, -127.5,
	-149, -149.5, -150, -151, -255.5, -256, -1e4, -0x1p22, -0x1.8p23, -0x1p31, -1e30, -math.MaxFloat32, -testutil.Inf,
}

func (c softmaxCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d scores=%d bf16=%v", c.n, c.gap, c.lanes, c.bf16)
}

func softmaxCases(int) (list []kernelCase) {
	for lanes := range mixedKinds + 1 {
		for _, gap := range []int{0, 5} {
			for _, n := range upTo(20, 255, 256) {
				list = append(list, softmaxCase{n, gap, lanes, false})
			}
		}
	}
	return list
}

func softmaxBF16Cases(w int) (list []kernelCase) {
	for _, x := range softmaxCases(w) {
		c := x.(softmaxCase)
		c.bf16 = true
		list = append(list, c)
	}
	return list
}

func (c softmaxCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	s, top, sum := c.arguments(a, r, w)
	return func(p *kernelSet) {
		softmax := p.Softmax
		if c.bf16 {
			softmax = p.SoftmaxBF16
		}
		softmax(s, w+c.gap, c.n, top, sum)
	}
}

// arguments returns the arguments of the call: scores, their maxima, and memory for the
// sums.
func (c softmaxCase) arguments(a *testutil.Arena, r *testutil.Rand, w int) (s, top, sum []float32) {
	ld := w + c.gap
	s = a.Matrix("s", c.n, w, ld, testutil.Canary)
	top, sum = a.Vector("max", w, 0), a.Vector("sum", w, testutil.NaN)
	for lane := range w {
		kind := c.lanes
		if kind == mixedKinds {
			kind = scoreKind(r.IntN(int(scoreKinds)))
		}
		top[lane] = -testutil.Inf
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
func (k scoreKind) next(r *testutil.Rand) float32 {
	rare := r.IntN(6) == 0
	switch {
	case k == farScores:
		return testutil.Mantissas.Next(r)
	case k == edgeScores:
		return exp2Edges[r.IntN(len(exp2Edges))]
	case k == shiftedEdges:
		return edgeShift + exp2Edges[r.IntN(len(exp2Edges))]
	case k == allHidden, k == someHidden && rare:
		return -testutil.Inf
	case k == hiddenOrNaN:
		return []float32{-testutil.Inf, testutil.NaN}[r.IntN(2)]
	case k == someNaN && rare:
		return testutil.NaN
	case k == someInfinite && rare:
		return testutil.Inf
	case k == extremeScores:
		return testutil.Specials.Next(r)
	}
	return 8 * testutil.Dyadics.Next(r) / 3
}

// A mergeStatsCase is a call of MergeStats: ordinary numbers, or combinations of special
// ones, one per lane.
type mergeStatsCase struct {
	first int  // combination, -1 for none
	apart bool // the maxima, by more than exp2's range
}

func (c mergeStatsCase) String() string {
	if c.first < 0 {
		return "ordinary numbers"
	}
	return fmt.Sprintf("combinations from %d on, apart=%v", c.first, c.apart)
}

func mergeStatsCases(w int) (list []kernelCase) {
	for range 256 {
		list = append(list, mergeStatsCase{-1, false})
	}
	for turn := range 6 {
		for first := 0; first < 6*6*6*6; first += w {
			list = append(list, mergeStatsCase{first + turn, turn&1 == 1}) // every combination in several lanes
		}
	}
	return list
}

func (c mergeStatsCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	top, sum := a.Vector("max", w, 0), a.Vector("sum", w, 0)
	blockMax, blockSum := a.Vector("blockMax", w, 0), a.Vector("blockSum", w, 0)
	alpha, beta := a.Vector("alpha", w, testutil.NaN), a.Vector("beta", w, testutil.NaN)
	for lane := range w {
		i, j, k, l := 1, 1, 1, 1
		if x := c.first + lane; c.first >= 0 {
			i, j, k, l = x%6, x/6%6, x/36%6, x/216%6
		}
		top[lane], blockMax[lane] = c.maximum(r, i), c.maximum(r, j)
		sum[lane], blockSum[lane] = someSum(r, k), someSum(r, l)
	}
	return func(p *kernelSet) { p.MergeStats(top, sum, blockMax, blockSum, alpha, beta) }
}

func (c mergeStatsCase) maximum(r *testutil.Rand, i int) float32 {
	x := testutil.Dyadics.Next(r) / 3
	if c.apart {
		x *= 128
	}
	return [...]float32{-testutil.Inf, x, exp2Edges[r.IntN(len(exp2Edges))], testutil.Zeros.Next(r), testutil.Inf, testutil.NaN}[i]
}

func someSum(r *testutil.Rand, i int) float32 {
	x := float32(math.Abs(float64(testutil.Mantissas.Next(r))))
	return [...]float32{0, x, 256 * x, testutil.Tinies.Next(r) * 0x1p-70, testutil.Inf, testutil.NaN}[i]
}

var exp2All = flag.Bool("exp2all", false, "try all arguments of exp2 from -130 to -0 (a minute)")

// TestExp2 compares the exp2 in every softmax with scalar.Weight on arguments
// from -130 to -0: some millions of them, or all.
func TestExp2(t *testing.T) {
	const (
		first = uint64(0x80000000) // -0
		last  = 0xc3020000         // -130
		chunk = 256 * 64
	)
	step := sampling(*exp2All, 487, 9973)
	var x, want [chunk]float32
	bad := map[string]bool{}
	for bits := first; bits <= last; bits += chunk * step {
		for i := range x {
			x[i] = math.Float32frombits(uint32(min(bits+uint64(i)*step, last)))
			want[i] = scalar.Weight(x[i])
		}
		eachTile(func(tier *Tier, p *kernelSet) {
			name := fmt.Sprintf("tier=%s/lanes=%d", tier.Name, p.Lanes)
			if bad[name] {
				return
			}
			if err := checkExp2(p, x[:], want[:]); err != nil {
				bad[name] = true
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// checkExp2 compares the weights of scores x under a maximum of 0 with want.
func checkExp2(p *kernelSet, x, want []float32) error {
	w := p.Lanes
	s, top, sum := make([]float32, blockKeys*w), make([]float32, w), make([]float32, w)
	for len(x) > 0 {
		n := copy(s, x)
		p.Softmax(s, w, (n+w-1)/w, top, sum)
		for i, y := range s[:n] {
			if !testutil.SameBits(y, want[i]) {
				return fmt.Errorf("exp2(%v = %08x) is %v (%08x), want %v (%08x)", x[i], math.Float32bits(x[i]),
					y, math.Float32bits(y), want[i], math.Float32bits(want[i]))
			}
		}
		x, want = x[n:], want[n:]
	}
	return nil
}

var softmaxMutants = []mutant{
	{"Softmax", "the sum is descending", spoilSum(func(p []float32) (sum float32) {
		for i := len(p) - 1; i >= 0; i-- {
			sum += p[i]
		}
		return sum
	})},
	{"Softmax", "even and odd weights are summed apart", spoilSum(func(p []float32) float32 {
		var sum [2]float32
		for i, x := range p {
			sum[i&1] += x
		}
		return sum[0] + sum[1]
	})},
	{"Softmax", "the weight at the cut-off is 0", spoilWeight(func(x, p float32) float32 {
		if x == -100 {
			return 0
		}
		return p
	})},
	{"Softmax", "weights below the cut-off", spoilWeight(func(x, p float32) float32 {
		if x < -100 && x > -100.1 {
			return math.Float32frombits(1)
		}
		return p
	})},
	{"Softmax", "hidden lanes become NaN", spoilWeight(func(x, p float32) float32 {
		if x != x { // -Inf - -Inf
			return x
		}
		return p
	})},
	{"Softmax", "NaN becomes 0", spoilWeight(func(x, p float32) float32 {
		if x != x {
			return 0
		}
		return p
	})},
	{"SoftmaxBF16", "weights are not rounded", func(p *kernelSet) { p.SoftmaxBF16 = p.Softmax }},
	{"SoftmaxBF16", "the weight at the cut-off is 0", func(p *kernelSet) {
		softmax := p.SoftmaxBF16
		p.SoftmaxBF16 = func(s []float32, ld, n int, max, sum []float32) {
			softmax(s, ld, n, max, sum)
			for j := range n {
				if s[j*ld] == 0x1p-56 {
					s[j*ld] = 0
				}
			}
		}
	}},
	{"MergeStats", "the other product is rounded", func(p *kernelSet) {
		merge := p.MergeStats
		p.MergeStats = func(top, sum, blockMax, blockSum, alpha, beta []float32) {
			old := sum[0]
			merge(top, sum, blockMax, blockSum, alpha, beta)
			sum[0] = scalar.FMA(old, alpha[0], float32(blockSum[0]*beta[0]))
		}
	}},
	{"MergeStats", "a side without a key makes NaN", func(p *kernelSet) {
		merge := p.MergeStats
		p.MergeStats = func(top, sum, blockMax, blockSum, alpha, beta []float32) {
			merge(top, sum, blockMax, blockSum, alpha, beta)
			if math.IsInf(float64(top[0]), -1) {
				alpha[0] = testutil.NaN
			}
		}
	}},
}

// spoilSum replaces the first lane's sum by f of its weights.
func spoilSum(f func(p []float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		softmax := p.Softmax
		p.Softmax = func(s []float32, ld, n int, max, sum []float32) {
			softmax(s, ld, n, max, sum)
			column := make([]float32, n)
			for j := range column {
				column[j] = s[j*ld]
			}
			sum[0] = f(column)
		}
	}
}

// spoilWeight replaces the first lane's weights, but not its sum. x is the score less the
// maximum.
func spoilWeight(f func(x, p float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		softmax := p.Softmax
		p.Softmax = func(s []float32, ld, n int, max, sum []float32) {
			x := make([]float32, n)
			for j := range x {
				x[j] = s[j*ld] - max[0]
			}
			softmax(s, ld, n, max, sum)
			for j := range x {
				s[j*ld] = f(x[j], s[j*ld])
			}
		}
	}
}
