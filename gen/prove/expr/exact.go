package expr

import (
	"math"
	"math/bits"
	"slices"
)

// A magnitude is what is known of a float: it is 0, infinite, NaN, or an odd number up to most
// times a power of two, at least 2^low and below 2^high.
type magnitude struct {
	most      int64
	low, high int
}

// magnitudeOf returns what is known of a binary16, an integer, a power of two, or a product of such
// that is not rounded.
func magnitudeOf(x *Node) (m magnitude, ok bool) {
	switch x.Op {
	case HToF:
		return magnitude{2047, -24, 16}, true
	case Sym:
		if x.Coefs != nil {
			return magnitude{1<<24 - 1, int(int64(x.Coefs[0])), int(int64(x.Coefs[1])) + 1}, true
		}
	case Const:
		if x.Val<<41 != 0 || x.Val>>23&255 == 0 || x.Val>>23&255 == 255 {
			return m, false
		}
		e := int(x.Val>>23&255) - 127
		return magnitude{1, e, e + 1}, true
	case SToF, UToF:
		a := x.Args[0]
		most, low := max(a.hi, -a.lo), 0
		if x.Op == UToF && a.lo < 0 {
			most = int64(mask(min(a.Width, 62)))
		}
		if a.Op == Sext {
			a = a.Args[0]
		}
		if a.Op == Concat && a.Args[0].IsConst() && a.Args[0].Val == 0 {
			low = a.Args[0].Width
		}
		high := bits.Len64(uint64(most))
		if most >>= low; most > 1 && most&1 == 0 {
			most-- // the largest odd one
		}
		return magnitude{most, low, high}, most < 1<<24
	case FMul:
		a, okA := magnitudeOf(x.Args[0])
		b, okB := magnitudeOf(x.Args[1])
		return a.times(b), okA && okB && a.times(b).fits()
	}
	return m, false
}

func (m magnitude) times(n magnitude) magnitude {
	return magnitude{m.most * n.most, m.low + n.low, m.high + n.high}
}

// fits reports whether the number is a binary32, and normal or 0.
func (m magnitude) fits() bool { return m.most < 1<<24 && m.low >= -126 && m.high <= 127 }

// isExact reports whether a product is not rounded.
func isExact(p *Node) bool { _, ok := magnitudeOf(p); return ok && p.Op == FMul }

// exactProduct returns a product that is not rounded with its factors in order and powers of two
// joined, nil for others. Products of products that are not rounded do not depend on their order; a
// zero has the sign of all.
func (g *Graph) exactProduct(x, y *Node) *Node {
	a, okA := magnitudeOf(x)
	b, okB := magnitudeOf(y)
	if !okA || !okB || !a.times(b).fits() {
		return nil
	}
	scale := 0
	factors := g.factors(y, g.factors(x, nil, &scale), &scale)
	slices.SortFunc(factors, func(a, b *Node) int {
		switch {
		case a == b:
			return 0
		case before(a, b):
			return -1
		}
		return 1
	})
	if len(factors) == 0 {
		return nil
	}
	if scale != 0 {
		factors = append(factors, g.Float(float32(math.Ldexp(1, scale))))
	}
	n := factors[len(factors)-1]
	for i := len(factors) - 2; i >= 0; i-- {
		n = g.op(FMul, 32, 0, factors[i], n)
	}
	return n
}

// factors adds the factors of a product that is not rounded, and the exponents of powers of two
// among them.
func (g *Graph) factors(x *Node, list []*Node, scale *int) []*Node {
	switch {
	case x.IsConst():
		*scale += int(x.Val>>23&255) - 127
		return list
	case x.Op == FMul:
		return g.factors(x.Args[1], g.factors(x.Args[0], list, scale), scale)
	case (x.Op == UToF || x.Op == SToF && x.Args[0].lo >= 0) && x.Args[0].Op == Concat:
		if a := x.Args[0]; a.Args[0].IsConst() && a.Args[0].Val == 0 {
			*scale += a.Args[0].Width
			return append(list, g.Unary(UToF, 32, g.Zext(g.Concat(a.Args[1:]...), a.Width)))
		}
	}
	if x.Op == SToF && x.Args[0].Op == Sext {
		if a := x.Args[0].Args[0]; a.Op == Concat && a.Args[0].IsConst() && a.Args[0].Val == 0 {
			*scale += a.Args[0].Width
			return append(list, g.Unary(SToF, 32, g.Sext(g.Concat(a.Args[1:]...), 32)))
		}
	}
	return append(list, x)
}

// scaled returns the factors of a product, which is not rounded itself, with all powers of two in
// the second one.
func (g *Graph) scaled(x, y *Node) (*Node, *Node) {
	_, okX := magnitudeOf(x)
	_, okY := magnitudeOf(y)
	if !okX || !okY {
		return x, y
	}
	scale := 0
	list := g.factors(y, g.factors(x, nil, &scale), &scale)
	if len(list) != 2 {
		return x, y
	}
	a, b := inOrder(list[0], list[1])
	if scale == 0 {
		return a, b
	}
	if m, _ := magnitudeOf(b); !m.times(magnitude{1, scale, scale + 1}).fits() {
		return x, y
	}
	return a, g.FMul(b, g.Float(float32(math.Ldexp(1, scale))))
}

// wholeFma returns x·y+z of whole numbers as the integer, converted, nil unless all of them and the
// result are at most 2^24 in magnitude, so that nothing is rounded. A result of zero is +0, as z is
// not -0.
func (g *Graph) wholeFma(x, y, z *Node) *Node {
	a, b, c := g.whole(x), g.whole(y), g.whole(z)
	if a == nil || b == nil || c == nil {
		return nil
	}
	if lo, hi, ok := times(a, b); !ok || lo+min(c.lo, 0) < -mostWhole || hi+max(c.hi, 0) > mostWhole {
		return nil
	}
	return g.Unary(SToF, 32, g.Add(g.Mul(a, b), c))
}

// All whole numbers up to mostWhole are numbers of binary32.
const mostWhole = 1 << 24

// whole returns the integer of 32 bits that x is converted from without rounding, nil if there is
// none.
func (g *Graph) whole(x *Node) *Node {
	switch {
	case x.IsConst() && x.Val != minusZero:
		v := math.Float32frombits(uint32(x.Val))
		if v >= -mostWhole && v <= mostWhole && v == float32(int32(v)) {
			return g.Const(32, uint64(uint32(int32(v))))
		}
	case x.Op == SToF && x.Args[0].Width == 32 && x.Args[0].lo >= -mostWhole && x.Args[0].hi <= mostWhole:
		return x.Args[0]
	}
	return nil
}
