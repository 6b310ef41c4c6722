package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
)

// Calls with Parents, whose queries are a tree. A KV head has the rows of one query alone, as with
// lists for each query. Its keys are the keys before the tree and the keys on its path, numbered in
// this order: tile coordinates are theirs, so that masks, positions and blocks are as in a
// sequence. Rows on the path are read like a list's.

// query returns query i of batch row b as masks see it.
func (j *Job) query(b, i int) mask.Query {
	keys := j.Call.K.Length(b)
	if !j.derived.tree {
		return j.Call.Query(b, i, keys)
	}
	return j.Call.OnPath(b, i, j.Call.Q.Dim(2), keys)
}

// queryStart returns the position of query 0 as if the tile's queries followed it one by one.
func (t *tile) queryStart() int {
	if t.job.derived.tree {
		return t.onPath.KeyStart + t.onPath.Diagonal - t.Query
	}
	return position.Of(t.job.Call.QueryStart, t.Head.Batch)
}

// deriveTree derives what others ask first.
func (j *Job) deriveTree() {
	c := &j.Call
	j.derived.tree, j.derived.perQuery = true, true
	j.named = kvrows.Rows{Parents: c.Parents, Queries: c.Q.Dim(2), QueryStart: c.QueryStart, KeyStart: c.KeyStart}
}

// treeQueries returns how many queries are a tree.
func (j *Job) treeQueries() int {
	if j.derived.tree {
		return j.Call.Q.Dim(2)
	}
	return 0
}

// keyRows returns which rows the keys of a query are, or nil if they are its batch row's.
func (j *Job) keyRows() *kvrows.Rows {
	if j.derived.listed || j.derived.tree {
		return &j.named
	}
	return nil
}
