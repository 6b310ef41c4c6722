package kernel

import "unsafe"

// Row returns row (b, h, l) of t, which may lie in a page or among those of other batch rows:
// D elements of the slice that t is a view of, or D/2 of Int4x2. It is nil if t has no such row, or elements
// of another type than E.
func Row[E Element](t Tensor, b, h, l int) []E {
	v, like := t.view(), viewOf[E](nil, [4]int{}, [3]int{})
	at, ok := v.Find(b, h, l)
	if !ok || v.DType() != like.DType() {
		return nil
	}
	return unsafe.Slice((*E)(v.Address(at)), v.Dim(3)/v.DType().PerByte())
}

// Length returns the number of rows of batch row b, at most that of Shape: fewer if t is
// paged or ragged and another batch row is longer. It is 0 if there is no batch row b.
func (t Tensor) Length(b int) int { return t.view().CountRows(b) }

// Scales returns the scales of int8 or int4 elements as a tensor [B, H, L, G] with the rows of t, also
// if these lie in pages or follow one another. It is the zero Tensor if t has no scales.
func (t Tensor) Scales() Tensor { return Tensor(t.view().ScaleRows()) }

// IsZero tells whether t is the zero Tensor, which stands for an option that is not used.
func (t Tensor) IsZero() bool { return !t.view().IsSet() }

// IsPaged tells whether the rows of t lie in pages, see [Tensor.Paged].
func (t Tensor) IsPaged() bool { return t.view().IsPaged() }

// Overlaps tells whether t and u share memory: whether one begins, with its first element or
// scale, before the other ends.
func (t Tensor) Overlaps(u Tensor) bool {
	v, w := t.view(), u.view()
	if s := v.Scales(); s != nil && s.Memory().OverlapsTensor(w) {
		return true
	}
	return v.Memory().OverlapsTensor(w)
}

// Check returns an [*Error] about the argument called arg if no call can work with t,
// as it is not valid by itself: its slice is too short, its page table does not fit, it lacks
// scales, and so on. For functions that check all of their arguments before they begin.
func (t Tensor) Check(arg string) error {
	if f := t.view().Check(arg); f != nil {
		return (*Error)(f)
	}
	return nil
}

// CheckOutput is Check for a tensor that a function writes. It must be float32, float16 or
// bfloat16, must not be paged, and no two of its elements may share an address.
func (t Tensor) CheckOutput(arg string) error {
	v := t.view()
	f := v.Check(arg)
	if f == nil {
		f = v.CheckWritable(arg)
	}
	if f == nil {
		return nil
	}
	return (*Error)(f)
}
