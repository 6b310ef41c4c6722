package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
)

// A tile of SkinnyQK is the code for a number of queries and times·16 keys.
type tile struct {
	size, times int
	ahead       bool // whether its steps are those of stepsAhead
}

func (t tile) label() string {
	kind := "group"
	switch {
	case t.times > 1:
		kind = "double"
	case t.ahead:
		kind = "ahead"
	}
	return fmt.Sprint(kind, t.size)
}

// number tells tiles of 16 keys apart.
func (t tile) number() int {
	if t.ahead {
		return -t.size
	}
	return t.size
}

// rest is the number of queries that the code for the remaining columns has.
func (t tile) rest() int { return (t.size + 3) / 4 * 4 }

// looksAhead reports whether a variant's tiles for a number of queries have the steps of stepsAhead.
func looksAhead(v spec.QKVariant, queries int) bool { return v.Ahead > 0 && queries >= v.Ahead }

// looksAhead reports whether a variant has such tiles.
func (f *qkEmitter) looksAhead() bool {
	return slices.ContainsFunc(f.variants, func(v spec.QKVariant) bool { return v.Ahead > 0 })
}

// maxRows is the largest number of queries of a call: ukernel.MaxLanes.
const maxRows = 64

// leastOf is the least number of queries that are left for which a variant's tile has these steps, more than
// a call has if none has.
func leastOf(v spec.QKVariant) int {
	if v.Ahead == 0 {
		return maxRows + 1
	}
	return v.Ahead
}

// variantsOf lists those that use a tile.
func (f *qkEmitter) variantsOf(t tile) []spec.QKVariant {
	return slices.DeleteFunc(slices.Clone(f.variants), func(v spec.QKVariant) bool { return looksAhead(v, t.size) != t.ahead })
}

func isSecondLevel(v spec.QKVariant) bool { return v.Near == 2 }

// level is the one of the cache into which a tile's near prefetches go, 0 if its variants differ.
func (f *qkEmitter) level(t tile) int {
	users := f.variantsOf(t)
	if slices.ContainsFunc(users, func(v spec.QKVariant) bool { return v.Near != users[0].Near }) {
		return 0
	}
	return users[0].Near
}

// allTiles lists the tiles that a variant uses, those of 16 keys first, by their number of queries.
// Tiles without steps ahead come before those with them.
func (f *qkEmitter) allTiles() (tiles []tile) {
	for _, ahead := range []bool{false, true} {
		for times := 1; times <= f.most(); times++ {
			for size := range f.acc[times] {
				t := tile{size + 1, times, ahead}
				if len(f.variantsOf(t)) > 0 {
					tiles = append(tiles, t)
				}
			}
		}
	}
	return tiles
}

// choose emits the jumps to the tile for the queries that are left. If that is the first one, it
// follows.
func (f *qkEmitter) choose(tiles []tile) {
	ahead := slices.IndexFunc(tiles, func(t tile) bool { return t.ahead })
	switch ahead {
	case -1:
		f.chooseOf(tiles, true)
	case 0:
		f.startAhead()
		f.chooseOf(tiles, true)
	default:
		n := f.g.Num("n")
		f.g.SUBQ(f.lane, n)
		f.g.CMPQ(n, f.least())
		f.g.JL(operand.LabelRef("few"))
		f.startAhead()
		f.chooseOf(tiles[ahead:], false)
		f.g.Label("few")
		f.chooseOf(tiles[:ahead], true)
	}
}

// chooseOf emits the jumps to one of tiles that have steps of one kind. If follows is set, the first
// one follows.
func (f *qkEmitter) chooseOf(tiles []tile, follows bool) {
	if doubles := ofTimes(tiles, 2); len(doubles) > 0 {
		fewer := "fewer" + doubles[0].label()
		f.g.Comment("Twice 16 keys, if all queries are one small group.")
		f.g.CMPQ(f.left, operand.Imm(2*spec.SkinnyKeys))
		f.g.JL(operand.LabelRef(fewer))
		n := f.g.Num("n")
		for _, t := range doubles {
			f.g.CMPQ(n, operand.Imm(uint64(t.size)))
			f.g.JE(operand.LabelRef(t.label()))
		}
		f.g.Label(fewer)
	}
	f.g.Comment("The largest group of queries that there is code for.")
	singles, n := ofTimes(tiles, 1), f.g.Num("n")
	f.g.SUBQ(f.lane, n)
	for _, t := range slices.Backward(singles[1:]) {
		f.g.CMPQ(n, operand.Imm(uint64(t.size)))
		f.g.JGE(operand.LabelRef(t.label()))
	}
	if !follows {
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
	f.g.Commentf("%d keys by %d queries.", t.times*spec.SkinnyKeys, t.size)
	f.g.Label(t.label())
	f.segments(f.acc[t.times][:t.size], t)
	f.toStore(t)
}
