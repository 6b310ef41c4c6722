package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Causal lets a query see the keys up to its own position plus offset. Without
// positions that is j ≤ offset + i. For a prompt on its own the offset is 0 and the
// diagonal starts top left. If a cache held past keys before those of the queries were
// appended, the offset is past and the diagonal ends bottom right;
// Options.QueryStart says the same for every batch row. Any offset is valid, also a
// negative one.
func Causal(offset int) Mask {
	return Mask(mask.OfRule(mask.Rule{Kind: &causal, Right: offset}, nil))
}

var causal = mask.Kind{
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

// Window returns the arguments with which [Window] makes the same mask: those of intersections of [Window], and of
// [Causal] with an offset that is not negative. The zero Mask has -1 and -1. ok is false for all other masks.
func (m Mask) Window() (left, right int, ok bool) {
	left, right, ok = (*mask.Mask)(&m).Sides()
	if !ok {
		return 0, 0, false
	}
	return left, right, true
}

// PrefixLM lets a query see the keys up to its own position and all keys at positions
// below prefix[b]. There is one prefix ≥ 0 for all batch rows or one for each. The
// slice is not copied: it must not change during the call.
func PrefixLM(prefix []int) Mask {
	return Mask(mask.OfRule(mask.OfInts(&prefixLM, prefix), nil))
}

var prefixLM = mask.Kind{
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
