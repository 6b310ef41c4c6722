package kernel

// A ScoreTile is what Options.Score is called with: the scores of some queries and
// some keys, to be changed in place. It may do what no option does: another
// similarity, another bias, another mask (-Inf hides a key, unless Softcap
// makes -Softcap of it). Softcap, ALiBi, Bias and Mask come after it, so that its
// scores mean what theirs do.
//
// The scores are in the contract's unit, that of base-2 exponentials: a natural score times
// log2 e. Use [FMA], [Exp2] and [Tanh], and float32(x*y) for a product to which
// something is added, to get the same bits on every CPU.
//
// Tiles are cut as it suits the tier and the number of threads, come in any
// order and from several goroutines at once; a score may be computed more than
// once. What is done to a score may depend on nothing but its query and key, or the
// result depends on the tiling. The tile is valid during the call only.
type ScoreTile struct {
	// Scores holds the score of row r and key x at [x·Stride+r].
	Scores []float32
	Stride int

	Batch int // batch row

	// Keys is the number of keys; the first is key Key of the call and stands
	// at position KeyPosition.
	Keys, Key, KeyPosition int

	// Rows are the rows of the tile.
	Rows []ScoreRow
}

// A ScoreRow is a query of a [ScoreTile].
type ScoreRow struct {
	Head     int // query head
	Query    int // number of the query in the call
	Position int // and its position
}

// callScore calls Options.Score.
func (w *workspace) callScore(j *job, p *panel, part span, top []float32) {
	t := &w.tile
	lanes := p.kern.lanes
	*t = ScoreTile{
		Scores: p.scores(part)[:part.len()*lanes], Stride: lanes, Batch: p.unit.b,
		Keys: part.len(), Key: part.lo - p.phase, KeyPosition: part.lo + p.start, Rows: t.Rows[:0],
	}
	start := each(j.queryStart, p.unit.b)
	p.eachLane(j, func(lane, head, i int) {
		if lane < p.n {
			t.Rows = append(t.Rows, ScoreRow{Head: head, Query: i, Position: start + i})
		}
	})
	j.hook(t)
	scores := p.scores(part)
	t.Scores = nil
	for x := range part.len() {
		for lane, s := range scores[x*lanes:][:lanes] {
			if s > top[lane] {
				top[lane] = s
			}
		}
	}
}
