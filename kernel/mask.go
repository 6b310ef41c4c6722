package kernel

import (
	"fmt"
	"slices"
	"sort"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// Mask tells which keys a query may see. It is a value: build it once or per call,
// nothing is allocated. The zero Mask hides nothing. And intersects masks.
//
// Masks are stated in positions: query i of batch row b has position
// Options.QueryStart[b] + i, and key j has position Options.KeyStart[b] + j; both
// start at 0 by default. Lengths, ids and bitmaps count the queries and keys of the
// call.
//
// A hidden key or value never matters, even if it is NaN or Inf. Masks made of spans
// ([Causal], [Window], [PrefixLM], [KeyLengths], [QueryLengths], [Segments]) and
// [BlockSparse] cost nothing for blocks of 256 keys that are hidden from, or visible
// to, all queries of a tile; keys that no query sees are not read. [Visible] and
// [Hidden] look at every score. A row that sees no key gives zeros.
type Mask mask.Mask

// And returns the mask that hides what m or n hides. It holds at most 6 masks made of
// spans, 2 of [Visible] and [Hidden], and one [BlockSparse]; more of them are an error
// of the call.
func (m Mask) And(n Mask) Mask { return Mask(mask.Mask(m).And((*mask.Mask)(&n))) }

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
// All queries are computed, also those of padding: a NaN in such a row of q makes its row of out
// NaN. If they are padded, too, KeyLengths(n).And(QueryLengths(n)) makes their rows zeros.
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
