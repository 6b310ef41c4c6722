package activation_test

import (
	"fmt"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
)

// The hidden layer of a gated feed-forward layer, in place of its gate.
func ExampleSwiGLU() {
	gate := []float32{-1, 0, 1, 2}
	up := []float32{2, 2, 2, 0.5}
	err := activation.SwiGLU(gate, gate, up, kernel.Exec{})
	fmt.Println(gate, err)

	// Output: [-0.5378828 0 1.4621172 0.880797] <nil>
}

// The two forms of GELU are close to each other. Both keep their digits where they are tiny.
func ExampleGELU() {
	x := []float32{-10, -1, 1}
	exact, tanh := make([]float32, 3), make([]float32, 3)
	fmt.Println(activation.GELU(exact, x, kernel.Exec{}), exact)
	fmt.Println(activation.GELUTanh(tanh, x, kernel.Exec{}), tanh)

	// Output:
	// <nil> [-7.6198536e-23 -0.15865526 0.8413448]
	// <nil> [-1.2040924e-37 -0.15880801 0.841192]
}
