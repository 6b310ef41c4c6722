package activation

import (
	"fmt"

	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// callElements is the number of elements that one call of a kernel computes. That takes
// less than 50 µs, in which the goroutine cannot be preempted.
const callElements = 1 << 13

// onSlice computes a function of one slice.
func onSlice(dst, src []float32, function func(a *ukernel.Activations) func(dst, src []float32)) error {
	if err := checkLength("dst", dst, "src", src); err != nil {
		return err
	}
	if err := checkPlace(dst, "src", src); err != nil {
		return err
	}
	t, unavailable := ukernel.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	if view.Races {
		view.Announce(view.Read, src)
		view.Announce(view.Write, dst)
	}
	f := function(&t.Activations)
	for len(dst) > 0 {
		n := min(len(dst), callElements)
		f(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	return nil
}

// onPair computes a function of two slices.
func onPair(dst, gate, up []float32, function func(a *ukernel.Activations) func(dst, gate, up []float32)) error {
	if err := checkLength("dst", dst, "gate", gate); err != nil {
		return err
	}
	if err := checkLength("up", up, "gate", gate); err != nil {
		return err
	}
	if err := checkPlace(dst, "gate", gate); err != nil {
		return err
	}
	if err := checkPlace(dst, "up", up); err != nil {
		return err
	}
	t, unavailable := ukernel.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	if view.Races {
		view.Announce(view.Read, gate)
		view.Announce(view.Read, up)
		view.Announce(view.Write, dst)
	}
	f := function(&t.Activations)
	for len(dst) > 0 {
		n := min(len(dst), callElements)
		f(dst[:n], gate[:n], up[:n])
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
	return nil
}

// checkLength returns an error unless the slice x is as long as the other one.
func checkLength(name string, x []float32, other string, y []float32) error {
	if len(x) == len(y) {
		return nil
	}
	return &kernel.ArgumentError{Arg: name, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d, that of %s", len(y), other)}
}

// checkPlace returns an error if dst overlaps x, unless it is x.
func checkPlace(dst []float32, name string, x []float32) error {
	if d, m := view.MemoryOf(dst), view.MemoryOf(x); d == m || !d.Overlaps(m) {
		return nil
	}
	return &kernel.ArgumentError{Arg: "dst", Got: "memory that overlaps a part of " + name, Want: name + " itself, or memory of its own"}
}
