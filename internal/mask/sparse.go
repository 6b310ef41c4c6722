package mask

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
)

// BlockSparse is a bitmap over blocks of queries and keys, true where the queries
// of a block see the keys of a block.
type BlockSparse struct {
	Keep          []bool
	QueryBlock    int // queries of a block
	KeyBlock      int // keys of a block
	set           bool
	keyBlockCount int // in a row of Keep, see resolved
}

// resolved returns the bitmap for scores of shape c. Blocks larger than the scores
// mean the same as blocks of their size, and those do not overflow.
func (s BlockSparse) resolved(c *view.Scores) BlockSparse {
	s.QueryBlock = min(s.QueryBlock, max(c.Queries, 1))
	s.KeyBlock = min(s.KeyBlock, max(c.Keys, 1))
	s.keyBlockCount = ints.CeilDiv(c.Keys, s.KeyBlock)
	return s
}

// check reports a bitmap that does not fit scores of shape c.
func (s *BlockSparse) check(c *view.Scores) *check.Failure {
	if !s.set {
		return nil
	}
	if s.QueryBlock < 1 || s.KeyBlock < 1 {
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("blocks of %d queries and %d keys", s.QueryBlock, s.KeyBlock), Want: "at least 1 of each"}
	}
	r := s.resolved(c)
	rows := ints.CeilDiv(c.Queries, r.QueryBlock)
	if want := ints.MulSat(rows, r.keyBlockCount); len(s.Keep) != want {
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("a bitmap of %d blocks", len(s.Keep)),
			Want: fmt.Sprintf("%d × %d blocks: %d", rows, r.keyBlockCount, want)}
	}
	return nil
}

// IsSet tells whether there is a bitmap.
func (s *BlockSparse) IsSet() bool { return s.set }

// Sees tells whether query i sees the block of key j.
func (s *BlockSparse) Sees(i, j int) bool {
	return s.Keep[i/s.QueryBlock*s.keyBlockCount+j/s.KeyBlock]
}

// Coverage tells how many of some queries see a block of keys.
type Coverage uint8

const (
	None    Coverage = iota // no query sees the block
	Partial                 // some queries see it
	Full                    // all queries see it
)

// Coverage returns how many of the queries first to last see the block of key j, and
// the number of the first key after that block.
func (s *BlockSparse) Coverage(first, last, j int) (c Coverage, end int) {
	end = (j/s.KeyBlock + 1) * s.KeyBlock
	for i := first; i <= last; i = (i/s.QueryBlock + 1) * s.QueryBlock {
		this := None
		if s.Sees(i, j) {
			this = Full
		}
		if i > first && this != c {
			return Partial, end
		}
		c = this
	}
	return c, end
}
