package view

// IsApartFrom tells whether it is certain that t and u share no element: their ranges of memory do
// not overlap, or they interleave. Tensors interleave if there is a period, a stride of one of them,
// of which every longer stride of both is a multiple, and the elements of each take a part of the
// period of their own, as those of a joint projection of queries, keys and values do. Both tensors
// are valid.
func (t *Tensor) IsApartFrom(u *Tensor) bool {
	a, b := t.Memory(), u.Memory()
	if !a.Overlaps(b) {
		return true
	}
	for _, x := range [...]*Tensor{t, u} {
		g := x.storage()
		for i, stride := range g.Stride {
			period := stride * x.dtype.Size()
			if g.Shape[i] < 2 || period == 0 {
				continue
			}
			n, m := t.within(period), u.within(period)
			if n == 0 || m == 0 {
				continue
			}
			// u begins so far behind an element (·, 0) of t.
			if from := int((b.lo%uintptr(period) + uintptr(period) - a.lo%uintptr(period)) % uintptr(period)); from >= n && from+m <= period {
				return true
			}
		}
	}
	return false
}

// within returns how many bytes of each period the tensor may touch from its first element on, 0 if
// these are not the same in every period.
func (t *Tensor) within(period int) int {
	g := t.storage()
	size := t.dtype.Size()
	n := g.Shape[3] * size
	for i, stride := range g.Stride {
		if g.Shape[i] < 2 || stride*size%period == 0 {
			continue
		}
		n += (g.Shape[i] - 1) * stride * size
	}
	if n > period {
		return 0
	}
	return n
}
