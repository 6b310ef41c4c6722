package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
)

// A tile of SkinnyQK is the code for a span of queries and times·16 keys. Fewer queries are
// computed as if they were the least of the span: the others' scores are not used.
type tile struct {
	emit.Span
	times int
	ahead bool // whether stepsAhead makes its steps
}

// tilesOf lists the tiles of an element's variants.
//
// One vector of keys and up to 4 queries take as long as the chain of a single one. So a tile for 4
// does for fewer where these are rare: a narrow type has twice 16 keys for them, but for the last
// ones.
func (f *qkEmitter) tilesOf(e spec.Element) []tile {
	rows := f.g.SkinnyRows()
	from := leastOf(f.variants[0])
	switch {
	case e == spec.Float32 && f.looksAhead():
		return []tile{{emit.Span{Least: 1, Most: 4}, 1, false}, {emit.Span{Least: 5, Most: rows}, 1, false}, {emit.Span{Least: 3, Most: rows}, 1, true}}
	case e == spec.Float32 && rows > fewRows.Most:
		return []tile{{fewRows, 1, false}, {emit.Span{Least: fewRows.Most + 1, Most: rows}, 1, false}}
	case f.most() > 1 && from == 1:
		return []tile{{emit.Span{Least: 4, Most: rows}, 1, true}, {emit.Span{Least: 1, Most: doubledQueries}, 2, true}}
	case f.most() > 1 && from > doubledQueries:
		return []tile{{emit.Span{Least: 1, Most: doubledQueries}, 2, false}, {emit.Span{Least: 4, Most: rows}, 1, true}}
	case f.most() > 1:
		return []tile{{emit.Span{Least: 1, Most: from - 1}, 2, false}, {emit.Span{Least: 4, Most: rows}, 1, true}, {emit.Span{Least: from, Most: doubledQueries}, 2, true}}
	case from == 1:
		return []tile{{emit.Span{Least: 1, Most: rows}, 1, true}}
	case from < rows:
		return []tile{{emit.Span{Least: 1, Most: from - 1}, 1, false}, {emit.Span{Least: from, Most: rows}, 1, true}}
	}
	return []tile{{emit.Span{Least: 1, Most: rows}, 1, false}}
}

func (t tile) label() string {
	kind := "group"
	switch {
	case t.times > 1:
		kind = "double"
	case t.ahead:
		kind = "ahead"
	}
	return fmt.Sprint(kind, t.Most)
}

// number tells tiles of 16 keys apart.
func (t tile) number() int {
	if t.ahead {
		return -t.Most
	}
	return t.Most
}

// looksAhead reports whether a variant's tiles for a number of queries have the steps of
// stepsAhead.
func looksAhead(v spec.QKVariant, queries int) bool { return v.Ahead > 0 && queries >= v.Ahead }

// looksAhead reports whether a variant has such tiles.
func (f *qkEmitter) looksAhead() bool {
	return slices.ContainsFunc(f.variants, func(v spec.QKVariant) bool { return v.Ahead > 0 })
}

// maxRows is the largest number of queries of a call: ukernel.MaxLanes.
const maxRows = 64

// leastOf is the least number of queries that are left for which a variant's tile has these steps,
// more than a call has if none has.
func leastOf(v spec.QKVariant) int {
	if v.Ahead == 0 {
		return maxRows + 1
	}
	return v.Ahead
}

// variantsOf lists those that use a tile.
func (f *qkEmitter) variantsOf(t tile) []spec.QKVariant {
	return slices.DeleteFunc(slices.Clone(f.variants), func(v spec.QKVariant) bool {
		if t.ahead {
			return !looksAhead(v, t.Most)
		}
		return looksAhead(v, t.Least)
	})
}

func isSecondLevel(v spec.QKVariant) bool { return v.Near == 2 }

// level is the level of the cache into which a tile's near prefetches go, 0 if its variants differ.
func (f *qkEmitter) level(t tile) int {
	users := f.variantsOf(t)
	if slices.ContainsFunc(users, func(v spec.QKVariant) bool { return v.Near != users[0].Near }) {
		return 0
	}
	return users[0].Near
}

// choose emits the jumps to the tile for the queries that are left.
func (f *qkEmitter) choose(tiles []tile) {
	f.queries = f.g.GP64()
	f.countQueries()
	plain, ahead := byKind(tiles)
	if len(plain) > 0 && len(ahead) > 0 {
		f.g.CMPQ(f.queries, f.least())
		f.g.JL(operand.LabelRef("few"))
	}
	if len(ahead) > 0 {
		f.g.Label("startahead")
		f.startAhead()
		f.countQueries()
		f.toTile(ahead)
	}
	if len(plain) > 0 {
		f.g.Label("few")
		f.toTile(plain)
	}
}

// byKind parts the tiles with steps ahead from those without.
func byKind(tiles []tile) (plain, ahead []tile) {
	for _, t := range tiles {
		if t.ahead {
			ahead = append(ahead, t)
		} else {
			plain = append(plain, t)
		}
	}
	return plain, ahead
}

// countQueries counts the queries from lane on.
func (f *qkEmitter) countQueries() {
	f.g.MOVQ(f.g.Argument("n"), f.queries)
	f.g.SUBQ(f.lane, f.queries)
}

// toTile emits the jumps to tiles whose steps are of one kind. If these have only twice 16 keys and
// there are fewer, steps ahead follow.
func (f *qkEmitter) toTile(tiles []tile) {
	singles := ofTimes(tiles, 1)
	if doubles := ofTimes(tiles, 2); len(doubles) > 0 {
		fewer := "fewer" + doubles[0].label()
		f.g.Comment("Twice 16 keys, if all queries are one small group.")
		f.g.CMPQ(f.left, operand.Imm(2*spec.SkinnyKeys))
		f.g.JL(operand.LabelRef(fewer))
		f.g.CMPQ(f.g.Argument("n"), operand.Imm(doubledQueries))
		f.g.JLE(operand.LabelRef(doubles[0].label()))
		f.g.Label(fewer)
		if len(singles) == 0 {
			f.g.JMP(operand.LabelRef("startahead"))
			return
		}
	}
	for _, t := range slices.Backward(singles[1:]) {
		f.g.CMPQ(f.queries, operand.Imm(uint64(t.Least)))
		f.g.JGE(operand.LabelRef(t.label()))
	}
	if first := f.tilesOf(f.words.element)[0]; first != singles[0] || len(tiles) < len(f.tilesOf(f.words.element)) {
		f.g.JMP(operand.LabelRef(singles[0].label()))
	}
}

// ofTimes selects the tiles of times·16 keys.
func ofTimes(tiles []tile, times int) []tile {
	return slices.DeleteFunc(slices.Clone(tiles), func(t tile) bool { return t.times != times })
}

// least is the least number of queries for which the variant at hand has steps ahead.
func (f *qkEmitter) least() operand.Op {
	if len(f.variants) > 1 {
		return f.g.Memory(f.g.Param("max").Cap())
	}
	return operand.Imm(uint64(f.variants[0].Ahead))
}

// tile emits a tile for the queries from lane on.
func (f *qkEmitter) tile(t tile) {
	f.g.Commentf("%d keys by %v queries.", t.times*spec.SkinnyKeys, t.Span)
	f.g.Label(t.label())
	f.rows = f.g.NewHeights(t.label(), t.Span, f.height)
	f.rows.Set(f.queries)
	f.segments(f.acc[t.times][:t.Most], t)
	f.toStore(t)
}
