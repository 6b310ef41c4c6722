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

// SiLU in place: large numbers stay, large negative ones vanish.
func ExampleSiLU() {
	x := []float32{-100, -1, 0, 1, 100}
	err := activation.SiLU(x, x, kernel.Exec{})
	fmt.Println(x, err)

	// Output: [-3.72e-42 -0.2689414 0 0.7310586 100] <nil>
}

// GELU with tanh, as GPT-2 has it, of one slice into another one.
func ExampleGELUTanh() {
	y := make([]float32, 3)
	err := activation.GELUTanh(y, []float32{-1, 0, 1}, kernel.Exec{})
	fmt.Println(y, err)

	// Output: [-0.15880801 0 0.841192] <nil>
}

// A gate that is closed, and one that is open.
func ExampleGeGLU() {
	gate, up := []float32{-100, 100}, []float32{3, 3}
	err := activation.GeGLU(gate, gate, up, kernel.Exec{})
	fmt.Println(gate, err)

	// Output: [-0 300] <nil>
}

// The gated form of Gemma.
func ExampleGeGLUTanh() {
	gate, up := []float32{-1, 1}, []float32{2, 2}
	err := activation.GeGLUTanh(gate, gate, up, kernel.Exec{})
	fmt.Println(gate, err)

	// Output: [-0.31761602 1.682384] <nil>
}

// At 0 the slope of SiLU is 1/2. dx may be dy.
func ExampleSiLUBackward() {
	x, dy := []float32{0, 0, 100}, []float32{1, -4, 1}
	err := activation.SiLUBackward(dy, dy, x, kernel.Exec{})
	fmt.Println(dy, err)

	// Output: [0.5 -2 1] <nil>
}

// The slope of GELU: 1/2 at 0, and above 1 at 1, as the function overtakes its argument there.
func ExampleGELUBackward() {
	dx := make([]float32, 2)
	err := activation.GELUBackward(dx, []float32{1, 1}, []float32{0, 1}, kernel.Exec{})
	fmt.Printf("%.4f %v\n", dx, err)

	// Output: [0.5000 1.0833] <nil>
}

// The slope of the form with tanh differs in the fourth digit.
func ExampleGELUTanhBackward() {
	dx := make([]float32, 2)
	err := activation.GELUTanhBackward(dx, []float32{1, 1}, []float32{0, 1}, kernel.Exec{})
	fmt.Printf("%.4f %v\n", dx, err)

	// Output: [0.5000 1.0830] <nil>
}

// Both factors of a gated layer get a gradient. Where the gate is 0 the other factor gets none.
func ExampleSwiGLUBackward() {
	gate, up, dy := []float32{0, 100}, []float32{6, 6}, []float32{1, 1}
	dgate, dup := make([]float32, 2), make([]float32, 2)
	err := activation.SwiGLUBackward(dgate, dup, dy, gate, up, kernel.Exec{})
	fmt.Println(dgate, dup, err)

	// Output: [3 6] [0 100] <nil>
}

// As SwiGLUBackward, with GELU. The gradients take the place of the factors.
func ExampleGeGLUBackward() {
	gate, up := []float32{0, 100}, []float32{6, 6}
	err := activation.GeGLUBackward(gate, up, []float32{1, 1}, gate, up, kernel.Exec{})
	fmt.Println(gate, up, err)

	// Output: [3 6] [0 100] <nil>
}

// As GeGLUBackward, with the form that has tanh.
func ExampleGeGLUTanhBackward() {
	gate, up := []float32{0, 100}, []float32{6, 6}
	err := activation.GeGLUTanhBackward(gate, up, []float32{1, 1}, gate, up, kernel.Exec{})
	fmt.Println(gate, up, err)

	// Output: [3 6] [0 100] <nil>
}

// The gradient needs the results of tanh, not its arguments: 1 - y².
func ExampleTanhBackward() {
	dx := make([]float32, 3)
	err := activation.TanhBackward(dx, []float32{1, 1, 2}, []float32{0, 0.5, -1}, kernel.Exec{})
	fmt.Println(dx, err)

	// Output: [1 0.75 0] <nil>
}

// The gradient of the logistic function from its results: (1 - y)·y.
func ExampleSigmoidBackward() {
	dx := make([]float32, 3)
	err := activation.SigmoidBackward(dx, []float32{1, 1, 2}, []float32{0.5, 1, 0.25}, kernel.Exec{})
	fmt.Println(dx, err)

	// Output: [0.25 0 0.375] <nil>
}

// A step of a recurrent unit of one number. The update gate is at 1/2, so that the next state lies
// halfway between the state and the candidate, which is 0 here.
func ExampleGRU() {
	state, gates := []float32{4}, make([]float32, 3)
	in, hidden := []float32{0, 0, 0}, []float32{0, 0, 0} // reset gate, update gate, candidate
	err := activation.GRU(state, gates, in, hidden, 1, kernel.Exec{})
	fmt.Println(state, gates, err)

	// Output: [2] [0.5 0.5 0] <nil>
}

// The way back through the step of the example of GRU, from a gradient of 1.
func ExampleGRUBackward() {
	before, gates, hidden := []float32{4}, []float32{0.5, 0.5, 0}, []float32{0, 0, 0}
	dstate, din, dhidden := []float32{1}, make([]float32, 3), make([]float32, 3)
	err := activation.GRUBackward(dstate, din, dhidden, gates, hidden, before, 1, kernel.Exec{})
	fmt.Println(dstate, din, dhidden, err)

	// Output: [0.5] [0 1 0.5] [0 1 0.25] <nil>
}
