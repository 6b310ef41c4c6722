package view

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// A Grid says where the rows of a view lie in its slice.
type Grid struct {
	Shape  [4]int // B, H, L, D
	Stride [3]int // of B, H, L, in elements
}

// At returns the index of element (b, h, l, 0).
func (g *Grid) At(b, h, l int) int {
	return b*g.Stride[0] + h*g.Stride[1] + l*g.Stride[2]
}

// extent returns the number of elements from the first to the last one that the
// view can touch, at most math.MaxInt. Dimensions, and strides along dimensions of
// more than 1, must not be negative.
func (g *Grid) extent() int {
	n := g.Shape[3]
	for i, s := range g.Stride {
		switch g.Shape[i] {
		case 0:
			return 0
		case 1: // the stride does not matter
		default:
			n = ints.AddSat(n, ints.MulSat(g.Shape[i]-1, s))
		}
	}
	return n
}

// wanted returns what is wanted instead of a view that is not valid by itself, for a
// slice of so many elements, or "".
func (g *Grid) wanted(elements int) string {
	if min(g.Shape[0], g.Shape[1], g.Shape[2]) < 0 {
		return "no negative dimension"
	}
	if g.Shape[3] < 1 {
		return "a head size of at least 1"
	}
	for i, s := range g.Stride {
		if s < 0 && g.Shape[i] > 1 {
			return "no negative stride"
		}
	}
	if n := g.extent(); n > elements {
		return WantElements(n)
	}
	return ""
}

// WantElements says that a slice of n elements is wanted.
func WantElements(n int) string {
	if n == math.MaxInt {
		return "sizes and strides whose product fits an int"
	}
	return fmt.Sprintf("a slice of at least %d elements", n)
}

// isMultiple tells whether n divides the size of a row and the distance of any two.
func (g *Grid) isMultiple(n int) bool {
	if n == 1 {
		return true
	}
	for i, s := range g.Stride {
		if g.Shape[i] > 1 && s%n != 0 {
			return false
		}
	}
	return g.Shape[3]%n == 0
}

// nests tells whether no two elements of the grid share an address: sorted, each
// stride reaches beyond all that lies inside it.
func (g *Grid) nests() bool {
	if slices.Contains(g.Shape[:], 0) {
		return true
	}
	order := [3]int{2, 1, 0} // sorted by insertion: small calls would feel more
	for n := range order {
		for ; n > 0 && g.Stride[order[n]] < g.Stride[order[n-1]]; n-- {
			order[n], order[n-1] = order[n-1], order[n]
		}
	}
	inner := g.Shape[3]
	for _, i := range order {
		if g.Shape[i] == 1 {
			continue
		}
		if g.Stride[i] < inner {
			return false
		}
		inner += (g.Shape[i] - 1) * g.Stride[i]
	}
	return true
}

// canFold tells whether fold leaves all rows where they are. No dimension is 0, and those between i
// and L are 1.
func (g *Grid) canFold(i int) bool {
	return g.Shape[i] == 1 || g.Shape[2] == 1 || g.Stride[i] == g.Shape[2]*g.Stride[2]
}

// fold makes dimension i a part of L.
func (g *Grid) fold(i int) {
	if g.Shape[2] == 1 {
		g.Stride[2] = g.Stride[i]
	}
	g.Shape[i], g.Shape[2] = 1, g.Shape[i]*g.Shape[2]
}

// Scores is the shape of a call's scores: what masks, biases and options per row
// must fit.
type Scores struct{ Batch, Heads, Queries, Keys int }

// Broadcast returns the strides of a view of [B, H, Lq, Lk] for scores of shape c:
// 0 along each of the first three dimensions that is 1. It reports a view that does
// not fit c or a slice of so many elements.
func (g *Grid) Broadcast(arg string, elements int, c *Scores) ([3]int, *check.Failure) {
	strides := g.Stride
	wrong := func(want string) ([3]int, *check.Failure) {
		return strides, &check.Failure{Where: arg, Got: fmt.Sprintf("[B H Lq Lk] = %v with strides %v in %d elements", g.Shape, g.Stride, elements), Want: want}
	}
	for i, n := range [...]int{c.Batch, c.Heads, c.Queries} {
		switch {
		case g.Shape[i] != n && g.Shape[i] != 1:
			return wrong(fmt.Sprintf("%d batch rows, %d heads and %d queries, or 1 of each", c.Batch, c.Heads, c.Queries))
		case g.Shape[i] == 1:
			strides[i] = 0
		case g.Stride[i] < 0:
			return wrong("no negative stride")
		}
	}
	if n := g.Shape[3]; n < 0 || n > c.Keys {
		return wrong(fmt.Sprintf("0 to %d keys", c.Keys))
	}
	all := Grid{g.Shape, strides}
	if n := all.extent(); g.Shape[3] > 0 && n > elements {
		return wrong(WantElements(n))
	}
	return strides, nil
}

// Broadcast returns the tensor as a view of scores of shape c, with strides of 0
// along dimensions of 1. It reports a tensor that does not fit c.
func (t *Tensor) Broadcast(arg string, c *Scores) (Tensor, *check.Failure) {
	strides, f := t.grid.Broadcast(arg, t.Len(), c)
	v := *t
	v.grid.Stride = strides
	return v, f
}
