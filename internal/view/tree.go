package view

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// Parents make queries a tree: the parent of each query, or -1. See kernel.Scoring. There is one
// tree for all batch rows or one for each.
type Parents []int32

// of returns the tree of batch row b, of so many queries.
func (p Parents) of(b, queries int) []int32 {
	if len(p) == queries {
		return p
	}
	return p[b*queries:][:queries]
}

// Depths returns how many queries are before query i of batch row b on its path, and how many of
// those whose keys exist: most of the first ones. This is -1 if not even the first one's does.
func (p Parents) Depths(b, i, queries, most int) (all, existing int) {
	tree := p.of(b, queries)
	for all, existing = -1, -1; i >= 0; i = before(tree, i) {
		if all++; i < most {
			existing++
		}
	}
	return all, existing
}

// Path writes the numbers of the queries on the path of query i to the end of room, which has one
// for each query, and returns them.
func (p Parents) Path(room []int32, b, i, queries int) []int32 {
	tree, first := p.of(b, queries), len(room)
	for ; i >= 0; i = before(tree, i) {
		first--
		room[first] = int32(i)
	}
	return room[first:]
}

// before returns the parent of query i. A walk ends, even if parents change against the rules.
func before(tree []int32, i int) int {
	parent := int(tree[i])
	if parent >= i || parent < -1 {
		panic(fmt.Sprintf("attn: parent %d of query %d: parents have changed during the call", parent, i))
	}
	return parent
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
