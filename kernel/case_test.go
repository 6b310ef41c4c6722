package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// A rng makes test data of integers alone, so that they are the same on every
// architecture (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *rng) intn(n int) int { return int(r.next() % uint64(n)) }

// dyadic is a multiple of 2^-16 in [-2, 2).
func (r *rng) dyadic() float32 { return float32(int(r.next()&0x3ffff)-0x20000) / 0x10000 }

func (r *rng) fill(x []float32) {
	for i := range x {
		x[i] = r.dyadic()
	}
}

// An attnCase is a full call with its data.
type attnCase struct {
	b, h, hkv, lq, lk, d, dv int
	scale                    float32
	mask                     kernel.Mask
	layout                   layout
	types                    callTypes
	seed                     uint64
}

// layout says how a case's tensors lie in memory.
type layout int

const (
	contiguous layout = iota // BHLD
	tokenMajor               // BLHD
	gaps                     // BHLD with gaps of canaries between rows, heads, batches and before the start
	layouts
)

func (c attnCase) String() string {
	return fmt.Sprintf("b%d_h%d_hkv%d_lq%d_lk%d_d%d_dv%d_layout%d", c.b, c.h, c.hkv, c.lq, c.lk, c.d, c.dv, c.layout)
}

// tensor makes a tensor of the case's layout over new memory, all of it fill.
func (c attnCase) tensor(b, h, l, d int, fill float32) kernel.Tensor {
	switch c.layout {
	case tokenMajor:
		return kernel.BLHD(filled(b*l*h*d, fill), b, l, h, d)
	case gaps:
		sl := d + 3
		sh := l*sl + 5
		sb := h*sh + 1
		return kernel.Strided(filled(b*sb+1, fill)[1:], [4]int{b, h, l, d}, [3]int{sb, sh, sl})
	default:
		return kernel.BHLD(filled(b*h*l*d, fill), b, h, l, d)
	}
}

func filled(n int, x float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// rowOf returns row (b, h, l) of t, a copy if that is not of float32.
func rowOf(t *kernel.Tensor, b, h, l int) []float32 {
	if t.dtype != kernel.Float32 {
		wide := t.widened()
		return rowOf(&wide, b, h, l)
	}
	at := t.index(b, h, l)
	return t.f32[at : at+t.shape[3]]
}

// eachRow calls f for every row of t, or with copies as rowOf has them.
func eachRow(t *kernel.Tensor, f func(b, h, l int, row []float32)) {
	wide := t.widened()
	for b := range t.shape[0] {
		for h := range t.shape[1] {
			for l := range t.length(b) {
				f(b, h, l, rowOf(&wide, b, h, l))
			}
		}
	}
}

// inputs makes the case's q, k and v; what lies between rows is NaN.
func (c attnCase) inputs() (q, k, v kernel.Tensor) {
	nan := float32(math.NaN())
	q = c.tensor(c.b, c.h, c.lq, c.d, nan)
	k = c.tensor(c.b, c.hkv, c.lk, c.d, nan)
	v = c.tensor(c.b, c.hkv, c.lk, c.dv, nan)
	r := rng(c.seed + 1)
	for _, t := range []*kernel.Tensor{&q, &k, &v} {
		eachRow(t, func(_, _, _ int, row []float32) { r.fill(row) })
	}
	return q, k, v
}

// job plans the case for one thread of a tier that need not be in the list.
func (c attnCase) job(t *tier, out, q, k, v kernel.Tensor) *job {
	j := newJob()
	j.problem.set(&out, &q, &k, &v, &kernel.Options{Scale: c.scale, Mask: c.mask})
	j.plan(t, 1)
	return j
}

// withMain is the tier with another main width.
func (t *tier) withMain(lanes int) *tier {
	other := *t
	other.main = func() int { return lanes }
	return &other
}

const canary = 12345.5

// run runs the case and returns out; the test fails if out's gaps were touched.
func (c attnCase) run(t *testing.T, q, k, v kernel.Tensor, opts kernel.Options) kernel.Tensor {
	t.Helper()
	out := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out)
	opts.Scale, opts.Mask = c.scale, c.mask
	if err := kernel.Attention(out, q, k, v, opts); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	checkGaps(t, &out)
	return out
}

// checkGaps fails if an element of out's slice that belongs to no row changed.
func checkGaps(t *testing.T, out *kernel.Tensor) {
	t.Helper()
	inRow := make([]bool, out.len())
	eachRow(out, func(b, h, l int, row []float32) {
		at := out.index(b, h, l)
		for i := range row {
			inRow[at+i] = true
		}
	})
	untouched := kernel.BHLD([]float32{canary}, 1, 1, 1, 1).as(out.dtype)
	for i := range inRow {
		if !inRow[i] && out.bits(i) != untouched.bits(0) {
			t.Fatalf("element %d, in a gap, was overwritten with %#x", i, out.bits(i))
		}
	}
}

// same fails unless a and b hold the same bits.
func same(t *testing.T, what string, a, b *kernel.Tensor) {
	t.Helper()
	if a.shape != b.shape || a.dtype != b.dtype {
		t.Fatalf("%s: %v %v and %v %v", what, a.dtype, a.shape, b.dtype, b.shape)
	}
	wide, want := a.widened(), b.widened()
	eachRow(&wide, func(bb, h, l int, row []float32) {
		if t.Failed() {
			return
		}
		for e := range row {
			if x, y := a.bits(a.index(bb, h, l)+e), b.bits(b.index(bb, h, l)+e); x != y {
				t.Errorf("%s: [%d %d %d %d] is %v (%#x), want %v (%#x)", what, bb, h, l, e, row[e], x, rowOf(&want, bb, h, l)[e], y)
				return
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// contract computes the case as the package documentation defines it; see
// model_test.go.
func (c attnCase) contract(q, k, v kernel.Tensor) kernel.Tensor {
	out := c.tensor(c.b, c.h, c.lq, c.dv, canary)
	ref := newModel(q, k, v, &kernel.Options{Scale: c.scale, Mask: c.mask})
	eachRow(&out, func(b, h, i int, row []float32) { copy(row, ref.row(b, h, i).out) })
	return out.as(c.types.out)
}
