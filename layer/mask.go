package layer

import "github.com/attn-go/attn/kernel"

// Tutorials write masks as tensors of numbers in which 1 hides: a mask of the
// padding, one against looking ahead, and the larger of both. These are theirs, as
// masks for kernel.Options; the larger of two is their intersection by And. They go
// with 3D and 4D tensors alike.

// A Number is what masks and tokens are made of.
type Number interface {
	~bool | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~int | ~uint | ~float32 | ~float64
}

// LookAhead hides the keys after a query's own position: a decoder's look-ahead
// mask. It takes no memory.
func LookAhead() kernel.Mask { return kernel.Causal(0) }

// Padding hides the keys that are padding: padded is [B, Lk] and not 0 (or true)
// where a key is. The padding may lie anywhere; where it is always at the end,
// [kernel.KeyLengths] does the same and never reads it.
func Padding[E Number](padded []E, batch int) kernel.Mask {
	return Hide(padded, [4]int{batch, 1, 1, perRow(len(padded), batch)})
}

// PaddingTokens is [Padding] of the tokens [B, Lk] of which one, often 0, is padding.
func PaddingTokens[E Number](tokens []E, batch int, padding E) kernel.Mask {
	padded := make([]bool, len(tokens))
	for i, t := range tokens {
		padded[i] = t == padding
	}
	return Padding(padded, batch)
}

// Hide hides keys from queries where mask, a contiguous tensor [B, H, Lq, Lk], is not
// 0 (or true). Each of the first three dimensions may be 1, which stands for all: a
// mask [Lq, Lk] has the shape [1, 1, Lq, Lk], a mask [B, Lq, Lk] of a 3D call the
// shape [B, 1, Lq, Lk]. It copies the mask; [kernel.Hidden] and [kernel.Visible] take
// bools as they are.
func Hide[E Number](mask []E, shape [4]int) kernel.Mask {
	var visible E
	hidden := make([]bool, len(mask))
	for i, m := range mask {
		hidden[i] = m != visible
	}
	return kernel.Hidden(hidden, shape)
}

// perRow returns how many of n elements each of the rows has, rounded up, so that
// what does not divide is an error of the call.
func perRow(n, rows int) int {
	if rows < 1 {
		return n
	}
	return (n + rows - 1) / rows
}
