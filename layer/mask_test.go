package layer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// The first of these masks is that of TensorFlow's tutorial on the Transformer: tokens
// of 0 are padding.
func ExamplePaddingTokens() {
	const batch, length = 3, 5
	tokens := []int{
		7, 6, 0, 0, 1,
		1, 2, 3, 0, 0,
		0, 0, 0, 4, 5,
	}
	// Queries of zeros like all keys that they see alike.
	x := kernel.BLHD(make([]float32, batch*length), batch, length, 1, 1)
	show := func(mask kernel.Mask, query int) {
		weights := make([]float32, batch*length*length)
		err := ScaledDot{}.Attend(kernel.BLHD(make([]float32, batch*length), batch, length, 1, 1), x, x, x,
			kernel.Options{Mask: mask, Weights: kernel.BHLD(weights, batch, 1, length, length)})
		if err != nil {
			fmt.Println(err)
		}
		for b := range batch {
			fmt.Printf("%.2f\n", weights[(b*length+query)*length:][:length])
		}
	}
	padding := PaddingTokens(tokens, batch, 0)
	fmt.Println("padding, query 3:")
	show(padding, 3)
	fmt.Println("padding and look-ahead, query 3:")
	show(padding.And(LookAhead()), 3)

	// Output:
	// padding, query 3:
	// [0.33 0.33 0.00 0.00 0.33]
	// [0.33 0.33 0.33 0.00 0.00]
	// [0.00 0.00 0.00 0.50 0.50]
	// padding and look-ahead, query 3:
	// [0.50 0.50 0.00 0.00 0.00]
	// [0.33 0.33 0.33 0.00 0.00]
	// [0.00 0.00 0.00 1.00 0.00]
}

// A mask is the same however it is written, and for 3D and 4D tensors.
func TestMasksAgree(t *testing.T) {
	const b, h, l, d = 2, 3, 6, 4
	flags := []float32{0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1}
	lookAhead := make([]uint8, l*l)
	both := make([]float64, b*l*l)
	for i := range l {
		for j := range l {
			if j > i {
				lookAhead[i*l+j] = 1
			}
			for x := range b {
				both[(x*l+i)*l+j] = max(float64(lookAhead[i*l+j]), float64(flags[x*l+j]))
			}
		}
	}
	padded := make([]bool, b*l)
	for i, f := range flags {
		padded[i] = f != 0
	}
	want := kernel.Causal(0).And(kernel.KeyLengths([]int{4, 2}))
	masks := map[string]kernel.Mask{
		"look-ahead and padding":      LookAhead().And(Padding(flags, b)),
		"bools":                       Padding(padded, b).And(LookAhead()),
		"look-ahead of numbers":       Hide(lookAhead, [4]int{1, 1, l, l}).And(Padding(flags, b)),
		"the larger of both":          Hide(both, [4]int{b, 1, l, l}),
		"the larger of both, by head": Hide(slices.Concat(both[:l*l], both[:l*l], both[:l*l], both[l*l:], both[l*l:], both[l*l:]), [4]int{b, h, l, l}),
	}
	data := normals(1, b*h*l*d)
	for layout, view := range map[string]func(data []float32) kernel.Tensor{
		"4D":           func(data []float32) kernel.Tensor { return kernel.BHLD(data, b, h, l, d) },
		"3D":           func(data []float32) kernel.Tensor { return kernel.BLHD(data, b, l, h, d) },
		"3D, one head": func(data []float32) kernel.Tensor { return kernel.BLHD(data, b, l, 1, h*d) },
	} {
		x := view(data)
		expected := view(make([]float32, len(data)))
		must(t, ScaledDot{}.Attend(expected, x, x, x, kernel.Options{Mask: want}))
		for name, mask := range masks {
			if name == "the larger of both, by head" && x.Shape()[1] != h {
				continue
			}
			out := view(make([]float32, len(data)))
			must(t, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Mask: mask}))
			equal(t, layout+", "+name, &out, &expected)
		}
	}
}

func TestMaskErrors(t *testing.T) {
	out, x := newCanaries(2, 1, 3, 1), newTensor(2, 1, 3, 1)
	for _, mask := range []kernel.Mask{
		Padding(make([]bool, 5), 2), // half of a row is missing
		Padding(make([]bool, 6), 3),
		Padding(make([]bool, 6), 0),
		Padding(make([]bool, 8), 2),
		Hide(make([]int, 8), [4]int{1, 1, 3, 3}),
	} {
		refused(t, ScaledDot{}.Attend(out, x, x, x, kernel.Options{Mask: mask}), "Options.Mask", &out)
	}
}

// What comes after a token changes no bit of its row.
func TestLookAhead(t *testing.T) {
	const b, h, l, d = 1, 2, 20, 8
	data := normals(1, b*h*l*d)
	before := newTensor(b, h, l, d)
	x := kernel.BHLD(data, b, h, l, d)
	must(t, ScaledDot{}.Attend(before, x, x, x, kernel.Options{Mask: LookAhead()}))
	for changed := range l {
		y := kernel.BHLD(slices.Clone(data), b, h, l, d)
		for head := range h {
			row(&y, 0, head, changed)[changed%d] += 3
		}
		after := newTensor(b, h, l, d)
		must(t, ScaledDot{}.Attend(after, y, y, y, kernel.Options{Mask: LookAhead()}))
		for head := range h {
			for i := range l {
				if same := slices.Equal(row(&before, 0, head, i), row(&after, 0, head, i)); same != (i < changed) {
					t.Errorf("token %d changed: row %d of head %d is the same: %v", changed, i, head, same)
				}
			}
		}
	}
}
