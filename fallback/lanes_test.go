package fallback

import (
	"math"
	"math/rand/v2"
	"testing"
)

var (
	inf     = float32(math.Inf(1))
	nan     = float32(math.NaN())
	negZero = float32(math.Copysign(0, -1))
)

func TestMaskSpan(t *testing.T) {
	// rows 10..13 of 5 lanes, one element between rows
	const w, ld, j0, n = 5, 6, 10, 4
	lo := []int32{0, 11, 12, 13, 0}
	hi := []int32{100, 13, 12, math.MaxInt32, 11}
	s := make([]float32, (n-1)*ld+w)
	for i := range s {
		s[i] = float32(i)
	}
	s[1*ld+1] = nan // visible: it stays, but is no maximum
	s[2*ld+2] = nan // hidden
	top := []float32{-inf, -inf, -inf, 50, 3}
	maskSpan(s, ld, j0, n, lo, hi, top)
	equal(t, "s", s, []float32{
		0, -inf, -inf, -inf, 4, 5,
		6, nan, -inf, -inf, -inf, 11,
		12, 13, -inf, -inf, -inf, 17,
		18, -inf, -inf, 21, -inf,
	})
	equal(t, "max", top, []float32{18, 13, -inf, 50, 4})
}

func TestMaskSpanZeros(t *testing.T) {
	// x > y fails between zeros, so y, the older, stays
	top := []float32{0, negZero}
	maskSpan([]float32{negZero, 0}, 2, 0, 1, []int32{0, 0}, []int32{1, 1}, top)
	equal(t, "max", top, []float32{0, negZero})
}

func TestSoftmax(t *testing.T) {
	// one column a case, and a gap
	const w, ld = 8, 9
	s := []float32{
		1, -inf, -inf, 5, inf, 0, -1000, nan, canary,
		0, -inf, nan, -inf, 1, negZero, 0, 1, canary,
		-1, -inf, -inf, 4, -inf, -100.25, -100, 0,
	}
	top := []float32{1, -inf, -inf, 5, inf, 0, 0, 1}
	sum := []float32{9, 9, 9, 9, nan, 9, 9, 9}
	softmax(s, ld, 3, top, sum)
	equal(t, "p", s, []float32{
		1, 0, 0, 1, nan, 1, 0, nan, canary,
		0.5, 0, nan, 0, 0, 1, 1, 1, canary,
		0.25, 0, 0, 0.5, 0, 0, 0x1p-100, 0.5,
	})
	equal(t, "sum", sum, []float32{1.75, 0, nan, 1.5, nan, 2, 1, nan})
	softmax(nil, ld, 0, top, sum)
	equal(t, "sum of nothing", sum, make([]float32, w))
}

// The sum is taken in the order of the rows.
func TestSoftmaxOrder(t *testing.T) {
	s := []float32{0, -25, -25, -25, -25}
	sum := []float32{0}
	softmax(s, 1, len(s), []float32{0}, sum)
	equal(t, "large first", sum, []float32{1})
	s = []float32{-25, -25, -25, -25, 0}
	softmax(s, 1, len(s), []float32{0}, sum)
	equal(t, "small first", sum, []float32{1 + 0x1p-23})
}

func TestMergeStats(t *testing.T) {
	for _, c := range []struct{ max, sum, blockMax, blockSum, wantMax, wantSum, alpha, beta float32 }{
		{2, 3, 2, 5, 2, 8, 1, 1},
		{2, 3, 1, 5, 2, 5.5, 1, 0.5},
		{1, 3, 3, 5, 3, 5.75, 0.25, 1},
		{-inf, 0, 3, 5, 3, 5, 0, 1},
		{3, 5, -inf, 0, 3, 5, 1, 0},
		{-inf, 0, -inf, 0, -inf, 0, 0, 0},
		{-500, 3, 500, 5, 500, 5, 0, 1},
		{0, 1, negZero, 1, 0, 2, 1, 1},
		{inf, 1, 0, 1, inf, nan, nan, 0},
		{0, 1, inf, 1, inf, nan, 0, nan},
		{0, nan, 1, 1, 1, nan, 0.5, 1},
		{-inf, 0, -inf, nan, -inf, nan, 0, 0},
		{2, 1, 1, 0x1p-24, 2, 1, 1, 0.5},
	} {
		top, sum := []float32{c.max}, []float32{c.sum}
		alpha, beta := []float32{9}, []float32{9}
		mergeStats(top, sum, []float32{c.blockMax}, []float32{c.blockSum}, alpha, beta)
		equal(t, "max, sum, alpha, beta", []float32{top[0], sum[0], alpha[0], beta[0]}, []float32{c.wantMax, c.wantSum, c.alpha, c.beta})
	}
}

func TestPackUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, w := range []int{1, 4, 8, 13, 64} {
		for n := 1; n <= w; n += 1 + w/5 {
			for _, d := range []int{0, 1, 3, 16} {
				rows := newMatrix(r, n, d, 2)
				off := make([]int, w)
				for lane := range off {
					off[lane] = min(lane, n-1) * rows.stride
				}
				panel := newMatrix(r, d, w, 1)
				pack(panel.x, panel.stride, rows.x, off, n, d, 0.5)

				sum := make([]float32, w)
				for lane := range sum {
					sum[lane] = 0.5
				}
				back := rows.clone()
				for i := range back.x {
					if i%rows.stride < d {
						back.x[i] = 7
					}
				}
				if nans := unpack(back.x, off, panel.x, panel.stride, n, d, sum); nans != 0 {
					t.Fatalf("NaNs in lanes %b", nans)
				}
				for i, x := range rows.x {
					rows.x[i] = x + 0 // Unpack leaves no -0
				}
				equal(t, "rows", back.x, rows.x)
			}
		}
	}
}

func TestUnpack(t *testing.T) {
	// rows: of sum 0, with a NaN, of sum NaN, with Inf, with -0, of another lane
	src := []float32{
		1, 1, 1, 6, negZero, nan,
		-1, nan, 2, inf, -3, nan,
	}
	sum := []float32{0, 1, nan, 3, 3, 1}
	off := []int{8, 6, 4, 2, 0, 0}
	dst := make([]float32, 11)
	dst[10] = canary
	nans := unpack(dst, off, src, 6, 5, 2, sum)
	if nans &= 1<<5 - 1; nans != 0b00110 {
		t.Errorf("NaN lanes %05b, want 00110", nans)
	}
	equal(t, "dst", dst, []float32{0, -1, 2, inf, nan, nan, 1, nan, 0, 0, canary})
}
