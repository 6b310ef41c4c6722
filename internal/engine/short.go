package engine

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A short call feels what it takes to convert its tensors row by row, and more that its tiles are
// not plain ones. So its tensors that are not float32 become so as a whole, by a call of a kernel
// each, and so does what comes of it in the end. Widening is exact, or one rounded product: no bit
// depends on where it is done. Queries, keys and values of products in bfloat16 are rounded as
// well.

// shortFloats is the most elements of the tensors of a short call. They stay in L2.
const shortFloats = 128 << 10

// unitShort is the most rows, or keys, for which a unit for tiles is no faster.
const unitShort = ukernel.PanelStep

// widened are tensors of a short call as float32.
type widened struct {
	out    view.Tensor // of the caller, if it is not float32
	sizes  [4]int      // in elements, in the order of Call.tensors
	memory []float32
	usage  parallel.Usage
	rounds bool // queries, keys and values are rounded for products in bfloat16

	inPairs bool           // queries and keys are not widened in place but
	pairs   [2]view.Tensor // these, see fitsPairs
}

// isShort tells whether the call, which is derived, would be plain if its tensors were float32, and
// is short.
func (j *Job) isShort() bool {
	c := &j.Call
	if !c.BFloat16 && c.Q.DType() == view.Float32 && c.K.DType() == view.Float32 && c.V.DType() == view.Float32 && c.Out.DType() == view.Float32 {
		return false
	}
	if c.BFloat16 && j.usesUnit() && min(j.rows(), j.keys()) > unitShort {
		return false
	}
	w, n := &j.widened, 0
	for i, x := range c.tensors() {
		shape := x.Shape()
		rows := ints.MulSat(ints.MulSat(shape[0], shape[1]), shape[2])
		w.sizes[i] = ints.MulSat(rows, shape[3])
		if n = ints.AddSat(n, w.sizes[i]); n > shortFloats || rows == 0 || x.IsPaged() || x.IsRagged() {
			return false
		}
	}
	see := &j.derived.frame.visible
	return j.derived.sameKeys && j.derived.mods.n == 0 && j.derived.additive == nil && !c.DynamicInt12 && j.hasPlainOutput() &&
		see.Len() > 0 && blockStart(see.Lo) == blockStart(see.Hi-1) && !(j.keys() >= j.leastSkinny() && j.isSkinny(j.rows()))
}

// leastSkinny is the least number of keys for which the kernels for few rows are faster than plain
// calls, measured on Zen 5 with AVX-512 and AVX2. Those for products in bfloat16 repeat the last
// key to have SkinnyKeys.
func (j *Job) leastSkinny() int {
	isNarrow := max(j.d(), j.dv()) <= ukernel.ColumnSegment
	switch isMixed := j.isMixed() && j.usesHeadValues(); {
	case j.Call.BFloat16 && !(isMixed && j.fitsPairs()):
		if j.d() < ukernel.ColumnSegment {
			return ukernel.SkinnyKeys * 3 / 4
		}
		return ukernel.SkinnyKeys / 2
	case isMixed && j.Call.K.DType() != view.Int4:
		return mixedPairs + 1
	case isMixed, isNarrow && j.Call.K.DType() == view.Float32 && j.usesHeadValues():
		return ukernel.SkinnyKeys * 3 / 2
	}
	return ukernel.SkinnyKeys
}

// tensors are those that widen converts, the output last.
func (c *Call) tensors() [4]*view.Tensor { return [...]*view.Tensor{&c.Q, &c.K, &c.V, &c.Out} }

// widen makes all tensors of a short call float32. finishShort undoes it for Out.
func (j *Job) widen() {
	w, n := &j.widened, 0
	for _, size := range w.sizes {
		n += size
	}
	parallel.Fit(&j.memory, &w.usage, &w.memory, n, rows.Aligned)
	free := w.memory
	w.rounds = j.Call.BFloat16
	w.inPairs = w.rounds && j.fitsPairs()
	for i, x := range j.Call.tensors() {
		rounds := w.rounds && x != &j.Call.Out
		if x.DType() == view.Float32 && !rounds {
			continue
		}
		data := free[:w.sizes[i]:w.sizes[i]]
		free = free[w.sizes[i]:]
		switch {
		case x == &j.Call.Out:
			w.out, *x = *x, rows.Room(data, x)
		case w.inPairs && i < len(w.pairs):
			w.pairs[i] = rows.WidenPairs(j.tier, data, x)
		default:
			rows.WidenWhole(j.tier, data, x, rounds)
		}
	}
}

// finishShort ends a call. It rounds the output of a short one.
func (j *Job) finishShort() {
	if w := &j.widened; w.out.IsSet() {
		rows.StoreWhole(j.tier, &w.out, &j.Call.Out)
		w.out = view.Tensor{}
	}
	j.widened.rounds, j.widened.inPairs = false, false
}
