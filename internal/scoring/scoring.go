// Package scoring has what makes weights of the products of queries and keys: scale, caps, biases,
// masks, positions, sinks and dropout. The options of every call that takes them have one
// [Scoring], and so has the call of the engine. The table of its fields says how each is checked,
// whose memory it reads, and which calls take it.
package scoring

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Resolve makes s, which has passed Check for scores of shape c, ready for the engine: the mask
// tells what queries see, and the bias has strides of 0 where it broadcasts.
func (s *Scoring) Resolve(c *view.Scores) {
	if s.Mask.IsSet() {
		s.Mask.Resolve(c)
	}
	if s.Bias.IsSet() {
		s.Bias, _ = s.Bias.Broadcast(fields[bias].arg, c)
	}
}

// Past returns how many keys of batch row b are before the first query's.
func (s *Scoring) Past(b int) int { return position.Of(s.QueryStart, b) - position.Of(s.KeyStart, b) }

// Query returns query i of batch row b, which has so many keys, as masks see it.
func (s *Scoring) Query(b, i, keys int) mask.Query {
	start := position.Of(s.KeyStart, b)
	return mask.Query{Batch: b, Index: i, Keys: keys, KeyStart: start, Diagonal: i + position.Of(s.QueryStart, b) - start}
}

// OnPath is Query for a call of so many queries that are a tree. Its keys are those before the tree
// and those on its path.
func (s *Scoring) OnPath(b, i, queries, keys int) mask.Query {
	past := s.Past(b)
	depth, existing := view.Parents(s.Parents).Depths(b, i, queries, keys-past)
	q := s.Query(b, i, min(past, keys)+existing+1)
	q.Diagonal += depth - i
	return q
}

// ScaleOr returns a Scale, or what its default, 0, stands for. -0 is 0.
func ScaleOr(scale, natural float32) float32 {
	if math.Float32bits(scale) == 0 {
		return natural
	}
	return scale
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

// Dropout has the fields of kernel.Dropout.
type Dropout struct {
	Rate      float32
	Seed      uint64
	Sequences []uint32
}

func (d *Dropout) check(batch int) *check.Failure {
	if !(d.Rate >= 0 && d.Rate < 1) {
		return &check.Failure{Where: "Options.Dropout.Rate", Got: fmt.Sprint(d.Rate), Want: "0 to below 1"}
	}
	if n := len(d.Sequences); d.Sequences != nil && n != batch {
		return &check.Failure{Where: "Options.Dropout.Sequences", Got: fmt.Sprintf("%d numbers", n), Want: fmt.Sprintf("one per batch row: %d", batch)}
	}
	return nil
}

// Sequence returns the number that stands for batch row b in the generator.
func (d *Dropout) Sequence(b int) uint32 {
	if len(d.Sequences) > 0 {
		return d.Sequences[b]
	}
	return uint32(b)
}

// Threshold returns the least random word with which a weight is kept.
func (d *Dropout) Threshold() uint32 { return uint32(math.RoundToEven(float64(d.Rate) * (1 << 32))) }

// Factor returns what the weights that are kept are multiplied by.
func (d *Dropout) Factor() float32 { return float32(1 / (1 - float64(d.Rate))) }
