package kernel

import "fmt"

// A boolView is a strided view [B, H, Lq, Lk] of bools; a stride of 0
// broadcasts.
type boolView struct {
	data   []bool
	shape  [4]int
	stride [3]int
	hidden bool // true hides
}

// Visible is a mask in which true takes part, as in ONNX and in PyTorch's
// scaled_dot_product_attention. data is a contiguous tensor [B, H, Lq, Lk] in which each
// of the first three dimensions may be 1, which stands for all: [1, 1, Lq, Lk] is
// one mask for all heads and [B, 1, 1, Lk] one row per sequence. Nothing is
// copied. Keys from the mask's last on are hidden, if it is shorter than Lk.
func Visible(data []bool, shape [4]int) Mask {
	return VisibleStrided(data, shape, contiguousStrides(shape))
}

// VisibleStrided is [Visible] with any strides, in elements, along the first
// three dimensions.
func VisibleStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return boolMask(boolView{data: data, shape: shape, stride: strides})
}

// Hidden is [Visible] with the opposite meaning: true is masked out, as in the
// masks of PyTorch's nn.MultiheadAttention. A padding mask [B, Lk] has the shape
// [B, 1, 1, Lk].
func Hidden(data []bool, shape [4]int) Mask {
	return HiddenStrided(data, shape, contiguousStrides(shape))
}

// HiddenStrided is [Hidden] with any strides, in elements, along the first
// three dimensions.
func HiddenStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return boolMask(boolView{data: data, shape: shape, stride: strides, hidden: true})
}

func boolMask(v boolView) Mask {
	m := Mask{nBools: 1}
	m.bools[0] = v
	return m
}

func contiguousStrides(shape [4]int) [3]int {
	row := shape[3]
	return [3]int{mulSat(shape[1], mulSat(shape[2], row)), mulSat(shape[2], row), row}
}

// at returns the index of what query i of head h sees of key 0.
func (v *boolView) at(b, h, i int) int {
	return b*v.stride[0] + h*v.stride[1] + i*v.stride[2]
}

// check reports a view that does not fit the call.
func (v *boolView) check(c *callShape) error {
	g := grid{v.shape, v.stride}
	err := g.checkBroadcast("Options.Mask", len(v.data), c)
	v.stride = g.stride
	return err
}

// checkBroadcast reports a view of [B, H, Lq, Lk] that does not fit the call or
// a slice of so many elements. Where it has one for all, its stride
// becomes 0.
func (g *grid) checkBroadcast(arg string, size int, c *callShape) error {
	wrong := func(want string) error {
		return &ArgumentError{arg, fmt.Sprintf("[B H Lq Lk] = %v with strides %v in %d elements", g.shape, g.stride, size), want}
	}
	for i, n := range [...]int{c.batch, c.heads, c.queries} {
		switch {
		case g.shape[i] != n && g.shape[i] != 1:
			return wrong(fmt.Sprintf("%d batch rows, %d heads and %d queries, or 1 of each", c.batch, c.heads, c.queries))
		case g.shape[i] == 1:
			g.stride[i] = 0
		case g.stride[i] < 0:
			return wrong("no negative stride")
		}
	}
	if n := g.shape[3]; n < 0 || n > c.keys {
		return wrong(fmt.Sprintf("0 to %d keys", c.keys))
	}
	if n := g.extent(); g.shape[3] > 0 && n > size {
		return wrong(wantElements(n))
	}
	return nil
}
