package kernel

import (
	"math"
	"math/bits"

	"github.com/attn-go/attn/fallback"
)

// finish writes what the rows of p have come to.
func (w *workspace) finish(j *job, p *panel) {
	if !p.started { // no key at all
		copy(p.max, negInf[:])
		clear(p.sum)
		clear(p.o[:p.kern.lanes*j.dv()])
	}
	if j.state.on() {
		w.finishPartial(j, p)
		return
	}
	if j.sinks != nil {
		w.sink(j, p)
	}
	if j.extras && !p.exact { // else it has been done
		w.finishExtras(j, p)
	}
	nan := w.unpack(j, p)
	for nan &= 1<<p.n - 1; nan != 0; nan &= nan - 1 {
		w.finishNaN(j, p, bits.TrailingZeros64(nan))
	}
}

// finishExtras writes what is wanted beside out.
func (w *workspace) finishExtras(j *job, p *panel) {
	if j.lse.isSet() {
		w.finishLSE(j, p)
	}
	if j.weights.isSet() {
		w.finishWeights(j, p)
	}
	if j.scores.isSet() {
		w.finishScores(j, p)
	}
}

// sink folds the heads' sinks in, as a last block without values.
func (w *workspace) sink(j *job, p *panel) {
	lanes := p.kern.lanes
	p.eachLane(j, func(lane, head, _ int) { p.blockMax[lane] = log2Units(j.sinks[head]) })
	p.kern.fold(p.max, p.sum, p.blockMax, ones[:lanes], p.alpha, p.beta)
	if p.few {
		clear(w.partial[:j.dv()])
		p.kern.fewFold(p.o, j.dv(), w.partial, 0, p.n, j.dv(), p.alpha, p.beta)
		return
	}
	p.kern.tileFold(p.o, lanes, nil, 1, 1, nil, lanes, j.dv(), 0, p.alpha, p.beta)
}

// finishLSE writes the logarithms of the sums. Rows that end as NaN get theirs
// later.
func (w *workspace) finishLSE(j *job, p *panel) {
	for lane := range p.n {
		p.rowOf(j, &j.lse, lane)[0] = lse(p.max[lane], p.sum[lane])
	}
}

var ln2 = math.Float32frombits(0x3F317218)

// lse is the contract's LSE of a maximum and a sum.
func lse(max, sum float32) float32 {
	switch {
	case sum == 0:
		return negInf[0]
	case sum != sum:
		return canonicalNaN
	}
	return float32((max+fallback.Log2(sum))*ln2) + 0
}

// ones are the sums of rows that are not to be divided.
var ones = func() (s [maxLanes]float32) {
	fill(s[:], 1)
	return s
}()
