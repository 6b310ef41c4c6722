package kernel

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

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
