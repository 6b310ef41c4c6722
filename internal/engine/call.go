package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// A Call is what one call computes: arguments that fit each other, options that are
// resolved. A zero field means that the option is not used.
type Call struct {
	Out, Q, K, V view.Tensor

	scoring.Scoring // resolved: see its fields in kernel.Scoring

	Additive      []float32 // weights of additive scores, D numbers, instead of products
	AdditiveScale float64   // multiplies them

	// Further outputs.
	LSE, Weights, Scores view.Tensor
	Stage                ScoreStage // of Scores

	Partial Partial
}

// ScoreStage is kernel.ScoreStage.
type ScoreStage uint8

const (
	ScoresScaled ScoreStage = iota // products, scaled
	ScoresCapped                   // after Score and Softcap
	ScoresMasked                   // as they enter the softmax
)

// derived is what the engine derives from a Call before it plans.
type derived struct {
	group        int        // query heads per KV head
	scale        float32    // the contract's c
	scales       [1]float32 // the same, of all keys
	mods         scoreMods
	additive     []float32                         // padded weights in the unit of exp2, or nil
	philox       [2 * contract.PhiloxRounds]uint32 // round keys of the dropout generator
	keyRange     mask.Span                         // tile coordinates of the keys that the call covers: all, or one block (Partial)
	otherOutputs bool                              // LSE, Weights or Scores are wanted
	biased       bool

	listed   bool // queries have lists of keys, see listed.go
	perQuery bool // each query has its own keys
	tree     bool // those on its path

	sameKeys bool // all rows of the call see the same keys, frame's
	frame    keyFrame
}

// derive fills in j.derived.
func (j *Job) derive() {
	if j.Call.KeyRows.IsSet() {
		j.deriveListed()
	}
	if j.Call.Parents != nil {
		j.deriveTree()
	}
	j.derived.group = j.Call.Q.Dim(1) / j.Call.K.Dim(1)
	j.derived.scale = scalar.Log2Units(NaturalScale(j.Call.Scale, j.d()))
	j.derived.scales[0] = j.derived.scale
	j.derived.keyRange = mask.Everything
	if j.Call.Partial.isSet() && !j.Call.Partial.Resume {
		first := j.Call.Partial.Block * BlockKeys
		j.derived.keyRange = mask.Span{Lo: first, Hi: first + BlockKeys}
	}
	if j.Call.Additive != nil {
		j.derived.additive = j.paddedWeights()
	}
	j.derived.biased = j.Call.Bias.IsSet()
	if j.Call.Dropout.Rate != 0 {
		j.derived.philox = scalar.PhiloxKeys(j.Call.Dropout.Seed)
	}
	j.derived.otherOutputs = j.Call.LSE.IsSet() || j.Call.Weights.IsSet() || j.Call.Scores.IsSet()
	j.setScoreMods()
	j.derived.sameKeys = !j.derived.listed && !j.derived.tree && !j.Call.Mask.IsSet() && !j.Call.K.IsRagged() && !j.Call.K.IsPaged() && len(j.Call.KeyStart) <= 1
	if j.derived.sameKeys {
		j.derived.frame = j.keyFrameOf(0)
	}
}

// NaturalScale returns what a Call's Scale stands for.
func NaturalScale(scale float32, d int) float32 {
	return scoring.ScaleOr(scale, float32(1/math.Sqrt(float64(d))))
}

// kvHeads returns the number of KV heads of all batch rows.
func (j *Job) kvHeads() int { return j.Call.K.Dim(0) * j.kvHeadsOf(j.Call.Q.Dim(2)) }

// kvHeadsOf returns the number of KV heads of a batch row with so many queries.
func (j *Job) kvHeadsOf(queries int) int {
	if j.derived.perQuery {
		return j.Call.K.Dim(1) * queries
	}
	return j.Call.K.Dim(1)
}

// kvHead returns KV head number i. The heads of a batch row are neighbours.
func (j *Job) kvHead(i int) lanes.Head {
	h := lanes.Head{Batch: i / j.Call.K.Dim(1), Head: i % j.Call.K.Dim(1)}
	if j.derived.perQuery {
		h.Batch, h.Query = h.Batch/j.Call.Q.Dim(2), h.Batch%j.Call.Q.Dim(2)
	}
	return h
}

// next returns the KV head after h.
func (j *Job) next(h lanes.Head) lanes.Head {
	if h.Head++; h.Head < j.Call.K.Dim(1) {
		return h
	}
	if h.Query++; j.derived.perQuery && h.Query < j.Call.Q.Dim(2) {
		return lanes.Head{Batch: h.Batch, Query: h.Query}
	}
	return lanes.Head{Batch: h.Batch + 1}
}

// rows returns the number of query rows of a KV head of the longest batch row.
func (j *Job) rows() int { return j.rowsOfQueries(j.Call.Q.Dim(2)) }

// rowsOf returns the number of query rows of a KV head of batch row b.
func (j *Job) rowsOf(b int) int { return j.rowsOfQueries(j.Call.Q.Length(b)) }

func (j *Job) rowsOfQueries(n int) int {
	if j.derived.perQuery {
		n = min(n, 1)
	}
	return j.derived.group * n
}

// firstRow returns the number of the first query row of a KV head.
func (j *Job) firstRow(h lanes.Head) int { return j.derived.group * h.Query }

// keys returns the number of keys of the longest batch row.
func (j *Job) keys() int {
	if j.derived.listed {
		return j.Call.KeyRows.Shape[3]
	}
	return j.Call.K.Dim(2)
}

// keysOf returns the number of keys of batch row b, or of a list at most.
func (j *Job) keysOf(b int) int {
	if j.derived.listed {
		return j.Call.KeyRows.Shape[3]
	}
	return j.Call.K.Length(b)
}

func (j *Job) d() int  { return j.Call.Q.Dim(3) }
func (j *Job) dv() int { return j.Call.V.Dim(3) }
