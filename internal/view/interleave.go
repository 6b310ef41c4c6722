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
			period := x.dtype.Bytes(stride)
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
	bytes := t.dtype.Bytes
	n := bytes(g.Shape[3])
	for i, stride := range g.Stride {
		if g.Shape[i] < 2 || bytes(stride)%period == 0 {
			continue
		}
		n += (g.Shape[i] - 1) * bytes(stride)
	}
	if n > period {
		return 0
	}
	return n
}
