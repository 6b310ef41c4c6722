package view

import "math"

// mostPlain bounds the dimensions, and mostStride the strides, of tensors that PlainMemory
// accepts: the sum of three of their products and a dimension does not overflow.
const (
	mostPlain  = 1 << 20
	mostStride = math.MaxInt / (4 * mostPlain)
)

// PlainMemory returns the memory of a float32 tensor that is neither paged nor ragged, has
// elements and passes Check. It does not accept all of them: if ok is false, Check decides.
func (t *Tensor) PlainMemory() (m Memory, ok bool) {
	if t.dtype != Float32 || t.scales != nil || t.IsPaged() || t.IsRagged() {
		return m, false
	}
	g := &t.grid
	n := g.Shape[3]
	if uint(n-1) >= mostPlain {
		return m, false
	}
	for i, s := range g.Stride {
		last := g.Shape[i] - 1
		if uint(last) >= mostPlain || uint(s) >= mostStride {
			return m, false
		}
		n += last * s
	}
	if n > len(t.f32) {
		return m, false
	}
	return MemoryOf(t.f32[:n]), true
}

// IsOrdered tells whether the elements of a tensor that PlainMemory accepts are distinct, and
// lie in the order [B, H, L, D] or [B, L, H, D]. If not, CheckDistinct decides.
func (t *Tensor) IsOrdered() bool {
	s := &t.grid.Shape
	batch, outer, inner := t.grid.Stride[0], t.grid.Stride[1], t.grid.Stride[2]
	outers, inners := s[1], s[2]
	if outer < inner {
		outer, inner, outers, inners = inner, outer, inners, outers
	}
	row := s[3]
	if inners > 1 {
		if inner < row {
			return false
		}
		row += (inners - 1) * inner
	}
	if outers > 1 {
		if outer < row {
			return false
		}
		row += (outers - 1) * outer
	}
	return s[0] == 1 || batch >= row
}
