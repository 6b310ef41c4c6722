package engine

import "github.com/attn-go/attn/internal/view"

// A shape is all that the size of a call's scratch memory depends on. Most calls have the shape
// of the call before, and then no memory is fitted: that would take 2% of a small call.
type shape struct {
	lanes, d, dv   int
	tiles          int // of a task, at most
	additive       int // weights of additive scores, or 0
	kType, vType   view.DType
	kPaged, vPaged bool
	skinny         bool
	rows           bool // queries or outputs pass through scratch memory
	scoreMod       bool
}

// findShape sets j.shape, after the plan is made.
func (j *Job) findShape() {
	j.shape = shape{
		lanes: j.lanes, d: j.d(), dv: j.dv(), tiles: j.maxTiles, additive: len(j.additive),
		kType: j.K.DType(), vType: j.V.DType(), kPaged: j.K.IsPaged(), vPaged: j.V.IsPaged(),
		skinny:   j.isSkinny(j.rows()),
		rows:     j.Q.DType() != view.Float32 || j.Out.DType() != view.Float32 || j.Partial.isSet(),
		scoreMod: j.ScoreMod != nil,
	}
}
