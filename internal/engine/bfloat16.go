package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
)

// The steps of calls with products in bfloat16. Queries, keys, values and weights are rounded, and
// lie in memory as float32. The scale multiplies the products, as it would round a second time what
// a scaled query keeps of it.
//
// The last segment of the contract may be short, and so may be the first one of a block, if its
// keys begin later: a product that begins with an odd key has even and odd chains exchanged, whose
// sum is the same.

// fitBFloat16 makes room for calls with products in bfloat16.
func (s *scratch) fitBFloat16(j *Job) {
	n := max(contract.ValueSegment*j.dv(), j.plan.lanes*kvrows.WholeColumns(&j.Call.V))
	if j.widened.inPairs {
		n = max(n, 2*ukernel.MaxLanes*min(j.dv(), mixedWidth))
	}
	parallel.Fit(&s.memory, &s.segmentUsage, &s.segment, n, rows.Aligned)
	if j.plan.shape.unit {
		parallel.Fit(&s.memory, &s.wordsUsage, &s.words, BlockKeys/2*j.plan.lanes, parallel.Make[uint32])
	}
}

// bfloat16Lanes is how wide tiles are at most: wider ones would read their rows of B too often, as
// registers hold few rows of A times their chains.
const bfloat16Lanes = 48

// bfloat16Bytes is the size of the scores, or the weights, of a call of GemmEvenOdd. They stay in
// L1 while they are scaled, or while columns of values pass by.
const bfloat16Bytes = 16 << 10

// bfloat16Keys returns how many keys that are, in whole segments.
func bfloat16Keys(lanes int) int {
	return max(1, bfloat16Bytes/(4*lanes)/contract.BF16Segment) * contract.BF16Segment
}

// valueKeys is bfloat16Keys for the product with the values. Vectors of 8 lanes and less have
// register tiles of so few sums that they read a line of values too often for L2. So there the
// values of a call stay in L1, too.
func (t *tile) valueKeys() int {
	n := bfloat16Keys(t.Lanes)
	if t.job.tier.Widest() < unitLanes {
		n = min(n, bfloat16Keys(t.job.dv()))
	}
	return n
}

func packBFloat16(t *tile) {
	data, off := t.Floats(&t.job.Call.Q)
	t.PackRows(t.q, data, off, t.job.d(), 1)
	d := t.job.d()
	all := t.q[:ints.RoundUp(d, ukernel.SkinnyColumns)*t.Lanes]
	q, rest := all[:d*t.Lanes], all[d*t.Lanes:]
	rows.RoundBF16(t.job.tier, q, q)
	for i := range rest {
		rest[i] = minusZero
	}
}

// minusZero times +0 is -0, which changes no sum.
var minusZero = math.Float32frombits(1 << 31)

func bfloat16Scores(t *tile, part mask.Span, top []float32) {
	t.scaledScores(part, top, bfloat16Keys(t.Lanes), func(s []float32, at, n int) {
		k, stride, _ := t.keys().Floats(t.Head, at, n)
		t.kern.GemmEvenOdd(s, t.Lanes, k, stride, 1, t.q, t.Lanes, n, t.job.d(), false)
	})
}

// scaledScores computes scores from the products with n keys from number at on, at most so many.
func (t *tile) scaledScores(part mask.Span, top []float32, most int, product func(s []float32, at, n int)) {
	w, top := t.Lanes, t.orIgnored(top)
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		n = ukernel.RowsPerCall(min(part.Len(), most), w*t.job.d())
		s := t.scoresFrom(part)
		product(s, t.Key(part.Lo), n)
		t.kern.ScaleRows(s, w, s, w, n, t.job.derived.scales[:], 0, false, top)
	}
}

func bfloat16Softmax(t *tile, n int, max, sum []float32) {
	t.kern.SoftmaxBF16(t.block.scores, t.Lanes, n, max, sum)
}

func bfloat16Values(t *tile) {
	t.roundDropped()
	v, stride, _ := t.values().Floats(t.Head, t.Key(t.block.keys.Lo), t.block.keys.Len())
	t.evenOddValues(v, stride)
}

// evenOddValues computes the product of the weights with the rounded values of their keys, which
// lie a stride apart.
func (t *tile) evenOddValues(v []float32, stride int) {
	w, dv, o, all := t.Lanes, t.job.dv(), t.room(), t.block.keys
	for keys, n := all, 0; keys.Lo < keys.Hi; keys.Lo += n {
		n = min(keys.Len(), t.valueKeys())
		if past := keys.Lo % contract.BF16Segment; past != 0 {
			n = min(n, contract.BF16Segment-past)
		}
		for e, m := 0, 0; e < dv; e += m {
			m = valuesPerCall(dv-e, w, n)
			t.kern.GemmEvenOdd(o[e*w:], w, v[(keys.Lo-all.Lo)*stride+e:], 1, stride, t.scoresFrom(keys), w, m, n, keys.Lo > all.Lo)
		}
	}
	t.mergeBlock(o)
}

// bfloat16Merge is panelMerge by one kernel, where the tier has it.
func bfloat16Merge(t *tile, part []float32) {
	if t.kern.CodeMerge == nil {
		panelMerge(t, part)
		return
	}
	integersMerge(t, part)
}

// roundDropped rounds the weights of the current block once more, if dropout has multiplied them.
func (t *tile) roundDropped() {
	if t.job.Call.Dropout.Rate != 0 {
		rows.RoundBF16(t.job.tier, t.block.scores, t.block.scores)
	}
}

// The steps of few rows, whose kernels are SkinnyKernels.QKEvenOdd and PVEvenOdd: they take keys
// and values as they lie in memory. If there are too few keys, the last one is repeated.

func skinnyBFloat16Scores(t *tile, part mask.Span, top []float32) {
	w, d, top := t.Lanes, t.job.d(), t.orIgnored(top)
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		k, off, next := t.keys().HalvesAnywhere(t.Head, t.Key(part.Lo), ukernel.RowsPerCall(part.Len(), w*d))
		s := t.scoresFrom(part)
		if n = len(off); n < ukernel.SkinnyKeys {
			off = t.scratch.repeat(off)
			next, s = off, t.scratch.segment[:ukernel.SkinnyKeys*w]
		}
		t.job.tier.Skinny().QKEvenOdd(s, k, off, t.q, t.N, d, t.job.derived.scale, top, next)
		if n < ukernel.SkinnyKeys {
			copy(t.scoresFrom(part), s[:n*w])
		}
	}
}

// skinnyBFloat16Values takes whole segments, of which the first and the last one of a block may be
// short: PVEvenOdd counts them from the first row that it is given. Rows that 16 does not divide
// are read with numbers of the rows that follow them, whose outputs are left out, or copied with
// zeros where no query sees these.
func skinnyBFloat16Values(t *tile) {
	t.roundDropped()
	o, dv, keys := t.room(), kvrows.WholeColumns(&t.job.Call.V), t.block.keys
	to, ldo := o, t.job.dv()
	if dv > ldo {
		to = t.scratch.segment
	}
	for n := 0; keys.Lo < keys.Hi; keys.Lo += n {
		p, load := t.scoresFrom(keys), keys.Lo > t.block.keys.Lo
		most := keys.Len()
		if past := keys.Lo % contract.BF16Segment; past != 0 {
			most = min(most, contract.BF16Segment-past)
		}
		segment := min(keys.Len(), contract.BF16Segment-keys.Lo%contract.BF16Segment) // a call takes no less
		n = max(segment, ukernel.RowsPerCall(most, t.N*dv))
		v, off, next := t.values().AnyHalves(t.Head, t.Key(keys.Lo), n, t.seenFrom(keys))
		if n = len(off); n < keys.Len() {
			n = max(0, n-(keys.Lo+n)%contract.BF16Segment)
		}
		if n == 0 {
			v, off = t.values().WholeHalves(t.Head, t.Key(keys.Lo), segment)
			n, next = len(off), off
		}
		t.job.tier.Skinny().PVEvenOdd(to, dv, v, off[:n], p, t.Lanes, t.N, dv, load, next[:n])
	}
	for lane := 0; dv > ldo && lane < t.N; lane++ {
		copy(o[lane*ldo:][:ldo], to[lane*dv:])
	}
	t.mergeBlock(o)
}

func exactBFloat16Softmax(t *tile, n int, max, sum []float32) {
	t.findRuns()
	bfloat16Softmax(t, n, max, sum)
}

// exactBFloat16Values is bfloat16Values with zeros in place of the values of keys that are in none
// of the runs.
func exactBFloat16Values(t *tile) {
	t.roundDropped()
	b, w, dv, o := &t.block, t.Lanes, t.job.dv(), t.room()
	for part := range segments(b.keys) {
		v, n := t.scratch.segment, part.Len()
		clear(v[:n*dv])
		for _, r := range t.scratch.runs {
			seen := mask.Span{Lo: r.Lo + b.keys.Lo, Hi: r.Hi + b.keys.Lo}.And(part)
			if seen.Lo < seen.Hi {
				from, stride, _ := t.values().Floats(t.Head, t.Key(seen.Lo), seen.Len())
				rows.Copy(v[(seen.Lo-part.Lo)*dv:], dv, from, stride, seen.Len(), dv)
			}
		}
		for e, m := 0, 0; e < dv; e += m {
			m = valuesPerCall(dv-e, w, n)
			t.kern.GemmEvenOdd(o[e*w:], w, v[e:], 1, dv, t.scoresFrom(part), w, m, n, part.Lo > b.keys.Lo)
		}
	}
	t.mergeBlock(o)
}
