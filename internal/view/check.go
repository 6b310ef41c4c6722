package view

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
)

// WantFloat names the tensors that IsFloat accepts.
const WantFloat = "float32, float16 or bfloat16, not paged, and ragged only as q is"

// IsFloat tells whether the tensor can be a query or an output: of a type for them, and not paged.
func (t *Tensor) IsFloat() bool { return t.dtype.IsFloat() && t.scales == nil && !t.IsPaged() }

// IsPlain tells whether the tensor is IsFloat and not ragged.
func (t *Tensor) IsPlain() bool { return t.IsFloat() && !t.IsRagged() }

// Describe returns the type of the tensor if that is not float32, its shape and strides,
// the length of its slice, and how the rows lie.
func (t *Tensor) Describe() string {
	text := fmt.Sprintf("%s in %d elements%s", t.dims(), t.Len(), t.rowsText())
	if t.dtype != Float32 {
		text = t.dtype.String() + " " + text
	}
	return text
}

// failure reports the tensor as argument arg.
func (t *Tensor) failure(arg, want string) *check.Failure {
	return &check.Failure{Where: arg, Got: t.Describe(), Want: want}
}

// Check reports a tensor that is not valid by itself: one whose slice is too short,
// with a page table that does not fit, and so on.
func (t *Tensor) Check(arg string) *check.Failure {
	g := &t.grid
	if t.IsPaged() || t.IsRagged() {
		all := t.storage()
		g = &all
	}
	if want := g.wanted(t.Len()); want != "" {
		return t.failure(arg, want)
	}
	if n := t.dtype.PerByte(); !g.isMultiple(n) {
		return t.failure(arg, fmt.Sprintf("a head size and strides that are multiples of %d, as so many elements share a byte", n))
	}
	if t.IsPaged() {
		if f := t.checkPages(arg); f != nil {
			return f
		}
	}
	if t.IsRagged() {
		if f := t.checkRagged(arg); f != nil {
			return f
		}
	}
	switch {
	case t.dtype.IsScaled() && t.scales == nil:
		return t.failure(arg, "scales with it, by Tensor.Scaled")
	case t.dtype.IsScaled():
		return t.checkScales(arg)
	case t.scales != nil:
		return t.failure(arg, "int8 or int4, as it has scales")
	}
	return nil
}

// CheckPlain reports a tensor that is not valid by itself or not IsPlain.
func (t *Tensor) CheckPlain(arg string) *check.Failure {
	return t.checkIs(arg, t.IsPlain(), "float32, float16 or bfloat16, neither paged nor ragged")
}

// checkIs reports a tensor that is not valid by itself, or is not what is wanted. That comes first
// of a tensor of int8 or int4, which is never wanted: with the scales that it may lack it would not
// be either.
func (t *Tensor) checkIs(arg string, is bool, want string) *check.Failure {
	if f := t.Check(arg); f != nil && !t.dtype.IsScaled() {
		return f
	}
	if !is {
		return t.failure(arg, want)
	}
	return nil
}

// CheckFloats reports a tensor that is not valid by itself, that is paged or not of float32.
func (t *Tensor) CheckFloats(arg string) *check.Failure {
	return t.checkIs(arg, t.dtype == Float32 && !t.IsPaged(), "float32, not paged")
}

// CheckPlainFloats is CheckFloats for a tensor that is not ragged either.
func (t *Tensor) CheckPlainFloats(arg string) *check.Failure {
	return t.checkIs(arg, t.dtype == Float32 && t.IsPlain(), "float32, neither paged nor ragged")
}

// CheckLike reports a tensor that CheckFloats reports, or whose rows differ from another tensor's,
// which has this name and is valid, with d columns.
func (t *Tensor) CheckLike(arg string, like *Tensor, name string, d int) *check.Failure {
	if f := t.CheckFloats(arg); f != nil {
		return f
	}
	shape := like.Shape()
	if shape[3] = d; t.Shape() != shape {
		how := "that of"
		if d != like.Dim(3) {
			how = "with the rows of"
		}
		return t.failure(arg, fmt.Sprintf("shape %v, %s %s", shape, how, name))
	}
	if t.IsRagged() != like.IsRagged() {
		return t.failure(arg, "a tensor that is ragged if "+name+" is, and only then")
	}
	return t.CheckLengths(arg, like, name)
}

// CheckGradient reports a gradient that is set and that is not like the tensor that it belongs to,
// or two of whose elements may share an address.
func (t *Tensor) CheckGradient(arg string, of *Tensor, name string) *check.Failure {
	if !t.IsSet() {
		return nil
	}
	return cmp.Or(t.CheckLike(arg, of, name, of.Dim(3)), t.CheckDistinct(arg))
}

// checkScales reports scales that do not fit the elements.
func (t *Tensor) checkScales(arg string) *check.Failure {
	s, d := t.scales, t.grid.Shape[3]
	wrong := func(want string) *check.Failure { return s.failure("the scales of "+arg, want) }
	if s.dtype != Float32 {
		return wrong("float32")
	}
	if s.IsPaged() {
		return wrong("a tensor that is not paged, but of all pages")
	}
	if s.IsRagged() {
		return wrong("a tensor that is not ragged, but of all rows")
	}
	if want := s.grid.wanted(s.Len()); want != "" {
		return wrong(want)
	}
	if e := t.storage().Shape; s.grid.Shape[0] != e[0] || s.grid.Shape[1] != e[1] || s.grid.Shape[2] < e[2] {
		return wrong(fmt.Sprintf("batch %d, %d heads and at least length %d as the elements have it", e[0], e[1], e[2]))
	}
	if d%s.grid.Shape[3] != 0 {
		return wrong(fmt.Sprintf("a number of groups that divides the head size %d", d))
	}
	if n := t.dtype.PerByte(); t.Group()%n != 0 {
		return wrong(fmt.Sprintf("groups of a multiple of %d elements, as so many share a byte", n))
	}
	return nil
}

// CheckDistinct reports a tensor two of whose elements may share an address.
func (t *Tensor) CheckDistinct(arg string) *check.Failure {
	if g := t.storage(); !g.nests() {
		return t.failure(arg, "strides that nest, so that no two elements overlap")
	}
	return nil
}

// CheckWritable reports a tensor, valid by itself, that cannot be an output.
func (t *Tensor) CheckWritable(arg string) *check.Failure {
	if !t.IsFloat() {
		return t.failure(arg, WantFloat)
	}
	return t.CheckDistinct(arg)
}

// CheckOutput reports a tensor that is not valid by itself, is not plain, or cannot be
// an output.
func (t *Tensor) CheckOutput(arg string) *check.Failure {
	return cmp.Or(t.CheckPlain(arg), t.CheckDistinct(arg))
}

// Layout returns the shape and strides, and how the rows lie.
func (t *Tensor) Layout() string { return t.dims() + t.rowsText() }

func (t *Tensor) dims() string {
	return fmt.Sprintf("[B H L D] = %v with strides %v", t.grid.Shape, t.grid.Stride)
}

// rowsText says how the rows of a paged or ragged tensor lie, "" for another one.
func (t *Tensor) rowsText() string {
	switch {
	case t.IsPaged():
		return fmt.Sprintf(", %d pages of %d", t.rows.count, t.rows.size)
	case t.IsRagged():
		return fmt.Sprintf(", ragged in %d rows", t.rows.size)
	}
	return ""
}
