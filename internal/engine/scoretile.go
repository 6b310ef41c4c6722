package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
)

// A ScoreMod is the caller's own score modification.
type ScoreMod interface{ Modify(t *ScoreTile) }

// ScoreTile has the fields of kernel.ScoreTile, to which a pointer to it converts.
type ScoreTile struct {
	Scores                 []float32
	Stride                 int
	Batch                  int
	Keys, Key, KeyPosition int
	Rows                   []ScoreRow
}

// ScoreRow is kernel.ScoreRow.
type ScoreRow = struct {
	Head     int // query head
	Query    int // number of the query in the call
	Position int // its position
}

// callScoreMod applies Call.ScoreMod.
func (t *tile) callScoreMod(part mask.Span, top []float32) {
	lanes, scores, rows := t.kern.Lanes, t.scoresFrom(part), t.scratch.scoreRows[:0]
	start := position.Of(t.job.QueryStart, t.head.batch)
	t.eachLane(func(lane, head, query int) {
		if lane < t.n {
			rows = append(rows, ScoreRow{Head: head, Query: query, Position: start + query})
		}
	})
	s := &t.scratch.scoreTile // a variable of the function would escape
	*s = ScoreTile{
		Scores: scores[: part.Len()*lanes : part.Len()*lanes], Stride: lanes, Batch: t.head.batch,
		Keys: part.Len(), Key: part.Lo - t.phase, KeyPosition: part.Lo + t.start, Rows: rows,
	}
	t.job.ScoreMod.Modify(s)
	*s = ScoreTile{} // a function may have put its own slices there
	for x := range part.Len() {
		for lane, score := range scores[x*lanes:][:lanes] {
			if score > top[lane] {
				top[lane] = score
			}
		}
	}
}
