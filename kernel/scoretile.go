package kernel

import "github.com/attn-go/attn/internal/engine"

// A ScoreTile is passed to Options.Score: the scores of some queries and some keys,
// to be changed in place. With it a program adds what no option offers: another
// similarity, another bias, another mask (-Inf hides a key, unless Softcap turns it
// into -Softcap). Softcap, ALiBi, Bias and Mask are applied after it.
//
// The scores are in the contract's unit, that of base-2 exponentials: a natural score
// times log2 e. To get the same bits on every CPU, use numeric.FMA, numeric.Exp2 and
// numeric.Tanh, and write float32(x*y) for a product to which something is added.
//
// The engine cuts tiles to suit the tier and the number of threads. They come in any
// order and from several goroutines at once, and a score may be computed more than
// once. The new score must depend on its query and key alone; otherwise the result
// depends on the tiling. The tile is valid during the call only.
type ScoreTile struct {
	// Scores holds the score of row r and key x at [x·Stride+r].
	Scores []float32
	Stride int

	Batch int // batch row

	// Keys is the number of keys. The first is key Key of the call, at position
	// KeyPosition.
	Keys, Key, KeyPosition int

	// Rows are the rows of the tile.
	Rows []ScoreRow
}

// A ScoreRow is a query of a [ScoreTile]. (It is an alias, so that a ScoreTile is the
// engine's own, without a copy.)
type ScoreRow = struct {
	Head     int // query head
	Query    int // number of the query in the call
	Position int // its position
}

// scoreFunc adapts Options.Score to the engine. The conversion of a func to an
// interface does not allocate.
type scoreFunc func(*ScoreTile)

// Modify calls the function.
func (f scoreFunc) Modify(t *engine.ScoreTile) { f((*ScoreTile)(t)) }
