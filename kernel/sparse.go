package kernel

import "fmt"

// A blockSparse mask is a bitmap over blocks of queries and keys.
type blockSparse struct {
	set        bool
	keep       []bool
	query, key int // sizes of a block
	columns    int // blocks of keys
}

// BlockSparse lets queries see whole blocks of keys: keep is [⌈Lq/queryBlock⌉,
// ⌈Lk/keyBlock⌉], the same for all batch rows and heads, and true where the queries
// of a block see the keys of a block. Hidden blocks cost no arithmetic where no
// query at hand sees them. Any sizes ≥ 1 are valid; multiples of 64 queries
// and 256 keys are fastest. The slice is not copied.
func BlockSparse(keep []bool, queryBlock, keyBlock int) Mask {
	return Mask{sparse: blockSparse{set: true, keep: keep, query: queryBlock, key: keyBlock}}
}

// sees tells whether query i sees the block of key j.
func (s *blockSparse) sees(i, j int) bool {
	return s.keep[i/s.query*s.columns+j/s.key]
}

// check reports a bitmap that does not fit the call.
func (s *blockSparse) check(c *callShape) error {
	if !s.set {
		return nil
	}
	if s.query < 1 || s.key < 1 {
		return &ArgumentError{"Options.Mask", fmt.Sprintf("blocks of %d queries and %d keys", s.query, s.key), "at least 1 of each"}
	}
	// Larger blocks than these mean the same, but overflow.
	s.query, s.key = min(s.query, max(c.queries, 1)), min(s.key, max(c.keys, 1))
	s.columns = ceilDiv(c.keys, s.key)
	if want := mulSat(ceilDiv(c.queries, s.query), s.columns); len(s.keep) != want {
		return &ArgumentError{"Options.Mask", fmt.Sprintf("a bitmap of %d blocks", len(s.keep)),
			fmt.Sprintf("%d × %d blocks: %d", ceilDiv(c.queries, s.query), s.columns, want)}
	}
	return nil
}
