package activation

import (
	"cmp"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// onPair computes a function of two slices.
func onPair(dst, gate, up []float32, exec *kernel.Exec, function *elementwise.Function) error {
	if f := cmp.Or(
		elementwise.CheckLength("dst", dst, "gate", gate), elementwise.CheckLength("up", up, "gate", gate),
		elementwise.CheckPlace(dst, "gate", gate), elementwise.CheckPlace(dst, "up", up),
	); f != nil {
		return (*kernel.Error)(f.In(function.Name))
	}
	return function.Run(exec, elementwise.Call{Rows: len(dst), Slices: [6][]float32{dst, gate, up}})
}

// onGradient computes the gradient of x, the argument or the result of a function.
func onGradient(dx, dy []float32, name string, x []float32, exec *kernel.Exec, function *elementwise.Function) error {
	if f := cmp.Or(
		elementwise.CheckLength("dx", dx, name, x), elementwise.CheckLength("dy", dy, name, x),
		elementwise.CheckOutput("dx", dx, name, x), elementwise.CheckOutput("dx", dx, "dy", dy),
	); f != nil {
		return (*kernel.Error)(f.In(function.Name))
	}
	return function.Run(exec, elementwise.Call{Rows: len(dx), Slices: [6][]float32{dx, dy, x}})
}

// onGatedGradients computes the gradients of a function of gate times up.
func onGatedGradients(dgate, dup, dy, gate, up []float32, exec *kernel.Exec, function *elementwise.Function) error {
	if f := cmp.Or(
		elementwise.CheckLength("dgate", dgate, "gate", gate), elementwise.CheckLength("dup", dup, "gate", gate),
		elementwise.CheckLength("dy", dy, "gate", gate), elementwise.CheckLength("up", up, "gate", gate),
		elementwise.CheckApart("dgate", dgate, "dup", dup),
		elementwise.CheckOutput("dgate", dgate, "dy", dy), elementwise.CheckOutput("dgate", dgate, "gate", gate), elementwise.CheckOutput("dgate", dgate, "up", up),
		elementwise.CheckOutput("dup", dup, "dy", dy), elementwise.CheckOutput("dup", dup, "gate", gate), elementwise.CheckOutput("dup", dup, "up", up),
	); f != nil {
		return (*kernel.Error)(f.In(function.Name))
	}
	return function.Run(exec, elementwise.Call{Rows: len(dgate), Slices: [6][]float32{dgate, dup, dy, gate, up}})
}
