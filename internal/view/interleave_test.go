package view

import (
	"math/rand/v2"
	"testing"
)

// elements returns the indices in data of all elements of a tensor that begins at index first.
func elements(t *Tensor, first int) map[int]bool {
	found := map[int]bool{}
	for b := range t.grid.Shape[0] {
		for h := range t.grid.Shape[1] {
			for l := range t.grid.Shape[2] {
				for d := range t.grid.Shape[3] {
					found[first+t.grid.At(b, h, l)+d] = true
				}
			}
		}
	}
	return found
}

// Parts of a joint projection are apart in every layout; tensors with an element in common are not.
func TestIsApartFrom(t *testing.T) {
	data := numbered(400)
	part := func(first, heads int, shape [4]int, strides [3]int) *Tensor {
		shape[1] = heads
		x := Floats(data[first:], shape, strides)
		return &x
	}
	batch, one, tokens := [4]int{2, 0, 3, 2}, [4]int{2, 0, 1, 2}, [3]int{30, 2, 10}
	ragged := func(first, heads int) *Tensor {
		x := part(first, heads, [4]int{1, 0, 6, 2}, tokens).Ragged([]int{0, 2, 6})
		return &x
	}
	for name, c := range map[string]struct {
		x, y *Tensor
		want bool
	}{
		"queries and keys":           {part(0, 3, batch, tokens), part(6, 1, batch, tokens), true},
		"keys and values":            {part(6, 1, batch, tokens), part(8, 1, batch, tokens), true},
		"a token each":               {part(0, 3, one, [3]int{10, 2, 10}), part(6, 2, one, [3]int{10, 2, 10}), true},
		"ragged":                     {ragged(0, 3), ragged(6, 2), true},
		"far from each other":        {part(0, 3, batch, tokens), part(200, 2, batch, tokens), true},
		"in the next token":          {part(0, 3, batch, tokens), part(16, 1, batch, tokens), true},
		"one element in common":      {part(0, 3, batch, tokens), part(5, 1, batch, tokens), false},
		"the same":                   {part(0, 3, batch, tokens), part(0, 3, batch, tokens), false},
		"over the end of a token":    {part(0, 3, batch, tokens), part(8, 2, batch, tokens), false},
		"ragged, element in common":  {ragged(0, 3), ragged(4, 2), false},
		"no element of one at all":   {part(0, 3, batch, tokens), part(0, 3, [4]int{0, 0, 3, 2}, tokens), true},
		"tokens of another distance": {part(0, 3, batch, tokens), part(6, 1, batch, [3]int{36, 2, 12}), false},
	} {
		if got := c.x.IsApartFrom(c.y); got != c.want || c.y.IsApartFrom(c.x) != got {
			t.Errorf("%s: %v, the other way round %v; want %v", name, got, c.y.IsApartFrom(c.x), c.want)
		}
	}
}

// What is told to be apart has no element in common.
func TestIsApartFromIsSafe(t *testing.T) {
	data, r := numbered(4000), rand.New(rand.NewPCG(1, 2))
	apart, shared := 0, 0
	for range 20000 {
		var x [2]Tensor
		var first [2]int
		for i := range x {
			first[i] = r.IntN(30)
			x[i] = Floats(data[first[i]:], [4]int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(3)},
				[3]int{r.IntN(5) * 12, r.IntN(6), []int{6, 12, 24, 9}[r.IntN(4)]})
		}
		common := false
		other := elements(&x[1], first[1])
		for i := range elements(&x[0], first[0]) {
			common = common || other[i]
		}
		told := x[0].IsApartFrom(&x[1])
		if told && common {
			t.Fatalf("%v from %d and %v from %d share elements", x[0].grid, first[0], x[1].grid, first[1])
		}
		if told && x[0].Memory().Overlaps(x[1].Memory()) {
			apart++
		}
		if common {
			shared++
		}
	}
	if apart < 100 || shared < 100 {
		t.Errorf("%d pairs interleave, %d share elements: too few of one kind", apart, shared)
	}
}
