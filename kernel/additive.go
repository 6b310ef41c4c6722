package kernel

import (
	"fmt"
	"math"
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
	j.problem.scale = 1
	j.plan(t, opts.Threads)
	j.run(opts.Run)
	j.problem = problem{}
	jobs.put(j)
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

// setWeights returns the weights, times the scale, in the unit of exp2.
func (j *job) setWeights(weights []float32, scale float64) []float32 {
	j.weightsMemory = j.weightsMemory[:0]
	for _, w := range weights {
		j.weightsMemory = append(j.weightsMemory, float32(float64(w)*scale*math.Log2E))
	}
	return j.weightsMemory
}

// An adder is the scratch memory of a worker for additive scores.
type adder struct {
	keys   []float32 // of some keys, [D][lanes]
	scores []float32 // of the rows of a panel and these keys, [rows][lanes]
	off    [maxLanes]int
}

// additiveTanhs is how many numbers one call into assembly takes tanh of at most:
// some 40 to 80 µs.
const additiveTanhs = 128 << 10

// fit makes room for panels of so many rows.
func (a *adder) fit(j *job, rows int) {
	if n := maxLanes * j.d(); len(a.keys) < n {
		a.keys = aligned(n)
	}
	if n := maxLanes * rows; len(a.scores) < n {
		a.scores = aligned(n)
	}
}

// offsets fills off with where n rows start that are ld apart, the last row's repeated.
func (a *adder) offsets(n, ld, lanes int) []int {
	for lane := range lanes {
		a.off[lane] = min(lane, n-1) * ld
	}
	return a.off[:lanes]
}

// additiveRows is scoreRows for additive scores. tanh takes nearly all of the time, so
// that no lane may be idle: keys are in the lanes, of which there are many even where
// there is one query. Their scores come in rows, and are transposed.
func (w *workspace) additiveRows(j *job, p *panel, part span, top []float32) {
	a, d, lanes := &w.adder, j.d(), p.kern.lanes
	for part.lo < part.hi {
		s := p.scores(part)
		k, ld, n := w.wideK.of(j.tier, &j.k, p.unit, part.lo-p.phase, min(part.len(), maxLanes, max(16, additiveTanhs/d)))
		kern := j.kernels(n)
		n = min(n, kern.lanes)
		kern.pack(a.keys, kern.lanes, k, a.offsets(n, ld, kern.lanes), n, d, 1)
		m := max(1, additiveTanhs/(d*kern.lanes))
		for row := 0; row < p.n; row += m {
			kern.additive(a.scores[row*kern.lanes:], kern.lanes, p.q[row:], 1, lanes, a.keys, kern.lanes, kern.lanes, min(m, p.n-row), j.additive)
		}
		p.kern.pack(s, lanes, a.scores, a.offsets(p.n, kern.lanes, lanes), p.n, n, 1)
		if top != nil {
			p.kern.mask(s, lanes, 0, n, noLanes.lo[:lanes], noLanes.hi[:lanes], top)
		}
		part.lo += n
	}
}

// noLanes are spans that hide nothing.
var noLanes = func() (s struct{ lo, hi [maxLanes]int32 }) {
	for lane := range s.hi {
		s.hi[lane] = blockKeys
	}
	return s
}()
