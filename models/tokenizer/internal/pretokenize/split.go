// Package pretokenize has the pre-tokenizers of Hugging Face's tokenizers: how a text is split into
// the pieces that a vocabulary is applied to.
package pretokenize

// Yield takes a piece, which may be empty, and returns whether to go on. start says that the piece
// begins where the whole text begins.
type Yield func(piece string, start bool) bool

// Step splits a text, which is a piece of the step before, and returns whether to go on.
type Step func(text string, start bool, yield Yield) bool

// Sequence applies steps one after another, each to all pieces of the one before.
func Sequence(steps []Step) Step {
	switch len(steps) {
	case 0:
		return func(text string, start bool, yield Yield) bool { return yield(text, start) }
	case 1:
		return steps[0]
	}
	rest := Sequence(steps[1:])
	return func(text string, start bool, yield Yield) bool {
		return steps[0](text, start, func(piece string, start bool) bool { return rest(piece, start, yield) })
	}
}

// finder calls yield with the parts of a text: those that match, and those between them.
type finder func(text string, yield func(part string, match bool) bool) bool

// Behavior says what becomes of matches.
type Behavior string

// All behaviors.
const (
	Removed            Behavior = "Removed"
	Isolated           Behavior = "Isolated"
	MergedWithPrevious Behavior = "MergedWithPrevious"
	MergedWithNext     Behavior = "MergedWithNext"
	Contiguous         Behavior = "Contiguous"
)

// Behaviors are all of them.
var Behaviors = []Behavior{Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous}

// splitBy returns the step that splits at what find finds.
func splitBy(find finder, b Behavior, invert bool) Step {
	return func(text string, start bool, yield Yield) bool {
		begin, end, last := 0, 0, false // what is not yet yielded, and whether it ends in a match
		on := find(text, func(part string, match bool) bool {
			match = match != invert
			if begin < end && !joins(b, last, match) {
				if (b != Removed || !last) && !yield(text[begin:end], start && begin == 0) {
					return false
				}
				begin = end
			}
			end += len(part)
			last = match
			return true
		})
		if on && begin < end && (b != Removed || !last) {
			return yield(text[begin:end], start && begin == 0)
		}
		return on
	}
}

// joins returns whether a part is of one piece with the part before.
func joins(b Behavior, last, match bool) bool {
	switch b {
	case MergedWithPrevious:
		return match && !last
	case MergedWithNext:
		return last && !match
	case Contiguous:
		return last == match
	}
	return false
}
