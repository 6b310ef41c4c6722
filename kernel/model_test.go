package kernel_test

import (
	"math"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/kernel"
)

// A model computes calls as the package documentation defines them, row by
// row and key by key, with all options: no panels, no tiles, no lanes, no
// spans.
type model struct {
	q, k, v kernel.Tensor // widened, as is
	bias    kernel.Tensor
	o       *kernel.Options
	group   int
}

// A modelRow is all that a call says about one row.
type modelRow struct {
	out, weights, scores []float32
	lse                  float32
	blocks               []modelBlock // the partials
}

type modelBlock struct {
	m, l float32
	o    []float32
}

func newModel(q, k, v kernel.Tensor, o *kernel.Options) *model {
	return &model{q: q.widened(), k: k.widened(), v: v.widened(), bias: o.Bias.widened(), o: o, group: max(1, q.shape[1]) / max(1, k.shape[1])}
}

// row computes row (b, h, i).
func (r *model) row(b, h, i int) modelRow {
	keys := r.k.shape[2]
	row := modelRow{scores: filled(keys, negInf[0]), weights: make([]float32, keys)}
	s := make([]float32, keys)
	for j := range s {
		s[j] = negInf[0]
		if !r.exists(b, j) {
			continue
		}
		raw, capped := r.score(b, h, i, j)
		final := r.added(b, h, i, j, capped)
		visible := r.visible(b, h, i, j)
		if visible {
			s[j] = final
		}
		switch r.o.ScoreStage {
		case kernel.ScoresScaled:
			row.scores[j] = natural(raw)
		case kernel.ScoresCapped:
			row.scores[j] = natural(capped)
		default:
			row.scores[j] = natural(s[j])
		}
	}
	start := each(r.o.KeyStart, b)
	for lo := 0; lo < keys; {
		hi := min(keys, lo+engine.BlockKeys-(start+lo)%engine.BlockKeys)
		row.blocks = append(row.blocks, r.block(b, h, i, lo, s[lo:hi]))
		lo = hi
	}
	r.fold(&row, b, h, i, s)
	return row
}

func natural(s float32) float32 {
	s = float32(s*ln2) + 0
	if s != s {
		return canonicalNaN
	}
	return s
}

// score is the product of a query and a key, and what Score and Softcap make of
// it.
func (r *model) score(b, h, i, j int) (raw, capped float32) {
	scale := log2Scale(r.o.Scale, r.q.shape[3])
	q, k := rowOf(&r.q, b, h, i), rowOf(&r.k, b, h/r.group, j)
	acc := float32(0)
	for d := range q {
		acc = fallback.FMA(float32(q[d]*scale), k[d], acc)
	}
	raw, capped = acc, acc
	if r.o.Score != nil {
		tile := kernel.ScoreTile{Scores: []float32{acc}, Stride: 1, Batch: b, Keys: 1, Key: j, KeyPosition: each(r.o.KeyStart, b) + j,
			Rows: []kernel.ScoreRow{{Head: h, Query: i, Position: each(r.o.QueryStart, b) + i}}}
		r.o.Score(&tile)
		capped = tile.Scores[0]
	}
	if r.o.Softcap != 0 {
		limit := float64(r.o.Softcap) * math.Log2E
		capped = float32(limit) * fallback.Tanh(float32(capped*float32(1/limit)))
	}
	return raw, capped
}

// added is a score with ALiBi and the bias.
func (r *model) added(b, h, i, j int, s float32) float32 {
	if r.o.ALiBi != nil {
		distance := each(r.o.QueryStart, b) + i - each(r.o.KeyStart, b) - j
		s = fallback.FMA(log2Units(r.o.ALiBi[h]), -float32(max(distance, -distance)), s)
	}
	if t := &r.bias; t.isSet() {
		if j >= t.shape[3] {
			return negInf[0]
		}
		x := t.f32[broadcast(t.shape, t.stride, b, h, i)+j]
		if x == negInf[0] {
			return x
		}
		s = fallback.FMA(x, math.Float32frombits(0x3FB8AA3B), s)
	}
	return s
}

func broadcast(shape [4]int, stride [3]int, index ...int) int {
	at := 0
	for x, n := range index {
		if shape[x] != 1 {
			at += n * stride[x]
		}
	}
	return at
}

// exists tells whether key j may be read.
func (r *model) exists(b, j int) bool {
	for _, x := range r.o.Mask.rules[:r.o.Mask.n] {
		if x.kind == ruleKeyLengths && j >= x.ints[b] {
			return false
		}
	}
	return true
}

// visible applies every mask to one query and one key.
func (r *model) visible(b, h, i, j int) bool {
	m := &r.o.Mask
	for x := range m.rules[:m.n] {
		if !r.allowed(&m.rules[x], b, i, j) {
			return false
		}
	}
	for _, v := range m.bools[:m.nBools] {
		if j >= v.shape[3] || v.data[broadcast(v.shape, v.stride, b, h, i)+j] == v.hidden {
			return false
		}
	}
	if s := &m.sparse; s.set {
		columns := (r.k.shape[2] + s.key - 1) / s.key
		return s.keep[i/s.query*columns+j/s.key]
	}
	return true
}

func (r *model) allowed(x *rule, b, i, j int) bool {
	q, k := int64(each(r.o.QueryStart, b)+i), int64(each(r.o.KeyStart, b)+j)
	left, right := int64(x.left), int64(x.right)
	switch x.kind {
	case ruleCausal:
		return k-q <= right
	case ruleWindow:
		return (left < 0 || q-k <= left) && (right < 0 || k-q <= right)
	case rulePrefix:
		return k <= q || k < int64(each(x.ints, b))
	case ruleKeyLengths:
		return j < x.ints[b]
	case ruleQueryLengths:
		return i < x.ints[b]
	case ruleSegments:
		return x.query[b*r.q.shape[2]+i] == x.key[b*r.k.shape[2]+j]
	}
	panic("unknown rule")
}

// block computes m, l and o of one block, whose first key is lo.
func (r *model) block(b, h, i, lo int, s []float32) modelBlock {
	x := modelBlock{m: negInf[0], o: make([]float32, r.v.shape[3])}
	for _, s := range s {
		if s > x.m {
			x.m = s
		}
	}
	z := x.m
	if z == negInf[0] {
		z = 0 // all hidden, or NaN
	}
	for j, s := range s {
		if s == negInf[0] {
			continue
		}
		p := fallback.Exp2(s - z)
		x.l += p
		p = r.dropped(p, b, h, i, lo+j)
		for e, v := range rowOf(&r.v, b, h/r.group, lo+j) {
			x.o[e] = fallback.FMA(p, v, x.o[e])
		}
	}
	return x
}

// dropped is a weight after the dropout.
func (r *model) dropped(p float32, b, h, i, j int) float32 {
	d := &r.o.Dropout
	if d.Rate == 0 {
		return p
	}
	sequence := uint32(b)
	if d.Sequences != nil {
		sequence = d.Sequences[b]
	}
	key := each(r.o.KeyStart, b) + j
	words := philox([4]uint32{sequence, uint32(h), uint32(each(r.o.QueryStart, b) + i), uint32(key / 4)},
		[2]uint32{uint32(d.Seed), uint32(d.Seed >> 32)})
	if float64(words[key%4]) < math.RoundToEven(float64(d.Rate)*0x1p32) {
		return 0
	}
	return p * float32(1/(1-float64(d.Rate)))
}

// philox is Philox4x32-10 as the paper has it.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		p0, p1 := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ k[0], uint32(p1), uint32(p0>>32) ^ c[3] ^ k[1], uint32(p0)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}

// fold folds the blocks and finishes the row.
func (r *model) fold(row *modelRow, b, h, i int, s []float32) {
	m, l, o := negInf[0], float32(0), make([]float32, r.v.shape[3])
	blocks := row.blocks
	if r.o.Sinks != nil {
		blocks = append(blocks[:len(blocks):len(blocks)], modelBlock{m: log2Units(r.o.Sinks[h]), l: 1, o: make([]float32, len(o))})
	}
	for _, x := range blocks {
		if x.m == negInf[0] && x.l == 0 {
			continue // no visible key
		}
		mm := m
		if x.m > mm {
			mm = x.m
		}
		z := mm
		if z == negInf[0] {
			z = 0
		}
		alpha, beta := fallback.Exp2(m-z), fallback.Exp2(x.m-z)
		l = fallback.FMA(x.l, beta, float32(l*alpha))
		for e := range o {
			o[e] = fallback.FMA(x.o[e], beta, float32(o[e]*alpha))
		}
		m = mm
	}
	row.out = o
	row.lse = negInf[0]
	if l == 0 {
		clear(o)
		return
	}
	row.lse = float32((m+fallback.Log2(l))*ln2) + 0
	nan := r.normalize(row, m, l)
	for j := range s {
		switch {
		case l != l:
			row.weights[j] = canonicalNaN
		case s[j] != negInf[0]:
			row.weights[j] = float32(r.dropped(fallback.Exp2(s[j]-m), b, h, i, j)*(1/l)) + 0
		}
	}
	if nan {
		fill(o, canonicalNaN)
		row.lse = canonicalNaN
	}
}

// normalize divides the outputs by the sum and tells whether one is NaN.
func (r *model) normalize(row *modelRow, m, l float32) (nan bool) {
	inv := 1 / l
	for e := range row.out {
		row.out[e] = float32(row.out[e]*inv) + 0
		nan = nan || row.out[e] != row.out[e]
	}
	return nan || l != l
}
