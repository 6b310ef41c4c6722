package layer

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// The same mask gives the same bits whether it is made of bools or numbers, whether it
// is one tensor or two masks joined by And, and in 3D and 4D layouts.
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
		"look-ahead and padding":      kernel.Causal(0).And(PaddingMask(flags, b)),
		"bools":                       PaddingMask(padded, b).And(kernel.Causal(0)),
		"look-ahead as numbers":       HiddenMask(lookAhead, [4]int{1, 1, l, l}).And(PaddingMask(flags, b)),
		"maximum of both":             HiddenMask(both, [4]int{b, 1, l, l}),
		"maximum of both, every head": HiddenMask(slices.Concat(both[:l*l], both[:l*l], both[:l*l], both[l*l:], both[l*l:], both[l*l:]), [4]int{b, h, l, l}),
	}
	data := normals(1, b*h*l*d)
	for layout, view := range map[string]func(data []float32) kernel.Tensor{
		"4D":           func(data []float32) kernel.Tensor { return kernel.BHLD(data, b, h, l, d) },
		"3D":           func(data []float32) kernel.Tensor { return kernel.BLHD(data, b, l, h, d) },
		"3D, one head": func(data []float32) kernel.Tensor { return kernel.BLHD(data, b, l, 1, h*d) },
	} {
		x := view(data)
		expected := view(make([]float32, len(data)))
		must(t, ScaledDot{}.Attend(expected, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Mask: want}}))
		for name, mask := range masks {
			if name == "maximum of both, every head" && x.Shape()[1] != h {
				continue
			}
			out := view(make([]float32, len(data)))
			must(t, ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Mask: mask}}))
			equal(t, layout+", "+name, &out, &expected)
		}
	}
}

// A mask must have one number for each key. One with fewer does not hide the other
// keys, and one with more is not cut off: both are errors.
func TestMaskErrors(t *testing.T) {
	const b, l = 2, 3
	out, x := newCanaries(b, 1, l, 1), newTensor(b, 1, l, 1)
	attend := func(out kernel.Tensor, m kernel.Mask) error {
		return ScaledDot{}.Attend(out, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Mask: m}})
	}
	for _, c := range []struct {
		mask kernel.Mask
		text string
	}{
		{PaddingMask(make([]bool, 4), 2), "4 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 5), 2), "5 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 7), 2), "7 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 8), 2), "8 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{PaddingMask([]bool{}, 2), "0 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 2), 1), "2 elements for the shape [1 1 1 Lk], want 3: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 6), 1), "6 elements for the shape [1 1 1 Lk], want 3: the call has Lk = 3 keys"},
		{PaddingMask(make([]bool, 9), 3), "[B H Lq Lk] = [3 1 1 3] with strides [3 3 3] in 9 elements, want 2 batch rows, 1 heads and 3 queries, or 1 of each"},
		{PaddingMask(make([]bool, 6), 0), "[B H Lq Lk] = [0 1 1 6] with strides [6 6 6] in 6 elements, want 2 batch rows, 1 heads and 3 queries, or 1 of each"},
		{PaddingTokenMask(make([]int, 4), 2, 0), "4 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
		{HiddenMask(make([]int, 8), [4]int{1, 1, l, l}), "8 elements for the shape [1 1 3 Lk], want 9: the call has Lk = 3 keys"},
		{HiddenMask(make([]int, 10), [4]int{1, 1, l, l}), "10 elements for the shape [1 1 3 Lk], want 9: the call has Lk = 3 keys"},
		{HiddenMask(make([]int, 6), [4]int{1, 1, l, 2}), "6 elements for the shape [1 1 3 Lk], want 9: the call has Lk = 3 keys"},
		{HiddenMask(make([]int, 9), [4]int{1, 1, l, 2}), "the shape [1 1 3 2], want Lk = 3, the number of keys"},
		{kernel.Causal(0).And(PaddingMask(make([]bool, 4), 2)), "4 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys"},
	} {
		err := attend(out, c.mask)
		refused(t, err, "Options.Mask", &out)
		wantText(t, err, "kernel.Attention: Options.Mask: "+c.text)
	}
	for _, mask := range []kernel.Mask{
		PaddingMask(make([]bool, 6), 2), PaddingMask(make([]bool, 3), 1),
		HiddenMask(make([]int, 9), [4]int{1, 1, l, l}), HiddenMask(make([]int, 3), [4]int{1, 1, 1, l}),
	} {
		must(t, attend(newTensor(b, 1, l, 1), mask))
	}

	// Without batch rows, or without keys, the mask has no elements.
	x = newTensor(0, 1, l, 1)
	must(t, attend(newTensor(0, 1, l, 1), PaddingMask([]bool{}, 0)))
	none := kernel.BHLD([]float32{}, b, 1, 0, 1)
	must(t, ScaledDot{}.Attend(newTensor(b, 1, l, 1), newTensor(b, 1, l, 1), none, none, &kernel.Options{Scoring: kernel.Scoring{Mask: PaddingMask([]bool{}, b)}}))

	// In contrast, kernel.Hidden hides the keys that it does not reach.
	x = rowTensor([]float32{1}, []float32{2}, []float32{3})
	y := newTensor(1, 1, l, 1)
	must(t, attend(y, kernel.Hidden(make([]bool, 1), [4]int{1, 1, 1, 1})))
	near(t, "out", all(&y), 0, 1, 1, 1)
}

// A change to a token changes no bit of the rows before it.
func TestLookAhead(t *testing.T) {
	const b, h, l, d = 1, 2, 20, 8
	data := normals(1, b*h*l*d)
	before := newTensor(b, h, l, d)
	x := kernel.BHLD(data, b, h, l, d)
	must(t, ScaledDot{}.Attend(before, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}))
	for changed := range l {
		y := kernel.BHLD(slices.Clone(data), b, h, l, d)
		for head := range h {
			row(&y, 0, head, changed)[changed%d] += 3
		}
		after := newTensor(b, h, l, d)
		must(t, ScaledDot{}.Attend(after, y, y, y, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}))
		for head := range h {
			for i := range l {
				if same := slices.Equal(row(&before, 0, head, i), row(&after, 0, head, i)); same != (i < changed) {
					t.Errorf("token %d changed: row %d of head %d is the same: %v", changed, i, head, same)
				}
			}
		}
	}
}
