package layer

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Number is the type of the elements of masks and of tokens. In a mask, 0 and false
// leave a key visible. 1, any other number and true hide it.
type Number interface {
	~bool | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~int | ~uint | ~float32 | ~float64
}

// PaddingMask hides the keys that are padding. padded is [B, Lk]: 1 where a key is padding,
// 0 where it is not. With a batch of 1 it is [1, Lk], for all batch rows. There must be
// exactly one element for each key, or the call that uses the mask returns an error.
//
// The padding may lie anywhere. Where it always lies at the end, [kernel.KeyLengths] is
// faster, as it does not read the padding.
func PaddingMask[E Number](padded []E, batch int) kernel.Mask {
	keys := len(padded)
	if batch > 0 {
		keys = (keys + batch - 1) / batch // rounded up: the call reports a remainder
	}
	return HiddenMask(padded, [4]int{batch, 1, 1, keys})
}

// PaddingTokenMask is [PaddingMask] for tokens [B, Lk]. It hides those that equal padding, which
// is often 0.
func PaddingTokenMask[E Number](tokens []E, batch int, padding E) kernel.Mask {
	padded := make([]bool, len(tokens))
	for i, t := range tokens {
		padded[i] = t == padding
	}
	return PaddingMask(padded, batch)
}

// HiddenMask hides keys from queries. hidden is a contiguous tensor [B, H, Lq, Lk]: 1 where
// the key is hidden from the query, 0 where it is not. Each of the first three dimensions
// may be 1, which stands for all: [1, 1, Lq, Lk] is one mask for all batch rows and heads,
// and [B, 1, Lq, Lk] is one for each batch row. It must have exactly as many elements as
// the shape, and Lk must be the number of keys, or the call that uses the mask returns an
// error.
//
// HiddenMask copies the mask. [kernel.Hidden] and [kernel.Visible] use bools without a copy.
func HiddenMask[E Number](hidden []E, shape [4]int) kernel.Mask {
	var visible E
	bools := make([]bool, len(hidden))
	for i, x := range hidden {
		bools[i] = x != visible
	}
	return kernel.Mask(mask.OfBools(mask.BoolView{
		Data:   bools,
		Grid:   view.Grid{Shape: shape, Stride: view.Contiguous(shape)},
		Hidden: true,
		Exact:  true,
	}))
}
