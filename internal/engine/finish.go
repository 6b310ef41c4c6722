package engine

import (
	"math/bits"

	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/view"
)

// finish writes the results of the tile's rows.
func (t *tile) finish() {
	t.end()
	if t.job.Call.Partial.isSet() {
		t.finishPartial()
		return
	}
	if t.job.derived.otherOutputs {
		t.finishOutputs()
	}
	t.finishNaNs(t.unpackRows())
}

// end completes the result: of no key at all, or with the sinks.
func (t *tile) end() {
	if !t.started {
		copy(t.max, negInfs[:])
		clear(t.sum)
		clear(t.o[:t.Lanes*t.job.dv()])
	}
	if t.job.Call.Sinks != nil {
		t.mergeSinks()
	}
}

// mergeSinks merges the heads' sinks, each a last block without values.
func (t *tile) mergeSinks() {
	b := &t.block
	t.EachLane(func(lane, head, _ int) { b.max[lane] = scalar.Log2Units(t.job.Call.Sinks[head]) })
	t.kern.MergeStats(t.max, t.sum, b.max, ones[:t.Lanes], b.alpha, b.beta)
	t.strategy.mergeNone(t)
}

// unpackRows writes the tile's rows to Out and returns the set of those that hold a NaN.
func (t *tile) unpackRows() (nan uint64) {
	out, dv := &t.job.Call.Out, t.job.dv()
	if out.DType() == view.Float32 {
		return t.strategy.unpack(t, out.F32(), t.offsets(out, 0), t.sum)
	}
	data := t.scratch.rows
	nan = t.strategy.unpack(t, data, t.packedOffsets(dv), t.sum)
	for lane, at := range t.offsets(out, 0)[:t.N] {
		rows.Store(t.job.tier, out, at, data[lane*dv:(lane+1)*dv])
	}
	return nan
}

// A Partial makes a call compute one block of partial results, in Call.Out, Max and
// Sum, instead of final ones.
type Partial struct {
	Max, Sum view.Tensor // [B, H, Lq, 1]
	Block    int         // the block of 256 keys that the call looks at, from the first key on
	Resume   bool        // merge all keys into what Out, Max and Sum hold instead
}

func (p *Partial) isSet() bool { return p.Max.IsSet() }

// resume loads what earlier calls have left of the tile's rows.
func (t *tile) resume() {
	j := t.job
	t.started = true
	for lane := range t.Lanes {
		at := min(lane, t.N-1)
		t.max[lane], t.sum[lane] = t.Row(&j.Call.Partial.Max, at)[0], t.Row(&j.Call.Partial.Sum, at)[0]
	}
	t.strategy.load(t, j.Call.Out.F32(), t.offsets(&j.Call.Out, 0))
}

// finishPartial writes the partial results of the tile's rows. Rows with a NaN are
// computed again if it may be a hidden value's. They come last, because they still
// need what earlier calls have left in Out.
func (t *tile) finishPartial() {
	again := t.unpackPartial()
	if again != 0 && t.areValuesFinite() {
		again = 0
	}
	for lane := range t.N {
		if again>>lane&1 == 0 {
			t.storePartial(lane)
		}
	}
	for ; again != 0; again &= again - 1 {
		t.recompute(t.First + bits.TrailingZeros64(again))
	}
}

// unpackPartial copies the output to the scratch's rows, and returns the set of those
// that hold a NaN.
func (t *tile) unpackPartial() (nan uint64) {
	return t.strategy.unpack(t, t.scratch.rows, t.packedOffsets(t.job.dv()), ones[:t.Lanes]) & (1<<t.N - 1)
}

// storePartial writes the partial result of a lane, whose output is in the scratch's rows.
func (t *tile) storePartial(lane int) {
	p, dv := &t.job.Call.Partial, t.job.dv()
	out, max, sum := t.Row(&t.job.Call.Out, lane), t.Row(&p.Max, lane), t.Row(&p.Sum, lane)
	copy(out, t.scratch.rows[lane*dv:][:dv])
	max[0], sum[0] = t.max[lane]+0, t.sum[lane]
	rows.Canonize(out)
	rows.Canonize(sum)
}
