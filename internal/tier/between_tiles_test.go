package tier

import (
	"fmt"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// A betweenCase is a call of Maxima or SoftmaxPairs.
type betweenCase struct {
	softmax bool
	lanes   int
	scale   float32
	scores  softmaxCase
}

func (c betweenCase) String() string {
	return fmt.Sprintf("softmax=%v lanes=%d scale=%g %v", c.softmax, c.lanes, c.scale, c.scores)
}

// betweenCases returns a function that lists the cases of SoftmaxPairs, or else of Maxima.
func betweenCases(softmax bool) func(int) []kernelCase {
	return func(int) (list []kernelCase) {
		for _, c := range softmaxCases(0) {
			if c := c.(softmaxCase); c.gap == 0 {
				i := len(list)
				list = append(list, betweenCase{softmax, ukernel.PanelStep * (1 + i%4), []float32{1, 0.18033688, 3}[i%3], c})
			}
		}
		return list
	}
}

func (c betweenCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	s, top, sum := c.scores.arguments(a, r, c.lanes)
	if !c.softmax {
		return func(p *kernelSet) { p.Unit.Maxima(s, c.scores.n, c.scale, top) }
	}
	for lane := range top {
		top[lane] *= c.scale
	}
	return func(p *kernelSet) {
		p.Unit.SoftmaxPairs(s, c.scores.n, c.scale, top, sum)
		for i := range s { // bits of a NaN mean nothing, nor what shares a word with one
			if lane := i % c.lanes; sum[lane] != sum[lane] {
				s[i] = 0
			}
		}
	}
}

// A factorsCase is a call of Factors, on any bits or on numbers near the least.
type factorsCase struct{ n, d, gapS, gapD int }

func (c factorsCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func factorsCases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) { list = append(list, factorsCase{n, d, gapS, gapD}) })
	return list
}

func (c factorsCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	src, dst := testutil.Rows[uint16](mem, "src", c.n, c.d, lds), testutil.Rows[uint16](mem, "dst", c.n, c.d, ldd)
	clear(dst)
	for i := range src {
		src[i] = uint16(r.Uint64())
		if r.IntN(2) == 0 {
			src[i] = uint16(contract.LeastBF16>>16-2+r.IntN(4)) | uint16(r.IntN(2))<<15
		}
	}
	return func(p *kernelSet) { p.Unit.Factors(dst, ldd, src, lds, c.n, c.d) }
}

var betweenMutants = []mutant{
	{"Unit.Maxima", "the last row is missing", func(p *kernelSet) {
		maxima := p.Unit.Maxima
		p.Unit.Maxima = func(s []float32, n int, scale float32, max []float32) { maxima(s, n&^1, scale, max) }
	}},
	{"Unit.SoftmaxPairs", "an odd row has a neighbour", func(p *kernelSet) {
		softmax := p.Unit.SoftmaxPairs
		p.Unit.SoftmaxPairs = func(s []float32, n int, scale float32, max, sum []float32) {
			softmax(s, n, scale, max, sum)
			if n%2 == 1 {
				s[n/2*len(max)] += 1
			}
		}
	}},
	{"Unit.PackPairs", "NaNs become quiet", func(p *kernelSet) {
		pack := p.Unit.PackPairs
		p.Unit.PackPairs = func(dst []uint32, ld int, src []uint32, lds, n, d int) {
			pack(dst, ld, src, lds, n, d)
			for i, w := range dst {
				if w<<1 > 0xff000000 {
					dst[i] |= 1 << 22
				}
			}
		}
	}},
	{"Unit.Factors", "the least becomes +0, too", func(p *kernelSet) {
		factors := p.Unit.Factors
		p.Unit.Factors = func(dst []uint16, ldd int, src []uint16, lds, n, d int) {
			factors(dst, ldd, src, lds, n, d)
			for i, h := range dst {
				if h&0x7fff == contract.LeastBF16>>16 {
					dst[i] = 0
				}
			}
		}
	}},
}
