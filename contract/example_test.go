package contract_test

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/contract"
)

// at returns the value of a polynomial at x, to float64. The contract takes these steps in float32,
// by FMA.
func at(x float64, coefficients []uint32) (y float64) {
	for i := len(coefficients) - 1; i >= 0; i-- {
		y = y*x + float64(math.Float32frombits(coefficients[i]))
	}
	return y
}

// The root of 2.
func ExampleExp2() {
	c := contract.Exp2()
	fmt.Printf("%.5f\n", at(0.5, c[:]))

	// Output: 1.41421
}

// The logarithm of 1.25 to the base 2.
func ExampleLog2() {
	c := contract.Log2()
	const f = 0.25
	fmt.Printf("%.5f %.5f\n", f*at(f, c[:]), math.Log2(1+f))

	// Output: 0.32193 0.32193
}

// Tanh near 0.
func ExampleTanh() {
	c := contract.Tanh()
	const r = 0.125
	fmt.Printf("%.5f %.5f\n", r/at(r*r, c[:]), math.Tanh(r))

	// Output: 0.12435 0.12435
}

// The points that tanh is expanded around, with their results and slopes.
func ExampleTanhPoints() {
	for _, p := range contract.TanhPoints() {
		c := float64(math.Float32frombits(p.C))
		fmt.Printf("%.3f %.4f %.4f\n", c, math.Float32frombits(p.T), math.Float32frombits(p.V))
	}

	// Output:
	// 0.000 0.0000 1.0000
	// 1.198 0.8331 0.3059
	// 2.398 0.9836 0.0325
	// 3.603 0.9985 0.0030
	// 4.802 0.9999 0.0003
	// 6.010 1.0000 0.0000
	// 7.219 1.0000 0.0000
	// 8.664 1.0000 0.0000
}

// GELU at a point C where the polynomial has the value T(C): GELU(-C) = -T(C)·e^(-C²/2).
func ExampleGELUPoints() {
	p := contract.GELUPoints()[3]
	c, t := float64(math.Float32frombits(p.C)), at(0, p.Coefficients[:])
	fmt.Printf("%.4f %.4f\n", -t*math.Exp(-c*c/2), -c/2*math.Erfc(c/math.Sqrt2))

	// Output: -0.0236 -0.0236
}
