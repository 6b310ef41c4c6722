package kernel

import (
	"fmt"
	"slices"
	"sort"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Mask tells which keys a query may see. It is a value: build it once or per call,
// nothing is allocated. The zero Mask hides nothing. And intersects masks, and Or unites them.
//
// Masks are stated in positions: query i of batch row b has position
// Options.QueryStart[b] + i, and key j has position Options.KeyStart[b] + j; both
// start at 0 by default. Lengths, ids and bitmaps count the queries and keys of the
// call.
//
// A hidden key or value never matters, even if it is NaN or Inf. Masks made of spans ([Causal],
// [Window], [Chunked], [PrefixLM], [KeyRange], [QueryRange], [KeyLengths], [QueryLengths],
// [Segments]), unions of them and [BlockSparse] cost nothing for blocks of 256 keys that are hidden
// from, or visible to, all queries of a tile; keys that no query sees are not read. [Visible] and
// [Hidden] look at every score, [VisibleLast] at the scores of its keys. A row that sees no key
// gives zeros.
type Mask mask.Mask

// And returns the mask that hides what m or n hides. It holds at most 6 masks made of
// spans, 2 of [Visible], [VisibleLast] and [Hidden], and one [BlockSparse]; more of them
// are an error of the call.
func (m Mask) And(n Mask) Mask { return Mask(mask.Mask(m).And((*mask.Mask)(&n))) }

// Or returns the mask that hides what m and n both hide: a query sees what either shows.
//
// A window with attention sinks, as StreamingLLM has it, is
//
//	Window(1023, 0).Or(KeyRange(0, 4)).And(Causal(0))
//
// where Causal hides later sinks from the first tokens. A window with global tokens, which see all
// and are seen by all, as Longformer and BigBird have it, is
//
//	Window(256, 256).Or(KeyRange(0, n)).Or(QueryRange(0, n))
//
// m and n consist of masks made of spans: a mask made of bools or a [BlockSparse] is an error of
// the call. So are more than 6 masks in the result. If m and n are intersections, each mask of m is
// united with each mask of n: unite first, then intersect. A [KeyLengths] in a union does not keep
// keys after the lengths from being read.
func (m Mask) Or(n Mask) Mask { return Mask(mask.Mask(m).Or((*mask.Mask)(&n))) }

// Visible is a mask in which true means that the key takes part, as in ONNX and in
// PyTorch's scaled_dot_product_attention. data is a contiguous tensor [B, H, Lq, Lk].
// Each of the first three dimensions may be 1, which stands for all: [1, 1, Lq, Lk] is
// one mask for all heads, [B, 1, 1, Lk] one row per sequence. If the mask is shorter
// than Lk, the keys after it are hidden. Nothing is copied.
func Visible(data []bool, shape [4]int) Mask {
	return VisibleStrided(data, shape, view.Contiguous(shape))
}

// VisibleStrided is [Visible] with any strides, in elements, along the first three
// dimensions.
func VisibleStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return Mask(mask.OfBools(mask.BoolView{Data: data, Grid: view.Grid{Shape: shape, Stride: strides}}))
}

// Hidden is [Visible] with the opposite meaning: true hides the key, as in the masks of
// PyTorch's nn.MultiheadAttention. A padding mask [B, Lk] has the shape [B, 1, 1, Lk].
func Hidden(data []bool, shape [4]int) Mask {
	return HiddenStrided(data, shape, view.Contiguous(shape))
}

// HiddenStrided is [Hidden] with any strides, in elements, along the first three
// dimensions.
func HiddenStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return Mask(mask.OfBools(mask.BoolView{Data: data, Grid: view.Grid{Shape: shape, Stride: strides}, Hidden: true}))
}

// VisibleLast is [Visible] for the last shape[3] keys of each batch row, of those that [KeyLengths]
// lets exist. All earlier keys are visible. So a tree of Lq drafted tokens, the last of the keys,
// has a matrix [1, 1, Lq, Lq] in which a token sees those on its way to the root, however many keys
// a cache holds before them. In batch rows of fewer keys than shape[3] the first bools stand for
// none. Positions count the keys here, and not the way to the root: for ALiBi, windows and the bits
// of token by token there is Options.Parents. shape[3] is at most Lk. Nothing is copied.
func VisibleLast(data []bool, shape [4]int) Mask {
	return Mask(mask.OfBools(mask.BoolView{Data: data, Grid: view.Grid{Shape: shape, Stride: view.Contiguous(shape)}, Last: true}))
}

// BlockSparse lets queries see whole blocks of keys: keep is [⌈Lq/queryBlock⌉,
// ⌈Lk/keyBlock⌉], the same for all batch rows and heads, and true where the queries of
// a block see the keys of a block. Hidden blocks cost no arithmetic where no query of a
// tile sees them. Any sizes ≥ 1 are valid; multiples of 64 queries and 256 keys are
// fastest. The slice is not copied: it must not change during the call.
func BlockSparse(keep []bool, queryBlock, keyBlock int) Mask {
	return Mask(mask.OfBlocks(mask.BlockSparse{Keep: keep, QueryBlock: queryBlock, KeyBlock: keyBlock}))
}

// KeyLengths lets the queries of batch row b see the first lengths[b] keys; keys and values
// after them are never read. There must be one length from 0 to Lk per batch row. The
// slice is not copied: it must not change during the call.
//
// All queries are computed, padding too: a NaN in such a row of q makes its row of out NaN. If they
// are padded, too, KeyLengths(n).And(QueryLengths(n)) makes their rows zeros.
func KeyLengths(lengths []int) Mask {
	return Mask(mask.OfRule(mask.OfInts(&keyLengths, lengths), nil))
}

var keyLengths = mask.Kind{
	Span:   func(r *mask.Rule, q mask.Query) mask.Span { return mask.Span{Lo: 0, Hi: r.Ints()[q.Batch]} },
	Check:  func(r mask.Rule, c view.Scores) *check.Failure { return checkLengths("key", r.Ints(), c.Batch, c.Keys) },
	Length: func(r *mask.Rule, b int) int { return r.Ints()[b] },
}

// QueryLengths lets the queries of batch row b from number lengths[b] on see nothing:
// their rows are zeros, whatever is in their rows of q. There must be one length from 0 to Lq
// per batch row. The slice is not copied: it must not change during the call.
func QueryLengths(lengths []int) Mask {
	return Mask(mask.OfRule(mask.OfInts(&queryLengths, lengths), nil))
}

var queryLengths = mask.Kind{
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		if q.Index >= r.Ints()[q.Batch] {
			return mask.Span{}
		}
		return mask.Span{Lo: 0, Hi: q.Keys}
	},
	Check: func(r mask.Rule, c view.Scores) *check.Failure {
		return checkLengths("query", r.Ints(), c.Batch, c.Queries)
	},
}

func checkLengths(what string, lengths []int, batch, most int) *check.Failure {
	if len(lengths) != batch {
		return &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("%d %s lengths", len(lengths), what), Want: fmt.Sprintf("one per batch row: %d", batch)}
	}
	for b, n := range lengths {
		if n < 0 || n > most {
			return &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("%s length %d of batch row %d", what, n, b), Want: fmt.Sprintf("0 to %d", most)}
		}
	}
	return nil
}

// Segments lets a query see the keys that have its id: documents packed into one
// sequence do not see each other. query is [B, Lq], key [B, Lk]. The ids of the keys of
// a batch row must not decrease, as documents lie one after another; for any other
// pattern use [Visible]. The slices are not copied: they must not change during the
// call.
func Segments(query, key []int32) Mask {
	return Mask(mask.OfRule(mask.OfIDs(&segments, query, key), nil))
}

var segments = mask.Kind{
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		id := r.QueryIDs()[q.Batch*q.Lq+q.Index]
		ids := r.KeyIDs()[q.Batch*q.Lk:][:q.Keys]
		lo := sort.Search(len(ids), func(j int) bool { return ids[j] >= id })
		n := sort.Search(len(ids)-lo, func(j int) bool { return ids[lo+j] > id })
		return mask.Span{Lo: lo, Hi: lo + n}
	},
	Check: checkSegments,
}

func checkSegments(r mask.Rule, c view.Scores) *check.Failure {
	for _, ids := range [...]struct {
		what   string
		ids    []int32
		length int
	}{{"query", r.QueryIDs(), c.Queries}, {"key", r.KeyIDs(), c.Keys}} {
		if want := ints.MulSat(c.Batch, ids.length); len(ids.ids) != want {
			return &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("%d %s ids", len(ids.ids), ids.what), Want: fmt.Sprintf("%d batch rows of %d: %d", c.Batch, ids.length, want)}
		}
	}
	if c.Keys == 0 {
		return nil // there may be any number of batch rows without keys
	}
	for b := range c.Batch {
		if ids := r.KeyIDs()[b*c.Keys:][:c.Keys]; !slices.IsSorted(ids) {
			return &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("key ids of batch row %d that decrease", b), Want: "ids that do not decrease within a batch row, or a Visible mask"}
		}
	}
	return nil
}

// Causal lets a query see the keys up to its own position plus offset. Without positions that is j
// ≤ offset + i. For a prompt on its own the offset is 0 and the diagonal starts top left. If a
// cache held past keys before the keys of these queries were appended, the offset is past and the
// diagonal ends bottom right; Options.QueryStart says the same for every batch row. Any offset is
// valid, also a negative one.
func Causal(offset int) Mask {
	return Mask(mask.OfRule(mask.Rule{Kind: &causal, Right: offset}, nil))
}

var causal = mask.Kind{
	InPositions: true,
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		return mask.Span{Lo: 0, Hi: position.AddClamp(q.Diagonal+1, r.Right)}
	},
	Window:   func(r *mask.Rule) (left, right int) { return -1, max(0, r.Right) },
	IsWindow: func(r *mask.Rule) bool { return r.Right >= 0 },
}

// Window lets a query at position p see the keys p-left ≤ j ≤ p+right; -1 means no
// limit. Window(255, 0) is a causal sliding window of 256 keys. (FlashAttention and
// ONNX count windows in this way.)
func Window(left, right int) Mask {
	var failure *check.Failure
	if left < -1 || right < -1 {
		failure = &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("a window of %d keys left and %d right", left, right), Want: "0 or more, or -1 for no limit"}
	}
	return Mask(mask.OfRule(mask.Rule{Kind: &window, Left: left, Right: right}, failure))
}

var window = mask.Kind{
	InPositions: true,
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		s := mask.Span{Lo: 0, Hi: q.Keys}
		if r.Left >= 0 {
			s.Lo = position.AddClamp(q.Diagonal, -r.Left)
		}
		if r.Right >= 0 {
			s.Hi = position.AddClamp(q.Diagonal+1, r.Right)
		}
		return s
	},
	Window:   func(r *mask.Rule) (left, right int) { return r.Left, r.Right },
	IsWindow: func(*mask.Rule) bool { return true },
}

// Window returns the arguments with which [Window] makes the same mask. ok is true if the mask is
// an intersection of [Window]s and of [Causal]s with offsets that are not negative. The zero Mask
// has -1 and -1. ok is false for all other masks.
func (m Mask) Window() (left, right int, ok bool) {
	left, right, ok = (*mask.Mask)(&m).Sides()
	if !ok {
		return 0, 0, false
	}
	return left, right, true
}

// Chunked lets a query at position p see the keys of its chunk up to its own position:
// p - p mod size ≤ j ≤ p, with chunks of size positions that begin at multiples of size
// (chunked attention, as in Llama 4). size is at least 1.
func Chunked(size int) Mask {
	var failure *check.Failure
	if size < 1 {
		failure = &check.Failure{Where: mask.Arg, Got: fmt.Sprintf("chunks of %d positions", size), Want: "at least 1"}
	}
	return Mask(mask.OfRule(mask.Rule{Kind: &chunked, Left: size}, failure))
}

var chunked = mask.Kind{
	InPositions: true,
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		inChunk := (q.Diagonal + q.KeyStart) % r.Left
		if inChunk < 0 {
			inChunk += r.Left
		}
		return mask.Span{Lo: position.AddClamp(q.Diagonal, -inChunk), Hi: q.Diagonal + 1}
	},
	Window: func(r *mask.Rule) (left, right int) { return r.Left - 1, 0 },
}

// KeyRange lets all queries see the keys at positions from to to-1. In a union it adds global
// tokens, or attention sinks: see [Mask.Or].
func KeyRange(from, to int) Mask {
	return Mask(mask.OfRule(mask.Rule{Kind: &keyRange, Left: from, Right: to}, nil))
}

var keyRange = mask.Kind{
	InPositions: true,
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		return mask.Span{Lo: position.AddClamp(-q.KeyStart, r.Left), Hi: position.AddClamp(-q.KeyStart, r.Right)}
	},
}

// QueryRange lets the queries at positions from to to-1 see all keys, and others none. In a union
// it makes them global tokens that see everything: see [Mask.Or].
func QueryRange(from, to int) Mask {
	return Mask(mask.OfRule(mask.Rule{Kind: &queryRange, Left: from, Right: to}, nil))
}

var queryRange = mask.Kind{
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		if p := q.Diagonal + q.KeyStart; p < r.Left || p >= r.Right {
			return mask.Span{}
		}
		return mask.Span{Lo: 0, Hi: q.Keys}
	},
}

// PrefixLM lets a query see the keys up to its own position and all keys at positions
// below prefix[b]. There is one prefix ≥ 0 for all batch rows or one for each. The
// slice is not copied: it must not change during the call.
func PrefixLM(prefix []int) Mask {
	return Mask(mask.OfRule(mask.OfInts(&prefixLM, prefix), nil))
}

var prefixLM = mask.Kind{
	InPositions: true,
	Span: func(r *mask.Rule, q mask.Query) mask.Span {
		return mask.Span{Lo: 0, Hi: max(q.Diagonal+1, position.Of(r.Ints(), q.Batch)-q.KeyStart)}
	},
	Check: func(r mask.Rule, c view.Scores) *check.Failure {
		if len(r.Ints()) == 0 && c.Batch > 0 {
			return &check.Failure{Where: mask.Arg, Got: "no prefix", Want: fmt.Sprintf("one for all batch rows or one for each: %d", c.Batch)}
		}
		return position.Check(mask.Arg, "prefix", r.Ints(), c.Batch, 0, position.Max)
	},
}
