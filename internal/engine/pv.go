package engine

import "github.com/attn-go/attn/internal/ukernel"

// accumulatePV multiplies V of the current block by its weights and merges the
// product into the tile's output.
func (t *tile) accumulatePV() {
	switch {
	case t.block.keys.Len() == 0:
		return
	case t.skinny:
		t.skinnyPV()
	default:
		t.tilePV()
	}
	t.started = true
}

func (t *tile) tilePV() {
	lanes, dv, n := t.kern.Lanes, t.job.dv(), t.block.keys.Len()
	v, cs, _ := t.scratch.values.get(t.job.tier, &t.job.V, t.head, t.block.keys.Lo-t.phase, n)
	for e := 0; e < dv; {
		m := min(ukernel.RowsPerCall(dv-e, lanes*n), ukernel.ColumnsPerCall(dv-e, lanes))
		o := t.o[e*lanes:]
		if t.started {
			t.kern.GemmMerge(o, lanes, v[e:], 1, cs, t.block.scores, lanes, m, n, t.alpha, t.beta)
		} else {
			t.kern.Gemm(o, lanes, v[e:], 1, cs, t.block.scores, lanes, m, n, n, false)
		}
		e += m
	}
}
