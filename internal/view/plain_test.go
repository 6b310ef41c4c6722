package view

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/ukernel"
)

// heap keeps what must have one address.
var heap []float32

// TestPlainMemory: what PlainMemory and IsOrdered accept passes the checks and has the same memory,
// for random shapes and strides. They accept contiguous tensors.
func TestPlainMemory(t *testing.T) {
	random, data := rand.New(rand.NewPCG(1, 2)), numbered(40)
	heap = data // addresses on a stack change when it grows
	accepted, ordered := 0, 0
	for range 100_000 {
		var shape [4]int
		var strides [3]int
		for i := range shape {
			shape[i] = random.IntN(4)
		}
		for i := range strides {
			strides[i] = random.IntN(13) - 1
		}
		x := Floats(data[:random.IntN(41)], shape, strides)
		m, ok := x.PlainMemory()
		if !ok {
			continue
		}
		accepted++
		if f := x.Check("x"); f != nil || m != x.Memory() {
			t.Fatalf("accepted with memory %v, want %v: %v", m, x.Memory(), f)
		}
		if x.IsOrdered() {
			ordered++
			if f := x.CheckDistinct("x"); f != nil {
				t.Fatal(f)
			}
		}
	}
	if ordered == 0 || ordered == accepted {
		t.Errorf("%d of %d tensors are in order", ordered, accepted)
	}
	for _, x := range []Tensor{tokenMajor(data, 2, 3, 2, 3), Floats(data, [4]int{2, 2, 3, 3}, Contiguous([4]int{2, 2, 3, 3}))} {
		if _, ok := x.PlainMemory(); !ok || !x.IsOrdered() {
			t.Errorf("%s is not accepted", x.Describe())
		}
	}
}

// TestFold: the rows of random tensors are the same in the same order after Fold. A tensor that can
// not be folded keeps others as they are. Contiguous rows are one run, and rows with gaps if L = 1.
func TestFold(t *testing.T) {
	random, data := rand.New(rand.NewPCG(3, 4)), numbered(80)
	runs := map[[3]int]int{}
	for range 20_000 {
		shape := [4]int{1 + random.IntN(3), 1 + random.IntN(3), 1 + random.IntN(3), 1}
		var x [2]Tensor
		for i := range x {
			x[i] = Floats(data, shape, [3]int{random.IntN(10), random.IntN(7), random.IntN(4)})
		}
		y, none := x, Tensor{}
		Fold(&y[0], &none, &y[1])
		if none.IsSet() || y[0].Shape() != y[1].Shape() {
			t.Fatalf("%s and %s become %s and %s", x[0].Layout(), x[1].Layout(), y[0].Layout(), y[1].Layout())
		}
		for i := range x {
			if got, want := rowsInOrder(&y[i]), rowsInOrder(&x[i]); !slices.Equal(got, want) {
				t.Fatalf("%s becomes %s: rows at %v, want %v", x[i].Layout(), y[i].Layout(), got, want)
			}
		}
		if s := y[0].Shape(); s != shape {
			runs[[3]int{s[0], s[1], s[2]}]++
		}
	}
	if runs[[3]int{1, 1, 9}] == 0 || runs[[3]int{3, 1, 9}] == 0 {
		t.Errorf("tensors become %v", runs)
	}
	for _, x := range []Tensor{
		Floats(data, [4]int{2, 3, 4, 3}, [3]int{36, 12, 3}), tokenMajor(data, 2, 1, 3, 4),
		Floats(data, [4]int{4, 1, 1, 3}, [3]int{17, 1, 2}), Floats(data, [4]int{1, 4, 1, 3}, [3]int{0, 17, 5}),
	} {
		y, s := x, x.Shape()
		if Fold(&y); y.Shape() != [4]int{1, 1, s[0] * s[1] * s[2], s[3]} {
			t.Errorf("%s becomes %s", x.Layout(), y.Layout())
		}
	}
	ragged := tokenMajor(data, 1, 4, 1, 3).Ragged([]int{0, 1, 4})
	y := ragged
	if Fold(&y); y.grid != ragged.grid {
		t.Errorf("%s becomes %s", ragged.Layout(), y.Layout())
	}
}

// rowsInOrder returns the first elements of all rows.
func rowsInOrder(x *Tensor) (first []float32) {
	s := x.Shape()
	for b := range s[0] {
		for h := range s[1] {
			for l := range s[2] {
				first = append(first, x.Row(b, h, l)[0])
			}
		}
	}
	return first
}

// TestPlainMemoryRefuses: sizes that overflow, and tensors that are not plain.
func TestPlainMemoryRefuses(t *testing.T) {
	data, root := numbered(60), 1<<(bits.UintSize/2-1)
	scales, few, ints := tokenMajor(data, 1, 2, 1, 1), tokenMajor(data, 1, 1, 1, 1), make([]int8, 4)
	codes := Other(Int8, ints, [4]int{1, 1, 2, 2}, [3]int{4, 4, 2})
	for name, x := range map[string]Tensor{
		"zero":     {},
		"stride":   Floats(data, [4]int{1, 1, 2, 4}, [3]int{4, 4, math.MaxInt}),
		"size":     Floats(data, [4]int{1, math.MaxInt, 2, 4}, [3]int{8, 0, 4}),
		"overflow": Floats(data, [4]int{root, root, 2, 4}, [3]int{4 * root, 4 * root, 4}),
		"ragged":   tokenMajor(data, 1, 4, 1, 2).Ragged([]int{0, 1, 4}),
		"paged":    Floats(data, [4]int{4, 1, 3, 5}, [3]int{15, 15, 5}).Paged(&PageTable{Pages: [][]int32{{3}}, Lengths: []int{3}}),
		"scaled":   tokenMajor(data, 1, 2, 1, 2).Scaled(&scales),
		"unscaled": codes,
		"scales":   codes.Scaled(&few),
		"groups":   Other(Int4, ints[:1], [4]int{1, 1, 1, 2}, [3]int{2, 2, 2}).Scaled(ref(tokenMajor(data, 1, 1, 1, 2))),
		"odd":      Other(Int4, ints, [4]int{1, 1, 2, 2}, [3]int{4, 4, 3}).Scaled(&scales),
		"short":    Other(Float16, make([]uint16, 3), [4]int{1, 1, 2, 2}, [3]int{4, 4, 2}),
		"unknown":  Other(ukernel.Elements, make([]uint16, 4), [4]int{1, 1, 2, 2}, [3]int{4, 4, 2}),
	} {
		if _, ok := x.PlainMemory(); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, x := range map[string]Tensor{"halves": Other(Float16, make([]uint16, 4), [4]int{1, 1, 2, 2}, [3]int{4, 4, 2}), "codes": codes.Scaled(&scales)} {
		if m, ok := x.PlainMemory(); !ok || m != x.Memory() || x.Check("x") != nil {
			t.Errorf("%s: memory %v, want %v", name, m, x.Memory())
		}
	}
}

func ref(t Tensor) *Tensor { return &t }

// TestDense: a tensor is dense if rows of its size, put where its rows lie, cover its memory
// without gaps, and never if they do not.
func TestDense(t *testing.T) {
	random, data, dense := rand.New(rand.NewPCG(3, 4)), numbered(60), 0
	for range 100_000 {
		var shape [4]int
		var strides [3]int
		for i := range shape {
			shape[i] = 1 + random.IntN(3)
		}
		for i := range strides {
			strides[i] = random.IntN(10)
		}
		n := shape[0] * shape[1] * shape[2] * shape[3]
		x := Floats(data, shape, strides)
		if x.Check("x") != nil || !x.IsDense(n) {
			continue
		}
		dense++
		var seen [60]int
		for b := range shape[0] {
			for h := range shape[1] {
				for l := range shape[2] {
					for e := range shape[3] {
						seen[x.At(b, h, l)+e]++
					}
				}
			}
		}
		for i, times := range seen {
			if (i < n) != (times == 1) {
				t.Fatalf("%s: element %d lies in the tensor %d times", x.Describe(), i, times)
			}
		}
	}
	if dense < 1000 {
		t.Errorf("%d tensors are dense", dense)
	}
}

// TestPairs: rows are pairs of bfloat16 where a word may be read, and not half a word later, and if
// they have no gaps and an even number of columns.
func TestPairs(t *testing.T) {
	words := BytesOf(make([]uint32, 100))
	halves := func(t DType, from int, shape [4]int, row int) Tensor {
		return FromBytes(t, words[from:], shape, [3]int{shape[1] * shape[2] * row, shape[2] * row, row})
	}
	shape := [4]int{1, 3, 2, 6}
	for name, c := range map[string]struct {
		x    Tensor
		want bool
	}{
		"pairs":       {halves(BFloat16, 0, shape, 6), true},
		"half a word": {halves(BFloat16, 2, shape, 6), false},
		"gaps":        {halves(BFloat16, 0, shape, 8), false},
		"float16":     {halves(Float16, 0, shape, 6), false},
		"an odd row":  {halves(BFloat16, 0, [4]int{1, 3, 2, 5}, 5), false},
	} {
		if got := c.x.IsPairs(); got != c.want {
			t.Errorf("%s: pairs: %v, want %v", name, got, c.want)
		}
	}
}
