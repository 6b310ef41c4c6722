package activation

import (
	"cmp"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// onSlice computes a function of one slice.
func onSlice(dst, src []float32, function func(a *ukernel.Activations) func(dst, src []float32)) error {
	if f := cmp.Or(elementwise.CheckLength("dst", dst, "src", src), elementwise.CheckPlace(dst, "src", src)); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	t, unavailable := tier.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	elementwise.Unary(dst, src, function(t.Activations()))
	return nil
}

// onPair computes a function of two slices.
func onPair(dst, gate, up []float32, function func(a *ukernel.Activations) func(dst, gate, up []float32)) error {
	if f := cmp.Or(
		elementwise.CheckLength("dst", dst, "gate", gate), elementwise.CheckLength("up", up, "gate", gate),
		elementwise.CheckPlace(dst, "gate", gate), elementwise.CheckPlace(dst, "up", up),
	); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	t, unavailable := tier.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	elementwise.Binary(dst, gate, up, function(t.Activations()))
	return nil
}
