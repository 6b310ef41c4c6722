package kernel

// What packages need that build upon this one and look at tensors themselves.

// Row returns the elements of row (b, h, l) of a valid float32 tensor, nil of one of
// another type.
func (t *Tensor) Row(b, h, l int) []float32 {
	if t.dtype != Float32 {
		return nil
	}
	at := t.index(b, h, l)
	return t.f32[at : at+t.shape[3]]
}

// Check reports, as an [*ArgumentError] about arg, a tensor that is not valid by
// itself: one with a slice that is too short for its shape and strides, and so on; or that
// is ragged or paged, as its batch rows have not the lengths that its shape tells.
func (t *Tensor) Check(arg string) error {
	if t.isRagged() || t.isPaged() {
		return &ArgumentError{arg, t.describe(), "a tensor that is neither ragged nor paged"}
	}
	return t.checkAny(arg)
}

// CheckOutput reports, as an [*ArgumentError] about arg, a tensor that is not valid
// by itself, that cannot be written to, as elements of it share memory, or that
// shares memory with one of the inputs.
func (t *Tensor) CheckOutput(arg string, inputs ...*Tensor) error {
	if err := t.check(arg); err != nil {
		return err
	}
	if err := t.checkDistinct(arg); err != nil {
		return err
	}
	written := t.memory()
	for _, in := range inputs {
		if written.overlaps(in.memory()) || in.scales != nil && written.overlaps(in.scales.memory()) {
			return &ArgumentError{arg, "memory that overlaps an input", "a range of memory of its own"}
		}
	}
	return nil
}

// Heads returns the view of [B, 1, L, n·D] as [B, n, L, D]: n heads, which lie side by side
// in every token. If n does not divide the rows, or there are heads already, the view is
// one that no call accepts.
func (t Tensor) Heads(n int) Tensor {
	if n < 1 || t.shape[1] != 1 || t.shape[3]%n != 0 {
		t.shape[1] = -1
		return t
	}
	t.shape[1], t.shape[3] = n, t.shape[3]/n
	t.stride[1] = t.shape[3]
	return t
}
