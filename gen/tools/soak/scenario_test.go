package soak

import (
	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/rope"
)

// A scenario makes calls with random arguments and returns all outputs. The same random
// numbers give the same calls.
type scenario struct {
	name string
	run  func(r *rand.Rand, e kernel.Exec) ([]float32, error)
}

var scenarios = []scenario{
	{"attention", attention},
	{"attention of 16 bits", halves},
	{"additive", additive},
	{"partials", partials},
	{"cache", cache},
	{"linear", linearLayer},
	{"norm", norms},
	{"rope", rotary},
	{"multi-head", multiHead},
}

func floats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// between returns a number from lo to hi.
func between(r *rand.Rand, lo, hi int) int { return lo + r.IntN(hi-lo+1) }

// A shape is the shape of a call of attention.
type shape struct{ b, h, kv, lq, lk, d, dv int }

// randomShape is a shape of a prompt or of decoding, or any shape.
func randomShape(r *rand.Rand) shape {
	kv := between(r, 1, 3)
	s := shape{b: between(r, 1, 2), h: kv * between(r, 1, 4), kv: kv, lq: between(r, 1, 20), lk: between(r, 1, 300), d: between(r, 1, 140), dv: between(r, 1, 40)}
	switch r.IntN(3) {
	case 0:
		s.lq, s.lk, s.d, s.dv = 1, between(r, 1, 2000), 64, 64
	case 1:
		s.lq, s.lk, s.d, s.dv = between(r, 20, 120), between(r, 100, 300), 16, 16
	}
	return s
}

func (s shape) tensors(r *rand.Rand) (out, q, k, v kernel.Tensor, result []float32) {
	result = make([]float32, s.b*s.h*s.lq*s.dv)
	return kernel.BHLD(result, s.b, s.h, s.lq, s.dv), kernel.BHLD(floats(r, s.b*s.h*s.lq*s.d), s.b, s.h, s.lq, s.d),
		kernel.BHLD(floats(r, s.b*s.kv*s.lk*s.d), s.b, s.kv, s.lk, s.d), kernel.BHLD(floats(r, s.b*s.kv*s.lk*s.dv), s.b, s.kv, s.lk, s.dv), result
}

// options returns random ones.
func (s shape) options(r *rand.Rand, e kernel.Exec) *kernel.Options {
	o := kernel.Options{Exec: e}
	if r.IntN(2) == 0 {
		o.Mask = kernel.Causal(s.lk - s.lq)
	}
	if r.IntN(4) == 0 {
		lengths := make([]int, s.b)
		for i := range lengths {
			lengths[i] = between(r, 0, s.lk)
		}
		o.Mask = o.Mask.And(kernel.KeyLengths(lengths))
	}
	if r.IntN(4) == 0 {
		o.Mask = o.Mask.And(kernel.Window(between(r, 0, 100), between(r, 0, 100)))
	}
	if r.IntN(4) == 0 {
		o.Softcap = 5
	}
	if r.IntN(4) == 0 {
		o.ALiBi = floats(r, s.h)
	}
	if r.IntN(4) == 0 {
		o.Sinks = floats(r, s.h)
	}
	if r.IntN(4) == 0 {
		o.Dropout = kernel.Dropout{Rate: 0.25, Seed: r.Uint64()}
	}
	if r.IntN(8) == 0 {
		o.Score = func(t *kernel.ScoreTile) {
			for x := range t.Keys {
				for i := range t.Rows {
					t.Scores[x*t.Stride+i] *= 0.5
				}
			}
		}
	}
	return &o
}

func attention(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	s := randomShape(r)
	out, q, k, v, result := s.tensors(r)
	o := s.options(r, e)
	lse := make([]float32, s.b*s.h*s.lq)
	o.LSE = kernel.BHLD(lse, s.b, s.h, s.lq, 1)
	err := kernel.Attention(out, q, k, v, o)
	return append(result, lse...), err
}

func halves(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	s := randomShape(r)
	out, q, _, _, result := s.tensors(r)
	k, v := make([]kernel.F16, s.b*s.kv*s.lk*s.d), make([]kernel.BF16, s.b*s.kv*s.lk*s.dv)
	for i := range k {
		k[i] = numeric.ToF16(float32(r.NormFloat64()))
	}
	for i := range v {
		v[i] = numeric.ToBF16(float32(r.NormFloat64()))
	}
	return result, kernel.Attention(out, q, kernel.BHLD(k, s.b, s.kv, s.lk, s.d), kernel.BHLD(v, s.b, s.kv, s.lk, s.dv), s.options(r, e))
}

func additive(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	s := randomShape(r)
	s.lk = min(s.lk, 100)
	out, q, k, v, result := s.tensors(r)
	return result, kernel.Additive(out, q, k, v, floats(r, s.d), &kernel.Options{Exec: e, Scoring: kernel.Scoring{Mask: kernel.Causal(s.lk)}})
}

// partials computes two parts of the keys by themselves, and merges them.
func partials(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	s := randomShape(r)
	s.lk = 256
	out, q, k, v, result := s.tensors(r)
	var parts []kernel.Partials
	for _, start := range []int{0, 256} {
		p, err := kernel.NewPartials(1, s.b, s.h, s.lq, s.dv)
		if err != nil {
			return nil, err
		}
		if err := kernel.AttentionPartials(p, q, k, v, &kernel.PartialOptions{Exec: e, Scoring: kernel.Scoring{KeyStart: []int{start}}}); err != nil {
			return nil, err
		}
		parts = append(parts, *p)
		s.lk = between(r, 1, 256) // the last block may be shorter
		_, _, k, v, _ = s.tensors(r)
	}
	return result, kernel.MergePartials(out, parts, kernel.MergeOptions{Exec: e})
}

// cache lets sequences grow, fork and be freed, and computes attention after every step.
func cache(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	const heads, kv, d = 4, 2, 16
	c, err := kvcache.New(kvcache.Config{Heads: kv, HeadSize: d, PageSize: between(r, 1, 16), Pages: 400, KeyType: kernel.DType(r.IntN(2)), ValueType: kernel.DType(r.IntN(2))})
	if err != nil {
		return nil, err
	}
	sequences := []*kvcache.Sequence{c.NewSequence(), c.NewSequence()}
	var results []float32
	for range between(r, 1, 5) {
		batch, err := c.NewBatch(sequences...)
		if err != nil {
			return nil, err
		}
		n := between(r, 1, 20)
		rows := func(heads int) kernel.Tensor {
			return kernel.BHLD(floats(r, len(sequences)*heads*n*d), len(sequences), heads, n, d)
		}
		if err := batch.Append(rows(kv), rows(kv)); err != nil {
			return nil, err
		}
		o := kernel.Options{Scoring: batch.Scoring()}
		o.Exec = e
		k, v := batch.View(0)
		out := make([]float32, len(sequences)*heads*n*d)
		if err := kernel.Attention(kernel.BHLD(out, len(sequences), heads, n, d), rows(heads), k, v, &o); err != nil {
			return nil, err
		}
		results = append(results, out...)
		if fork, err := sequences[0].Fork(between(r, 1, sequences[0].Len())); err == nil && len(sequences) < 4 {
			sequences = append(sequences, fork)
		} else if err != nil {
			return nil, err
		} else {
			fork.Free()
		}
	}
	for _, s := range sequences {
		s.Free()
	}
	return results, nil
}

func linearLayer(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	m, n, k := between(r, 1, 60), between(r, 1, 200), between(r, 1, 300)
	l, err := linear.New(linear.DenseMatrix(floats(r, n*k), n, k), floats(r, n), kernel.Exec{})
	if err != nil {
		return nil, err
	}
	out := make([]float32, m*n)
	return out, l.Apply(linear.DenseMatrix(out, m, n), linear.DenseMatrix(floats(r, m*k), m, k), linear.Options{Exec: e})
}

func norms(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	rows, d := between(r, 1, 100), between(r, 1, 700)
	x, out := floats(r, rows*d), make([]float32, rows*d)
	tensor := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, rows, 1, d) }
	o := norm.Options{Exec: e}
	if r.IntN(2) == 0 {
		o.Residual = tensor(floats(r, rows*d))
	}
	if r.IntN(2) == 0 {
		return out, norm.RMSNorm(tensor(out), tensor(x), floats(r, d), 1e-6, o)
	}
	return out, norm.LayerNorm(tensor(out), tensor(x), floats(r, d), floats(r, d), 1e-6, o)
}

func rotary(r *rand.Rand, _ kernel.Exec) ([]float32, error) {
	d := 2 * between(r, 1, 64)
	p, err := rope.New(rope.Config{Dims: d})
	if err != nil {
		return nil, err
	}
	x := floats(r, 2*20*d)
	positions := make([]int, 20)
	for i := range positions {
		positions[i] = r.IntN(1 << 20)
	}
	return x, p.Apply(kernel.BHLD(x, 1, 2, 20, d), positions, kernel.Exec{})
}

func multiHead(r *rand.Rand, e kernel.Exec) ([]float32, error) {
	const width = 48
	project := func() *linear.Linear {
		l, err := linear.New(linear.DenseMatrix(floats(r, width*width), width, width), nil, kernel.Exec{})
		if err != nil {
			panic(err) // the arguments are right
		}
		return l
	}
	m := layer.MultiHead{Heads: 4, Q: project(), K: project(), V: project(), O: project()}
	n := between(r, 1, 60)
	out, x := make([]float32, n*width), kernel.BHLD(floats(r, n*width), 1, 1, n, width)
	return out, m.Attend(kernel.BHLD(out, 1, 1, n, width), x, x, x, &kernel.Options{Exec: e, Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
}
