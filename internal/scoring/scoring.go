// Package scoring has what makes weights of the products of queries and keys: scale, caps, biases, masks, positions,
// sinks and dropout. The options of every call that takes them have one [Scoring], and so has the call of the engine.
// The table of its fields says how each is checked, whose memory it reads, and which calls take it.
package scoring

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// Scoring has the fields of kernel.Scoring, which documents them.
type Scoring Of[mask.Mask, view.Tensor, func(*Tile), Dropout]

// Of is a Scoring whose parts have any types. kernel.Scoring is one, with its own: so a pointer to that is a pointer to
// a Scoring.
type Of[Mask, Tensor, Func, Dropout any] struct {
	Scale                float32
	Quantized            bool
	Score                Func
	Softcap              float32
	ALiBi                []float32
	Bias                 Tensor
	Mask                 Mask
	QueryStart, KeyStart []int
	Sinks                []float32
	Dropout              Dropout
}

// Tile has the fields of kernel.ScoreTile.
type Tile = TileOf[Row]

// TileOf is a Tile with rows of any type, such as kernel.ScoreRow.
type TileOf[Row any] struct {
	Scores                 []float32
	Stride                 int
	Batch                  int
	Keys, Key, KeyPosition int
	Rows                   []Row
}

// Row has the fields of kernel.ScoreRow.
type Row struct {
	Head     int // query head
	Query    int // number of the query in the call
	Position int // its position
}

// Resolve makes s, which has passed Check for scores of shape c, ready for the engine: the mask tells what queries see,
// and the bias has strides of 0 where it broadcasts.
func (s *Scoring) Resolve(c *view.Scores) {
	if s.Mask.IsSet() {
		s.Mask.Resolve(c)
	}
	if s.Bias.IsSet() {
		s.Bias, _ = s.Bias.Broadcast(fields[bias].arg, c)
	}
}
