package view

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// Parents make queries a tree: that of each query, or -1. See kernel.Scoring. There is one tree for all batch rows or one for each.
type Parents []int32

// of returns the tree of batch row b, of so many queries.
func (p Parents) of(b, queries int) []int32 {
	if len(p) == queries {
		return p
	}
	return p[b*queries:][:queries]
}

// Depth returns how many queries are before query i of batch row b on its path, of those whose keys exist: most of the first ones.
// It is -1 if not even the first one's does.
func (p Parents) Depth(b, i, queries, most int) (depth int) {
	tree := p.of(b, queries)
	for depth = -1; i >= 0; i = int(tree[i]) {
		if i < most {
			depth++
		}
	}
	return depth
}

// Path sets rows to the numbers of those queries on the path of query i, from number lo on.
func (p Parents) Path(rows []int32, b, i, queries, lo int) {
	tree := p.of(b, queries)
	for n := p.Depth(b, i, queries, queries); n >= lo; n-- {
		if n-lo < len(rows) {
			rows[n-lo] = int32(i)
		}
		i = int(tree[i])
	}
}

// Check reports parents that are no trees of the queries.
func (p Parents) Check(arg string, c *Scores) *check.Failure {
	if all := ints.MulSat(c.Batch, c.Queries); len(p) != c.Queries && len(p) != all {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d parents", len(p)), Want: fmt.Sprintf("one for each query: %d, or for each of all batch rows: %d", c.Queries, all)}
	}
	for x, parent := range p {
		if i := x % c.Queries; parent < -1 || int(parent) >= i {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("parent %d of query %d", parent, i), Want: "a query before it, or -1 for none"}
		}
	}
	return nil
}
