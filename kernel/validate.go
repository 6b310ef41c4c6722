package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// validate reports the first argument that does not fit. Nothing has been read
// from or written to the tensors' data by then.
func validate(out, q, k, v *Tensor, opts *Options) error {
	// Names and tensors in one struct would make the tensors escape.
	names := [...]string{"q", "k", "v", "out"}
	var extents [4]int
	for i, t := range [...]*Tensor{q, k, v, out} {
		if err := t.check(names[i]); err != nil {
			return err
		}
		if extents[i] = t.extent(); extents[i] > len(t.f32) {
			return &ArgumentError{names[i], t.describe(), wantElements(extents[i])}
		}
	}
	if err := checkShapes(out, q, k, v); err != nil {
		return err
	}
	if err := out.checkDistinct("out"); err != nil {
		return err
	}
	return opts.validate(out, q, k, v)
}

// check reports dimensions and strides that are not valid by themselves.
func (t *Tensor) check(name string) error {
	for _, n := range t.shape[:3] {
		if n < 0 {
			return &ArgumentError{name, t.describe(), "no negative dimension"}
		}
	}
	if t.shape[3] < 1 {
		return &ArgumentError{name, t.describe(), "a head size of at least 1"}
	}
	for i, s := range t.stride {
		if s < 0 && t.shape[i] > 1 {
			return &ArgumentError{name, t.describe(), "no negative stride"}
		}
	}
	return nil
}

// wantElements asks for a slice of n elements.
func wantElements(n int) string {
	if n == math.MaxInt {
		return "sizes and strides whose product fits an int"
	}
	return fmt.Sprintf("a slice of at least %d elements", n)
}

// describe names the tensor's shape, strides and slice length.
func (t *Tensor) describe() string {
	return fmt.Sprintf("[B H L D] = %v with strides %v in %d elements", t.shape, t.stride, len(t.f32))
}

func checkShapes(out, q, k, v *Tensor) error {
	if n := q.shape[2]; n > maxPosition {
		return &ArgumentError{"q", q.describe(), fmt.Sprintf("at most %d queries", maxPosition)}
	}
	if n := k.shape[2]; n > maxPosition {
		return &ArgumentError{"k", k.describe(), fmt.Sprintf("at most %d keys", maxPosition)}
	}
	b, h, l, d := q.shape[0], q.shape[1], q.shape[2], q.shape[3]
	kv, keys, dv := k.shape[1], k.shape[2], v.shape[3]
	if k.shape[0] != b || k.shape[3] != d {
		return &ArgumentError{"k", k.describe(), fmt.Sprintf("batch %d and head size %d as q has it", b, d)}
	}
	if kv == 0 && h != 0 || kv != 0 && h%kv != 0 {
		return &ArgumentError{"k", k.describe(), fmt.Sprintf("a number of heads that divides q's %d", h)}
	}
	if want := [4]int{b, kv, keys, dv}; v.shape != want {
		return &ArgumentError{"v", v.describe(), fmt.Sprintf("batch %d, %d heads and length %d as k has it", b, kv, keys)}
	}
	if want := [4]int{b, h, l, dv}; out.shape != want {
		return &ArgumentError{"out", out.describe(), fmt.Sprintf("shape %v, q's with v's head size", want)}
	}
	return nil
}

// checkDistinct reports an output two of whose elements may share an address.
// The strides must nest: sorted, each reaches beyond all that lies inside it.
func (t *Tensor) checkDistinct(name string) error {
	if slices.Contains(t.shape[:], 0) {
		return nil
	}
	order := [3]int{2, 1, 0}
	slices.SortStableFunc(order[:], func(x, y int) int { return cmp.Compare(t.stride[x], t.stride[y]) })
	inner := t.shape[3]
	for _, i := range order {
		if t.shape[i] == 1 {
			continue
		}
		if t.stride[i] < inner {
			return &ArgumentError{name, t.describe(), "strides that nest, so that no two elements overlap"}
		}
		inner += (t.shape[i] - 1) * t.stride[i]
	}
	return nil
}

// overlap tells whether two slices share memory.
func overlap(x, y []float32) bool {
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&y[0]))
	const size = unsafe.Sizeof(x[0])
	return p < q+uintptr(len(y))*size && q < p+uintptr(len(x))*size
}
