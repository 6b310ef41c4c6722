package rope_test

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/rope"
)

// Two heads of two tokens, at positions 0 and 3. A head of two numbers is one pair, which
// rotates by one radian from one position to the next.
func ExampleRope() {
	r, err := rope.New(rope.Config{Dims: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	const batch, tokens, heads, d = 1, 2, 2, 2
	q := []float32{
		1, 0, 0, 1, // position 0
		1, 0, 0, 1, // position 3
	}
	err = r.Apply(kernel.BLHD(q, batch, tokens, heads, d), []int{0, 3}, kernel.Exec{})
	fmt.Printf("%.3f %v\n", q, err)

	// Output: [1.000 0.000 0.000 1.000 -0.990 0.141 -0.141 -0.990] <nil>
}

// Which numbers make a pair depends on the model. Here four of five numbers make two
// pairs. The first pair rotates by a quarter of a turn, the second one not at all.
func ExamplePairing() {
	for _, pairing := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
		r, err := rope.New(rope.Config{Dims: 4, Pairing: pairing, Frequencies: []float64{1.5707963267948966, 0}})
		if err != nil {
			fmt.Println(err)
			return
		}
		x := []float32{1, 2, 3, 4, 5}
		err = r.Apply(kernel.BHLD(x, 1, 1, 1, 5), []int{1}, kernel.Exec{})
		fmt.Printf("%.0f %v\n", x, err)
	}

	// Output:
	// [-3 2 1 4 5] <nil>
	// [-2 1 3 4 5] <nil>
}

// A model that was trained for 2048 positions and extended to 8192 by position
// interpolation: position 4 has the angles that position 1 had.
func ExampleConfig_scaling() {
	short, err := rope.New(rope.Config{Dims: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	long, err := rope.New(rope.Config{Dims: 4, Scaling: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	var cos, sin, cos4, sin4 [2]float32
	fmt.Println(short.CosSin(1, cos[:], sin[:]), long.CosSin(4, cos4[:], sin4[:]))
	fmt.Println(cos == cos4, sin == sin4)

	// Output:
	// <nil> <nil>
	// true true
}

// A program that rotates by itself asks for the cosines and sines of a position. They are
// exact at any position.
func ExampleRope_CosSin() {
	r, err := rope.New(rope.Config{Dims: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	var cos, sin [2]float32
	err = r.CosSin(1_000_000, cos[:], sin[:])
	fmt.Println(cos, sin, err)

	// Output: [0.93675214 -0.95215535] [-0.3499935 -0.30561438] <nil>
}

// The rotation of Llama 3, with a table of the first 8192 positions, 4 MB. A Rope without a table
// has the same bits.
func ExampleNew() {
	table, err := rope.New(rope.Config{Dims: 128, Base: 500_000, Positions: 8192})
	if err != nil {
		fmt.Println(err)
		return
	}
	plain, err := rope.New(rope.Config{Dims: 128, Base: 500_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	var cos, sin, cosPlain, sinPlain [64]float32
	fmt.Println(table.CosSin(4321, cos[:], sin[:]), plain.CosSin(4321, cosPlain[:], sinPlain[:]))
	fmt.Println(table.Dims(), cos == cosPlain, sin == sinPlain)

	_, err = rope.New(rope.Config{Dims: 127})
	fmt.Println(err)

	// Output:
	// <nil> <nil>
	// 128 true true
	// rope.New: Config.Dims: 127, want an even number from 2 to 65536
}

// A batch of two texts of one token each, at positions 1 and 2: a quarter of a turn, and a half.
func ExampleRope_Apply() {
	r, err := rope.New(rope.Config{Dims: 2, Frequencies: []float64{math.Pi / 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{3, 4, 3, 4}
	err = r.Apply(kernel.BLHD(x, 2, 1, 1, 2), []int{1, 2}, kernel.Exec{})
	fmt.Printf("%.3f %v\n", x, err)

	// Output: [-4.000 3.000 -3.000 -4.000] <nil>
}
