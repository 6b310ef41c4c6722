package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/fallback"
)

// Additive is [Attention] with another score (Bahdanau, Cho, Bengio: "Neural Machine
// Translation by Jointly Learning to Align and Translate"): a small network looks at the
// sum of query and key,
//
//	score = weights[0]·tanh(q[0]+k[0]) + weights[1]·tanh(q[1]+k[1]) + ...
//
// q and k are what projections to the same hidden size D have made of the states; the
// keys of a sequence are projected once, for all steps of a decoder. There are D weights,
// finite and, multiplied by Options.Scale, up to ±2^127. Options.Scale is 1 by default;
// all else is as in Attention.
func Additive(out, q, k, v Tensor, weights []float32, opts Options) error {
	t, err := tierFor(opts.Tier)
	if err != nil {
		return err
	}
	if err := validate(&out, &q, &k, &v, &opts); err != nil {
		return err
	}
	scale := float64(opts.Scale)
	if scale == 0 {
		scale = 1
	}
	if err := checkAdditive(weights, scale, &out, &q, &opts); err != nil {
		return err
	}
	if q.shape[0] == 0 || q.shape[1] == 0 || q.shape[2] == 0 {
		return nil
	}
	j := jobs.get()
	j.problem.set(&out, &q, &k, &v, &opts)
	j.additive = j.setWeights(weights, scale)
	j.solve(t, &opts)
	return nil
}

// checkAdditive reports weights that do not fit the call.
func checkAdditive(weights []float32, scale float64, out, q *Tensor, o *Options) error {
	if len(weights) != q.shape[3] {
		return &ArgumentError{"weights", fmt.Sprintf("%d numbers", len(weights)), fmt.Sprintf("one for each of the %d of a query", q.shape[3])}
	}
	for x, w := range weights {
		if s := float64(w) * scale; !(math.Abs(s) <= 0x1p127) || !scorable(w) {
			return &ArgumentError{"weights", fmt.Sprintf("%v at %d", w, x), "finite numbers, multiplied by Options.Scale up to ±2^127"}
		}
	}
	in := memoryOf(weights)
	for _, t := range [...]*Tensor{out, &o.LSE, &o.Weights, &o.Scores} {
		if in.overlaps(t.memory()) {
			return &ArgumentError{"weights", "memory that overlaps an output", "memory of their own"}
		}
	}
	return nil
}

// setWeights returns the weights, times the scale, in the unit of exp2, padded.
func (j *job) setWeights(weights []float32, scale float64) []float32 {
	w := j.weightsMemory[:0]
	for _, x := range weights {
		w = append(w, float32(float64(x)*scale*math.Log2E))
	}
	for len(w) < padded(len(weights)) {
		w = append(w, 0)
	}
	j.weightsMemory = w
	return w
}

// padded rounds up to whole chains of an additive score.
func padded(d int) int {
	return (d + fallback.AdditiveChains - 1) &^ (fallback.AdditiveChains - 1)
}

// additiveTanhs is how many numbers one call into assembly takes tanh of at most: some
// 40 to 80 µs.
const additiveTanhs = 128 << 10

// additiveKeys is the number of keys that are padded before they are used.
const additiveKeys = 16

// additiveFloats is how much of K is used by all queries of a panel at once, so that it
// stays in L1.
const additiveFloats = 4 << 10

// additiveRows is scoreRows for additive scores. Queries lie in rows as the keys do, so
// that few of them leave no lane idle: there are hidden units in the lanes. Lanes of the
// panel behind its rows get zeros.
func (w *workspace) additiveRows(j *job, p *panel, part span, top []float32) {
	kern := j.tier.widest()
	lanes, size := p.kern.lanes, len(j.additive)
	most := max(1, additiveTanhs/(size*p.n))
	if p.n > 1 {
		most = min(most, max(1, additiveFloats/size))
	}
	if size != j.d() {
		most = min(most, additiveKeys)
	}
	for part.lo < part.hi {
		s := p.scores(part)
		k, next, _, ld, n := w.wideK.fewOf(j.tier, &j.k, p.unit, part.lo-p.phase, min(part.len(), most))
		if size != j.d() {
			pad(w.keys, k, ld, n, j.d())
			k, next, ld = w.keys, w.keys, size
		}
		if p.n < lanes {
			clear(s[:n*lanes])
		}
		kern.additive(s, lanes, p.q, size, k, ld, p.n, n, j.additive, next)
		if top != nil {
			p.kern.mask(s, lanes, 0, n, noLanes.lo[:lanes], noLanes.hi[:lanes], top)
		}
		part.lo += n
	}
}

// padQueries copies the queries of p, which lie in rows, to its Q̂.
func (w *workspace) padQueries(j *job, p *panel, rows []float32) {
	size := len(j.additive)
	for r := range p.n {
		pad(p.q[r*size:], rows[w.off[r]:], 0, 1, j.d())
	}
}

// pad copies n rows of d numbers, ld apart, to dst, each with zeros up to whole chains.
func pad(dst, src []float32, ld, n, d int) {
	size := padded(d)
	for r := range n {
		row := dst[r*size : (r+1)*size]
		clear(row[copy(row, src[r*ld:r*ld+d]):])
	}
}

// noLanes are spans that hide nothing.
var noLanes = func() (s struct{ lo, hi [maxLanes]int32 }) {
	for lane := range s.hi {
		s.hi[lane] = blockKeys
	}
	return s
}()
