package fallback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A matrix is rows × cols elements in a slice that ends at the last one, with
// stride - cols elements between the rows that no kernel may touch.
type matrix struct {
	x                  []float32
	rows, cols, stride int
}

// canary fills the gaps between rows. A kernel that read it would spread it.
var canary = math.Float32frombits(0x7fc0beef)

func newMatrix(r *rand.Rand, rows, cols, gap int) matrix {
	m := matrix{rows: rows, cols: cols, stride: cols + gap}
	if rows == 0 || cols == 0 {
		return m
	}
	m.x = make([]float32, (rows-1)*m.stride+cols)
	for i := range m.x {
		m.x[i] = canary
		if i%m.stride < cols {
			m.x[i] = number(r)
		}
	}
	return m
}

// number returns a random float32: mostly plain, sometimes tiny, small and
// integer, or zero of either sign.
func number(r *rand.Rand) float32 {
	switch r.IntN(8) {
	case 0:
		return random(r, between(r, -75, -60))
	case 1:
		return float32(r.IntN(1<<13) - 1<<12)
	case 2:
		return math.Float32frombits(r.Uint32() & (1 << 31))
	}
	return random(r, between(r, -3, 3))
}

func (m matrix) clone() matrix {
	m.x = append([]float32(nil), m.x...)
	return m
}

// equal reports the first element, gaps included, at which got differs from want.
func equal(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
			t.Fatalf("%s[%d] = %x, want %x", what, i, got[i], want[i])
		}
	}
}

func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for m := range 6 {
		for k := range 10 {
			for _, gap := range []int{0, 1, 3, 8} {
				for i, cs := range []int{1, 2, 5} {
					testGemm(t, r, m, k, [...]int{math.MaxInt, 1, 2, 4, 9}[(i+gap+k)%5], gap, cs)
				}
			}
		}
	}
}

// testGemm compares the three products with their references.
func testGemm(t *testing.T, r *rand.Rand, m, k, seg, gap, cs int) {
	a := newMatrix(r, m*k, 1, cs-1)    // row after row, cs between neighbours
	c := newMatrix(r, m, lanes, gap)   // also what is there before
	b := newMatrix(r, k, lanes, gap^1) // another stride than c
	s := newMatrix(r, 3, lanes, 0)     // statistics per lane
	rs := k * cs
	lane := func(i int) []float32 { return s.x[i*lanes:][:lanes:lanes] }

	for _, load := range []bool{false, true} {
		got, want := c.clone(), c.clone()
		gemm(got.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, seg, load)
		testutil.Gemm(lanes, want.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, seg, load)
		equal(t, fmt.Sprintf("Gemm(m=%d k=%d seg=%d gap=%d cs=%d load=%v)", m, k, seg, gap, cs, load), got.x, want.x)
	}

	got, want := c.clone(), c.clone()
	gotMax, wantMax := append([]float32(nil), lane(0)...), append([]float32(nil), lane(0)...)
	gemmMax(got.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, seg, gotMax)
	testutil.GemmMax(lanes, want.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, seg, wantMax)
	equal(t, "GemmMax", got.x, want.x)
	equal(t, "GemmMax max", gotMax, wantMax)

	got, want = c.clone(), c.clone()
	gemmMerge(got.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, lane(1), lane(2))
	testutil.GemmMerge(lanes, want.x, c.stride, a.x, rs, cs, b.x, b.stride, m, k, lane(1), lane(2))
	equal(t, "GemmMerge", got.x, want.x)
}

// A[i][x] may also lie in columns: rs = 1.
func TestGemmColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	const m, k = 5, 7
	a, b := newMatrix(r, k, m, 2), newMatrix(r, k, lanes, 0)
	got, want := make([]float32, m*lanes), make([]float32, m*lanes)
	gemm(got, lanes, a.x, 1, a.stride, b.x, b.stride, m, k, k, false)
	for i := range m {
		for lane := range lanes {
			for x := range k {
				p := &want[i*lanes+lane]
				*p = scalar.FMA(a.x[x*a.stride+i], b.x[x*b.stride+lane], *p)
			}
		}
	}
	equal(t, "Gemm", got, want)
}

// GemmW of a wide tile is GemmW of its lanes.
func TestGemmWidth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const w, m, k = 13, 3, 5
	a, b, c := newMatrix(r, m, k, 0), newMatrix(r, k, w, 1), newMatrix(r, m, w, 2)
	wide, narrow := c.clone(), c.clone()
	testutil.Gemm(w, wide.x, c.stride, a.x, k, 1, b.x, b.stride, m, k, 3, true)
	for lane := range w {
		testutil.Gemm(1, narrow.x[lane:], c.stride, a.x, k, 1, b.x[lane:], b.stride, m, k, 3, true)
	}
	equal(t, "GemmW", narrow.x, wide.x)
}

func TestGemmNonFinite(t *testing.T) {
	b := []float32{0, 1, -1, inf, -inf, nan, 2, 3}
	c := make([]float32, lanes)
	top := []float32{7, 7, 7, 7, 7, 7, 7, -inf}
	gemmMax(c, lanes, []float32{2}, 1, 1, b, lanes, 1, 1, 1, top)
	equal(t, "GemmMax", c, []float32{0, 2, -2, inf, -inf, nan, 4, 6})
	equal(t, "max", top, []float32{7, 7, 7, inf, 7, 7, 7, 6})

	// 0·Inf and Inf-Inf
	gemm(c, lanes, []float32{0, 1}, 2, 1, append(b, b...), lanes, 1, 2, 2, false)
	equal(t, "Gemm", c, []float32{0, 1, -1, nan, nan, nan, 2, 3})
}

// Slices that are too short must panic, even where their capacity would do.
func TestShortSlices(t *testing.T) {
	const n, d = 3, 5
	full := func(n int) []float32 { return make([]float32, n) }
	for _, c := range []struct {
		name string
		call func(cut int)
	}{
		{"Gemm c", func(cut int) {
			gemm(full(n * lanes)[:n*lanes-cut], lanes, full(n*d), d, 1, full(d*lanes), lanes, n, d, 2, true)
		}},
		{"Gemm a", func(cut int) {
			gemm(full(n*lanes), lanes, full(n * d)[:n*d-cut], d, 1, full(d*lanes), lanes, n, d, 2, true)
		}},
		{"Gemm b", func(cut int) {
			gemm(full(n*lanes), lanes, full(n*d), d, 1, full(d * lanes)[:d*lanes-cut], lanes, n, d, 2, true)
		}},
		{"GemmMax max", func(cut int) {
			gemmMax(full(n*lanes), lanes, full(n*d), d, 1, full(d*lanes), lanes, n, d, d, full(lanes)[:lanes-cut])
		}},
		{"MaskSpan s", func(cut int) { maskSpan(full(n * d)[:n*d-cut], d, 0, n, make([]int32, d), make([]int32, d), full(d)) }},
		{"MaskSpan hi", func(cut int) { maskSpan(full(n*d), d, 0, n, make([]int32, d), make([]int32, d)[:d-cut], full(d)) }},
		{"Softmax s", func(cut int) { softmax(full(n * d)[:n*d-cut], d, n, full(d), full(d)) }},
		{"Softmax sum", func(cut int) { softmax(full(n*d), d, n, full(d), full(d)[:d-cut]) }},
		{"MergeStats beta", func(cut int) { mergeStats(full(d), full(d), full(d), full(d), full(d), full(d)[:d-cut]) }},
		{"Pack dst", func(cut int) { pack(full(d * n)[:d*n-cut], n, full(n*d), []int{0, d, 2 * d}, n, d, 1) }},
		{"Pack src", func(cut int) { pack(full(d*n), n, full(n * d)[:n*d-cut], []int{0, d, 2 * d}, n, d, 1) }},
		{"Unpack dst", func(cut int) { unpack(full(n * d)[:n*d-cut], []int{0, d, 2 * d}, full(d*n), n, n, d, full(n)) }},
		{"Unpack src", func(cut int) { unpack(full(n*d), []int{0, d, 2 * d}, full(d * n)[:d*n-cut], n, n, d, full(n)) }},
		{"Unpack off", func(cut int) { unpack(full(n*d), []int{0, d, 2 * d}[:n-cut], full(d*n), n, n, d, full(n)) }},
	} {
		if panics(func() { c.call(0) }) {
			t.Errorf("%s: panics", c.name)
		}
		if !panics(func() { c.call(1) }) {
			t.Errorf("%s: one element short, and no panic", c.name)
		}
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return
}

// random returns a float32 of random sign and mantissa whose exponent is e.
func random(r *rand.Rand, e int) float32 {
	return float32(math.Ldexp(1+float64(r.Uint32N(1<<23))/(1<<23), e)) * float32(1-2*r.IntN(2))
}

// between returns a random integer from [lo, hi].
func between(r *rand.Rand, lo, hi int) int { return lo + r.IntN(hi-lo+1) }
