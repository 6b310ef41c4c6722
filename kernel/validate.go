package kernel

import (
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
	for i, t := range [...]*Tensor{q, k, v, out} {
		if err := t.checkAny(names[i]); err != nil {
			return err
		}
	}
	if !q.isFloat() {
		return &ArgumentError{"q", q.describe(), wantPlain}
	}
	if err := checkShapes(out, q, k, v); err != nil {
		return err
	}
	if err := out.checkWritable("out"); err != nil {
		return err
	}
	return opts.validate(out, q, k, v)
}

// check reports a tensor that is not valid by itself, or not plain.
func (t *Tensor) check(name string) error {
	if err := t.checkAny(name); err != nil {
		return err
	}
	if !t.isPlain() {
		return &ArgumentError{name, t.describe(), wantPlain}
	}
	return nil
}

// isFloat tells whether the tensor may be something else than keys or values.
func (t *Tensor) isFloat() bool { return t.dtype != Int8 && t.scales == nil && !t.isPaged() }

// isPlain tells whether it may be one that neither has a call's queries nor its keys.
func (t *Tensor) isPlain() bool { return t.isFloat() && !t.isRagged() }

// checkAny reports a tensor that is not valid by itself.
func (t *Tensor) checkAny(name string) error {
	g := &t.grid
	if t.isPaged() || t.isRagged() {
		all := t.storage()
		g = &all
	}
	if want := g.flaw(t.len()); want != "" {
		return &ArgumentError{name, t.describe(), want}
	}
	if t.isPaged() {
		if err := t.checkPages(name); err != nil {
			return err
		}
	}
	if t.isRagged() {
		if err := t.checkRagged(name); err != nil {
			return err
		}
	}
	switch {
	case t.dtype == Int8 && t.scales == nil:
		return &ArgumentError{name, t.describe(), "scales with it, by Tensor.Scaled"}
	case t.dtype == Int8:
		return t.checkScales(name)
	case t.scales != nil:
		return &ArgumentError{name, t.describe(), "int8, as it has scales"}
	}
	return nil
}

// checkScales reports scales that do not fit the elements.
func (t *Tensor) checkScales(name string) error {
	s, d := t.scales, t.shape[3]
	fault := func(want string) error {
		return &ArgumentError{"the scales of " + name, s.describe(), want}
	}
	if s.dtype != Float32 {
		return fault("float32")
	}
	if s.isPaged() {
		return fault("a tensor that is not paged, but of all pages")
	}
	if s.isRagged() {
		return fault("a tensor that is not ragged, but of all rows")
	}
	if want := s.flaw(s.len()); want != "" {
		return fault(want)
	}
	if e := t.storage().shape; s.shape[0] != e[0] || s.shape[1] != e[1] || s.shape[2] < e[2] {
		return fault(fmt.Sprintf("batch %d, %d heads and at least length %d as the elements have it", e[0], e[1], e[2]))
	}
	if d%s.shape[3] != 0 {
		return fault(fmt.Sprintf("a number of groups that divides the head size %d", d))
	}
	return nil
}

// flaw returns what is wanted instead of a view that is not valid by itself, for a
// slice of so many elements, or "".
func (g *grid) flaw(elements int) string {
	if min(g.shape[0], g.shape[1], g.shape[2]) < 0 {
		return "no negative dimension"
	}
	if g.shape[3] < 1 {
		return "a head size of at least 1"
	}
	for i, s := range g.stride {
		if s < 0 && g.shape[i] > 1 {
			return "no negative stride"
		}
	}
	if n := g.extent(); n > elements {
		return wantElements(n)
	}
	return ""
}

// wantPlain asks for what isPlain tells.
const wantPlain = "float32, float16 or bfloat16, not paged, and ragged only as q is"

// wantElements asks for a slice of n elements.
func wantElements(n int) string {
	if n == math.MaxInt {
		return "sizes and strides whose product fits an int"
	}
	return fmt.Sprintf("a slice of at least %d elements", n)
}

// describe names the tensor's shape, strides and slice length, and its type if
// that is not the usual one.
func (t *Tensor) describe() string {
	text := fmt.Sprintf("[B H L D] = %v with strides %v in %d elements", t.shape, t.stride, t.len())
	if t.isPaged() {
		text += fmt.Sprintf(", %d pages of %d", t.count, t.size)
	}
	if t.isRagged() {
		text += fmt.Sprintf(", ragged in %d rows", t.size)
	}
	if t.dtype != Float32 {
		text = t.dtype.String() + " " + text
	}
	return text
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
	if err := out.checkLengths("out", q, "q"); err != nil {
		return err
	}
	return v.checkLengths("v", k, "k")
}

// checkDistinct reports an output two of whose elements may share an address.
// The strides must nest: sorted, each reaches beyond all that lies inside it.
func (t *Tensor) checkDistinct(name string) error {
	g := t.storage()
	if slices.Contains(g.shape[:], 0) {
		return nil
	}
	order := [3]int{2, 1, 0} // sorted by insertion: small calls would feel more
	for n := range order {
		for ; n > 0 && g.stride[order[n]] < g.stride[order[n-1]]; n-- {
			order[n], order[n-1] = order[n-1], order[n]
		}
	}
	inner := g.shape[3]
	for _, i := range order {
		if g.shape[i] == 1 {
			continue
		}
		if g.stride[i] < inner {
			return &ArgumentError{name, t.describe(), "strides that nest, so that no two elements overlap"}
		}
		inner += (g.shape[i] - 1) * g.stride[i]
	}
	return nil
}

// A memory is a range of addresses, from lo up to but without hi.
type memory struct{ lo, hi uintptr }

// memory is what lies between the tensor's first element and its last, as far as
// it is in its slice.
func (t *Tensor) memory() memory {
	if t.len() == 0 {
		return memory{}
	}
	at, size := uintptr(unsafe.Pointer(unsafe.SliceData(t.f32))), uintptr(4)
	if t.dtype != Float32 {
		at, size = uintptr(t.other.data), 2
	}
	if t.dtype == Int8 {
		size = 1
	}
	all := t.storage()
	return memory{at, at + size*uintptr(min(max(all.extent(), 0), t.len()))}
}

// overlaps tells whether two ranges share an address.
func (m memory) overlaps(n memory) bool { return max(m.lo, n.lo) < min(m.hi, n.hi) }
