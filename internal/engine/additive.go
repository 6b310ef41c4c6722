package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
)

// The steps of additive scores. Queries lie in rows, as keys do, and the hidden units are
// in the lanes, so that few queries leave no lane idle.

const (
	// additiveTanhs is the most tanh of one call into assembly: some 40 to 80 µs.
	additiveTanhs = 128 << 10

	// additiveKeys is the number of keys that are padded before they are used.
	additiveKeys = 16

	// additiveFloats is how much of K all queries of a tile use at once, so that it
	// stays in L1.
	additiveFloats = 4 << 10
)

// paddedWeights returns the weights times the scale, in the unit of exp2, with zeros
// up to whole chains.
func (j *Job) paddedWeights() []float32 {
	n := padded(len(j.Call.Additive))
	parallel.Fit(&j.memory, &j.weightsUsage, &j.weightsMemory, n, parallel.Make[float32])
	w := j.weightsMemory[:n]
	for i, x := range j.Call.Additive {
		w[i] = float32(float64(x) * j.Call.AdditiveScale * math.Log2E)
	}
	clear(w[len(j.Call.Additive):])
	return w
}

// padded rounds up to whole chains of an additive score.
func padded(d int) int {
	return (d + contract.AdditiveChains - 1) &^ (contract.AdditiveChains - 1)
}

// pack copies the query rows to the tile's panel as padded rows.
func packRows(t *tile) {
	rows, off := t.Floats(&t.job.Call.Q)
	size := len(t.job.derived.additive)
	for r := range t.N {
		pad(t.q[r*size:], rows[off[r]:], 0, 1, t.job.d())
	}
}

// scores sets the lanes of the tile after its rows to zeros.
func additiveScores(t *tile, part mask.Span, top []float32) {
	j := t.job
	lanes, d, size := t.Lanes, j.d(), len(j.derived.additive)
	most := max(1, additiveTanhs/(size*t.N))
	if t.N > 1 {
		most = min(most, max(1, additiveFloats/size))
	}
	if size != d {
		most = min(most, additiveKeys)
	}
	for part.Lo < part.Hi {
		s := t.scoresFrom(part)
		k, stride, n, next, _ := t.keys().Hinted(t.Head, t.Key(part.Lo), min(part.Len(), most))
		if size != d {
			pad(t.scratch.paddedKeys, k, stride, n, d)
			k, next, stride = t.scratch.paddedKeys, t.scratch.paddedKeys, size
		}
		if t.N < lanes {
			clear(s[:n*lanes])
		}
		j.tier.Skinny().Additive(s, lanes, t.q, size, k, stride, t.N, n, j.derived.additive, next)
		if top != nil {
			t.raise(s, n, top)
		}
		part.Lo += n
	}
}

// pad copies n rows of d numbers, stride apart, to dst, each with zeros up to whole
// chains.
func pad(dst, src []float32, stride, n, d int) {
	size := padded(d)
	for r := range n {
		row := dst[r*size : (r+1)*size]
		clear(row[copy(row, src[r*stride:r*stride+d]):])
	}
}
