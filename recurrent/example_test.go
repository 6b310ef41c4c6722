package recurrent_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/recurrent"
)

// A text is read in two pieces, as a program does that generates its tokens one by one.
func ExampleLayer_Apply() {
	d := recurrent.Layer{Heads: 1, KeyHeads: 1, KeySize: 2, ValueSize: 1}
	queries, keys, values := []float32{1, 0, 0, 1, 1, 1}, []float32{1, 0, 0, 1, 1, 0}, []float32{5, 7, 6}
	decays, gates := []float32{0, 0, 0}, []float32{1, 1, 0.5}
	out := make([]float32, 3)
	var state []float32
	for _, piece := range [][2]int{{0, 2}, {2, 3}} {
		lo, hi := piece[0], piece[1]
		x := recurrent.Text{
			Q: kernel.BHLD(queries[2*lo:2*hi], 1, 1, hi-lo, 2), K: kernel.BHLD(keys[2*lo:2*hi], 1, 1, hi-lo, 2), V: kernel.BHLD(values[lo:hi], 1, 1, hi-lo, 1),
			Decay: decays[lo:hi], Gate: gates[lo:hi], Position: lo, Before: state, After: make([]float32, d.StateSize(hi)),
		}
		if err := d.Apply(kernel.BHLD(out[lo:hi], 1, 1, hi-lo, 1), x, kernel.Exec{}); err != nil {
			fmt.Println(err)
			return
		}
		state = x.After
	}
	fmt.Println(out) // the third token changes the value of the first key from 5 to 5.5
	// Output: [5 7 12.5]
}

func ExampleLayer_StateSize() {
	d := recurrent.Layer{Heads: 16, KeyHeads: 16, KeySize: 128, ValueSize: 128}
	fmt.Println(d.StateSize(64), d.StateSize(65))
	// Output: 262144 525312
}
