package engine

import (
	"math/bits"

	"github.com/attn-go/attn/internal/view"
)

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
	t.eachLane(func(lane, head, query int) {
		t.max[lane] = j.Partial.Max.Row(t.head.batch, head, query)[0]
		t.sum[lane] = j.Partial.Sum.Row(t.head.batch, head, query)[0]
	})
	off := t.offsets(&j.Out)
	if t.skinny {
		for lane, at := range off[:t.n] {
			copy(t.o[lane*j.dv():][:j.dv()], j.Out.F32()[at:])
		}
		return
	}
	t.packTo(t.o, j.Out.F32(), off, j.dv(), 1)
}

// finishPartial writes the partial results of the tile's rows. Rows with a NaN are
// computed again, as it may be a hidden value's. They come last, because they still
// need what earlier calls have left in Out.
func (t *tile) finishPartial() {
	dv := t.job.dv()
	nan := t.unpackTo(t.scratch.rows, t.rowOffsets(dv), ones[:t.kern.Lanes]) & (1<<t.n - 1)
	again := uint64(0)
	for lane := range t.n {
		if nan>>lane&1 != 0 && !t.exact {
			again |= 1 << lane
		} else {
			t.storePartial(lane, t.scratch.rows[lane*dv:][:dv])
		}
	}
	for ; again != 0; again &= again - 1 {
		t.recompute(t.row + bits.TrailingZeros64(again))
	}
}

// storePartial writes the partial result of a lane, whose output is o.
func (t *tile) storePartial(lane int, o []float32) {
	p := &t.job.Partial
	out, max, sum := t.rowOf(&t.job.Out, lane), t.rowOf(&p.Max, lane), t.rowOf(&p.Sum, lane)
	copy(out, o)
	max[0], sum[0] = t.max[lane]+0, t.sum[lane]
	canonize(out)
	canonize(sum)
}
