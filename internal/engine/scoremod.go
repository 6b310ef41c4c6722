package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// A scoreMod changes scores of the current block in place, between the product and
// the softmax, and raises top to their maximum.
//
// To add a score modification: a field of scoring.Scoring, a scoreMod here, its place in
// setScoreMods.
type scoreMod func(t *tile, part mask.Span, top []float32)

// scoreMods are the score modifications of a call, in the contract's order.
type scoreMods struct {
	list   [maxMods]scoreMod
	n      int
	capped int // the first so many lead to ScoresCapped
}

// Score, Softcap, keepCapped, ALiBi, Bias, maskListed and the bool masks.
const maxMods = 6 + mask.MaxBools

// modKeys is the number of keys whose scores are computed and modified before the
// next ones, so that they stay in L1 or near it. Fewer keys would read biases in
// pieces too short for the prefetcher.
const modKeys = 128

func (m *scoreMods) add(f scoreMod) {
	m.list[m.n] = f
	m.n++
}

// setScoreMods lists the modifications that the options ask for.
func (j *Job) setScoreMods() {
	m := &j.derived.mods
	if j.Call.Score != nil {
		m.add((*tile).callScore)
	}
	if j.Call.Softcap != 0 {
		m.add((*tile).softcap)
		if j.keepsCapped {
			m.add((*tile).keepCapped)
		}
	}
	m.capped = m.n
	if j.Call.ALiBi != nil {
		m.add((*tile).alibi)
	}
	if j.derived.biased {
		m.add((*tile).addBias)
	}
	if j.derived.listed && j.listedMask.IsSet() {
		m.add((*tile).maskListed)
	}
	for x := range j.Call.Mask.Bools() {
		m.add(boolMods[x])
	}
}

// modify applies all score modifications. Only the last one's maximum counts.
func (t *tile) modify(part mask.Span, top []float32) {
	m := &t.job.derived.mods
	for x, f := range m.list[:m.n] {
		if x+1 < m.n {
			f(t, part, t.ignored())
		} else {
			f(t, part, top)
		}
	}
}

func (t *tile) softcap(part mask.Span, top []float32) {
	limit, inv := t.job.capFactors()
	t.kern.Softcap(t.scoresFrom(part), t.Lanes, part.Len(), limit, inv, top)
}

// capFactors returns the contract's C and I of the softcap.
func (j *Job) capFactors() (limit, inv float32) {
	c := float64(j.Call.Softcap) * math.Log2E
	return float32(c), float32(1 / c)
}

// mostSlope is the limit of a slope, with which no distance makes an infinite score.
var mostSlope = math.Float32frombits(contract.MostSlope)

// alibi adds slope times distance. Positions of queries and keys are counted from coordinate 0's
// on: only their distance matters.
func (t *tile) alibi(part mask.Span, top []float32) {
	lanes := t.Lanes
	slopes, positions := t.scratch.slopes[:lanes], t.scratch.positions[:lanes]
	start := t.queryStart() - t.start
	t.EachLane(func(lane, head, query int) {
		slopes[lane] = scalar.Limited(scalar.Log2Units(t.job.Call.ALiBi[head]), mostSlope)
		positions[lane] = int32(start + query)
	})
	t.eachRun(part, func(run mask.Span, at int) {
		t.kern.ALiBi(t.scoresFrom(run), lanes, at-t.start, run.Len(), slopes, positions, top)
	})
}

// addBias adds a row of the bias to every lane.
func (t *tile) addBias(part mask.Span, top []float32) {
	bias, key := &t.job.Call.Bias, t.Key(part.Lo)
	off := t.scratch.off[:t.Lanes]
	t.EachLane(func(lane, head, query int) {
		off[lane] = bias.At(t.Head.Batch, head, query) + key
	})
	rows := bias.F32()
	if bias.DType() != view.Float32 {
		rows = t.widenBias(off, part.Len())
	}
	t.kern.Bias(t.scoresFrom(part), t.Lanes, part.Len(), rows, off, top)
}

// widenBias widens n elements of the bias for every lane, from off on, and sets off
// to where they are in the result. Lanes that share a row of the bias are
// neighbours.
func (t *tile) widenBias(off []int, n int) []float32 {
	biases := t.scratch.biases[:]
	last, to := -1, -modKeys
	for lane, at := range off {
		if at != last {
			last, to = at, to+modKeys
			rows.WidenRow(t.job.tier, biases[to:], &t.job.Call.Bias, at, n)
		}
		off[lane] = to
	}
	return biases
}

// boolMods are the modifications of the mask's bool views.
var boolMods = [mask.MaxBools]scoreMod{
	func(t *tile, part mask.Span, top []float32) { t.maskBool(&t.job.Call.Mask.Bools()[0], part, top) },
	func(t *tile, part mask.Span, top []float32) { t.maskBool(&t.job.Call.Mask.Bools()[1], part, top) },
}

// maskBool hides keys by a view. Those before a view of the last keys are visible.
func (t *tile) maskBool(v *mask.BoolView, part mask.Span, top []float32) {
	b := t.Head.Batch
	key := t.Key(part.Lo) - v.First(&t.job.Call.Mask, b, t.existing())
	if key < 0 {
		before := mask.Span{Lo: part.Lo, Hi: min(part.Lo-key, part.Hi)}
		t.raise(t.scoresFrom(before), before.Len(), top)
		if part.Lo = before.Hi; part.Lo == part.Hi {
			return
		}
		key = 0
	}
	off := t.scratch.off[:t.Lanes]
	t.EachLane(func(lane, head, query int) {
		off[lane] = v.Grid.At(b, head, query) + key
	})
	t.kern.MaskBool(t.scoresFrom(part), t.Lanes, part.Len(), v.Data, off, v.Hidden, top)
}

// callScore applies Call.Score.
func (t *tile) callScore(part mask.Span, top []float32) {
	lanes, scores, rows := t.Lanes, t.scoresFrom(part), t.scratch.scoreRows[:0]
	start := t.queryStart()
	t.EachLane(func(lane, head, query int) {
		if lane < t.N {
			rows = append(rows, scoring.Row{Head: head, Query: query, Position: start + query})
		}
	})
	s := &t.scratch.scoreTile // a variable of the function would escape
	t.eachRun(part, func(run mask.Span, at int) {
		from, n := (run.Lo-part.Lo)*lanes, run.Len()*lanes
		*s = scoring.Tile{
			Scores: scores[from : from+n : from+n], Stride: lanes, Batch: t.Head.Batch,
			Keys: run.Len(), Key: t.Key(run.Lo), KeyPosition: at, Rows: rows,
		}
		t.job.Call.Score(s)
		*s = scoring.Tile{} // a function may have put its own slices there
	})
	t.raise(scores, part.Len(), top)
}
