package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
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
	mask                     Mask
	layout                   layout
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
func (c attnCase) tensor(b, h, l, d int, fill float32) Tensor {
	switch c.layout {
	case tokenMajor:
		return BLHD(filled(b*l*h*d, fill), b, l, h, d)
	case gaps:
		sl := d + 3
		sh := l*sl + 5
		sb := h*sh + 1
		return Strided(filled(b*sb+1, fill)[1:], [4]int{b, h, l, d}, [3]int{sb, sh, sl})
	default:
		return BHLD(filled(b*h*l*d, fill), b, h, l, d)
	}
}

func filled(n int, x float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// rowOf returns row (b, h, l) of t.
func rowOf(t *Tensor, b, h, l int) []float32 {
	at := t.at(b, h, l)
	return t.f32[at : at+t.shape[3]]
}

// eachRow calls f for every row of t.
func eachRow(t *Tensor, f func(b, h, l int, row []float32)) {
	for b := range t.shape[0] {
		for h := range t.shape[1] {
			for l := range t.shape[2] {
				f(b, h, l, rowOf(t, b, h, l))
			}
		}
	}
}

// inputs makes the case's q, k and v; what lies between rows is NaN.
func (c attnCase) inputs() (q, k, v Tensor) {
	nan := float32(math.NaN())
	q = c.tensor(c.b, c.h, c.lq, c.d, nan)
	k = c.tensor(c.b, c.hkv, c.lk, c.d, nan)
	v = c.tensor(c.b, c.hkv, c.lk, c.dv, nan)
	r := rng(c.seed + 1)
	for _, t := range []*Tensor{&q, &k, &v} {
		eachRow(t, func(_, _, _ int, row []float32) { r.fill(row) })
	}
	return q, k, v
}

// job plans the case for one thread of a tier that need not be in the list.
func (c attnCase) job(t *tier, out, q, k, v Tensor) *job {
	j := newJob()
	j.problem = problem{
		out: out, q: q, k: k, v: v, mask: c.mask, perRow: c.mask.perRow(),
		group: c.h / c.hkv, scale: log2Scale(c.scale, c.d),
	}
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
func (c attnCase) run(t *testing.T, q, k, v Tensor, opts Options) Tensor {
	t.Helper()
	out := c.tensor(c.b, c.h, c.lq, c.dv, canary)
	opts.Scale, opts.Mask = c.scale, c.mask
	if err := Attention(out, q, k, v, opts); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	checkGaps(t, &out)
	return out
}

// checkGaps fails if an element of out's slice that belongs to no row changed.
func checkGaps(t *testing.T, out *Tensor) {
	t.Helper()
	inRow := make([]bool, len(out.f32))
	eachRow(out, func(b, h, l int, row []float32) {
		at := out.at(b, h, l)
		for i := range row {
			inRow[at+i] = true
		}
	})
	for i, x := range out.f32 {
		if !inRow[i] && x != canary {
			t.Fatalf("element %d, in a gap, was overwritten with %v", i, x)
		}
	}
}

// same fails unless a and b hold the same bits.
func same(t *testing.T, what string, a, b *Tensor) {
	t.Helper()
	if a.shape != b.shape {
		t.Fatalf("%s: shapes %v and %v", what, a.shape, b.shape)
	}
	eachRow(a, func(bb, h, l int, row []float32) {
		if t.Failed() {
			return
		}
		want := rowOf(b, bb, h, l)
		for e := range row {
			if math.Float32bits(row[e]) != math.Float32bits(want[e]) {
				t.Errorf("%s: [%d %d %d %d] is %v (%08x), want %v (%08x)", what, bb, h, l, e,
					row[e], math.Float32bits(row[e]), want[e], math.Float32bits(want[e]))
				return
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// contract computes the case as the package documentation defines it, row by
// row, key by key: no panels, no tiles, no lanes.
func (c attnCase) contract(q, k, v Tensor) Tensor {
	out := c.tensor(c.b, c.h, c.lq, c.dv, canary)
	scale := log2Scale(c.scale, c.d)
	eachRow(&out, func(b, h, i int, row []float32) {
		kh := h / (c.h / c.hkv)
		keys := c.mask.span(b, i, c.lk)
		contractRow(row, rowOf(&q, b, h, i), scale, keys,
			func(j int) []float32 { return rowOf(&k, b, kh, j) },
			func(j int) []float32 { return rowOf(&v, b, kh, j) })
	})
	return out
}

func contractRow(out, q []float32, scale float32, keys span, key, value func(j int) []float32) {
	qs := make([]float32, len(q))
	for d := range q {
		qs[d] = q[d] * scale
	}
	o := make([]float32, len(out))
	m, l := float32(math.Inf(-1)), float32(0)
	first := true
	for lo := 0; lo < keys.hi; lo += blockKeys {
		var s []float32
		var visible []int
		mb := float32(math.Inf(-1))
		for j := max(lo, keys.lo); j < min(lo+blockKeys, keys.hi); j++ {
			acc := float32(0)
			for d, x := range key(j) {
				acc = fallback.FMA(qs[d], x, acc)
			}
			if math.IsInf(float64(acc), -1) {
				continue
			}
			s, visible = append(s, acc), append(visible, j)
			if acc > mb {
				mb = acc
			}
		}
		if len(s) == 0 {
			continue
		}
		lb, ob := float32(0), make([]float32, len(out))
		for x, j := range visible {
			p := fallback.Exp2(s[x] - mb)
			lb += p
			for e, y := range value(j) {
				ob[e] = fallback.FMA(p, y, ob[e])
			}
		}
		if first {
			m, l, o, first = mb, lb, ob, false
			continue
		}
		mm := max(m, mb)
		a, bb := fallback.Exp2(m-mm), fallback.Exp2(mb-mm)
		l = fallback.FMA(lb, bb, float32(l*a))
		for e := range o {
			o[e] = fallback.FMA(ob[e], bb, float32(o[e]*a))
		}
		m = mm
	}
	if first {
		clear(out)
		return
	}
	inv, nan := 1/l, false
	for e := range out {
		out[e] = float32(o[e]*inv) + 0
		nan = nan || out[e] != out[e]
	}
	if nan {
		for e := range out {
			out[e] = canonicalNaN
		}
	}
}
