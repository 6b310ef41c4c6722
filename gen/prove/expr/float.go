package expr

import (
	"cmp"
	"math"
)

const (
	plusZero  = 0
	minusZero = 0x80000000
	floatOne  = 0x3f800000
	plusInf   = 0x7f800000
)

// Float returns a binary32 constant.
func (g *Graph) Float(x float32) *Node { return g.Const(32, uint64(math.Float32bits(x))) }

// FNeg inverts the sign.
func (g *Graph) FNeg(x *Node) *Node {
	return g.Concat(g.Extract(x, 0, x.Width-1), g.Not(g.Extract(x, x.Width-1, 1)))
}

// FAbs clears the sign.
func (g *Graph) FAbs(x *Node) *Node { return g.Concat(g.Extract(x, 0, x.Width-1), g.Const(1, 0)) }

// FCopySign gives x the sign of y.
func (g *Graph) FCopySign(x, y *Node) *Node {
	return g.Concat(g.Extract(x, 0, x.Width-1), g.Extract(y, y.Width-1, 1))
}

// unsigned returns x without an inversion of the sign, and whether it had one.
func (g *Graph) unsigned(x *Node) (*Node, bool) {
	switch {
	case x.IsConst() && x.Val>>31 == 1:
		return g.Const(32, x.Val&^minusZero), true
	case x.Op == Concat && len(x.Args) == 2 && x.Args[1].Op == Not:
		if y, at := piece(x.Args[0]); at == 0 && y.Width == 32 && g.FNeg(y) == x {
			return y, true
		}
	}
	return x, false
}

// widened returns a binary16 that was widened by a product with 2^112, where an exponent of only
// ones becomes one, as HToF, and other words as they are. It is for arguments of operations, as the
// bits of a NaN differ.
func (g *Graph) widened(x *Node) *Node {
	c := x
	if x.Op == Concat {
		c = x.Args[0]
	}
	if c.Op != Select || c.Args[0].Op != Eq || x.Width != 32 {
		return x
	}
	low := g.Extract(x, 0, 31)
	if low.Op != Select || low.Args[2].Op != Extract || low.Args[2].Args[0].Op != FMul {
		return x
	}
	const scale = 0x77800000 // 2^112
	p := low.Args[2].Args[0]
	n := p.Args[0]
	if n.Is(scale) {
		n = p.Args[1]
	} else if !p.Args[1].Is(scale) {
		return x
	}
	h := g.Concat(g.Extract(n, 13, 15), g.Extract(n, 31, 1))
	switch sign := g.Extract(p, 31, 1); {
	case !g.Extract(n, 0, 13).Is(0) || !g.Extract(n, 28, 3).Is(0):
	case low != g.Select(g.Eq(g.Extract(h, 10, 5), g.Const(5, 0x1f)), g.Concat(g.Extract(p, 0, 23), g.Const(8, 0xff)), g.Extract(p, 0, 31)):
	case g.Extract(x, 31, 1) == sign:
		return g.Unary(HToF, 32, h)
	case g.Extract(x, 31, 1) == g.Not(sign):
		return g.FNeg(g.Unary(HToF, 32, h))
	}
	return x
}

// FAdd returns x+y.
func (g *Graph) FAdd(x, y *Node) *Node {
	x, y = inOrder(g.widened(x), g.widened(y))
	if x.IsConst() && x.Val == minusZero {
		return y
	}
	if y.IsConst() && y.Val == minusZero {
		return x
	}
	switch {
	case x.Is(0) && isNotMinusZero(y):
		return y
	case y.Is(0) && isNotMinusZero(x):
		return x
	}
	if n := g.wholeOf(x, y); n != nil {
		return n
	}
	if n := g.plusZero(x, y); n != nil {
		return n
	}
	for range 2 { // a product that is exact need not be rounded
		if p, neg := g.unsigned(x); p.Op == FMul {
			if isExact(p) {
				a := p.Args[0]
				if neg {
					a = g.FNeg(a)
				}
				return g.FFma(a, p.Args[1], y)
			}
		}
		x, y = y, x
	}
	return g.op(FAdd, 32, 0, x, y)
}

// plusZero returns x·z+0, where z may be a zero of either sign, with a z of +0 there, nil for other
// sums: a product with a zero is one, or NaN, and the sum +0, or NaN.
func (g *Graph) plusZero(x, y *Node) *Node {
	if y.Op != FMul {
		x, y = y, x
	}
	if y.Op != FMul || !x.Is(0) {
		return nil
	}
	a, b := g.unsignedZeros(y.Args[0]), g.unsignedZeros(y.Args[1])
	if a == y.Args[0] && b == y.Args[1] {
		return nil
	}
	return g.FAdd(g.FMul(a, b), x)
}

// unsignedZeros returns x with +0 in the place of a zero whose sign is not known.
func (g *Graph) unsignedZeros(x *Node) *Node {
	switch {
	case x.Op == Select:
		return g.Select(x.Args[0], g.unsignedZeros(x.Args[1]), g.unsignedZeros(x.Args[2]))
	case x.Op == Concat && x.Width == 32 && x.Args[0].Width == 31 && x.Args[0].Is(0):
		return g.Const(32, 0)
	}
	return x
}

// The bits of 2^23 and of 1.5·2^23.
const (
	least  = 0x4b000000
	middle = 0x4b400000
)

// wholeOf returns the integer n, converted, if x and y are -c and c+n, where c is 2^23 or 1.5·2^23
// and integer operations made c+n from n: a float from 2^23 up to 2^24 has the bits of an integer
// plus a constant.
func (g *Graph) wholeOf(x, y *Node) *Node {
	if y.IsConst() {
		x, y = y, x
	}
	if y.IsConst() || !x.IsConst() || x.Val != least|minusZero && x.Val != middle|minusZero {
		return nil
	}
	var above *Node // the bits minus the bits of 2^23
	switch top := y.Args; {
	case y.Op == Sum:
		above = g.Plus(y, -least)
	case y.Op == Concat && top[len(top)-1].IsConst():
		c := top[len(top)-1]
		above = g.Plus(g.Zext(g.Concat(top[:len(top)-1]...), 32), int64(c.Val<<(32-c.Width))-least)
	}
	if above == nil || above.lo < 0 || above.hi >= 1<<23 {
		return nil
	}
	return g.Unary(SToF, 32, g.Plus(above, least-int64(x.Val&^minusZero)))
}

// shiftedFma returns s·y, a whole number up to 2^24, for (c+s)·y-c·y, where wholeOf knows c+s; nil
// for others. Nothing is rounded, and zero is +0: c·y is y or 3·y times a power of two, and both
// have to be at most 2^24.
func (g *Graph) shiftedFma(x, y, z *Node) *Node {
	c, negative := g.unsigned(z)
	if !negative || c.Op != FMul {
		return nil
	}
	for i, factor := range c.Args {
		if factor.IsConst() && c.Args[1-i] == y {
			s, whole := g.wholeOf(g.FNeg(factor), x), g.whole(y)
			if s == nil || whole == nil || factor.Val == middle && 3*max(-whole.lo, whole.hi) > mostWhole {
				return nil
			}
			return g.wholeFma(s, y, g.Const(32, 0))
		}
	}
	return nil
}

// FSub returns x-y.
func (g *Graph) FSub(x, y *Node) *Node { return g.FAdd(x, g.FNeg(y)) }

// FMul returns x·y.
func (g *Graph) FMul(x, y *Node) *Node {
	x, nx := g.unsigned(g.widened(x))
	y, ny := g.unsigned(g.widened(y))
	x, y = inOrder(x, y)
	var n *Node
	switch {
	case x.IsConst() && x.Val == floatOne:
		n = y
	case y.IsConst() && y.Val == floatOne:
		n = x
	default:
		if n = g.exactProduct(x, y); n == nil {
			n = g.op(FMul, 32, 0, x, y)
		}
	}
	if nx != ny {
		return g.FNeg(n)
	}
	return n
}

// FFma returns x·y+z, rounded once.
func (g *Graph) FFma(x, y, z *Node) *Node {
	x, y, z = g.widened(x), g.widened(y), g.widened(z)
	if z.IsConst() && z.Val == minusZero {
		return g.FMul(x, y)
	}
	if n := g.wholeFma(x, y, z); n != nil {
		return n
	}
	if n := cmp.Or(g.shiftedFma(x, y, z), g.shiftedFma(y, x, z)); n != nil {
		return n
	}
	if z.IsConst() && z.Val == 0 && (isWhole(x) || isWhole(y)) {
		// A product by 0 or by at least 1 does not become 0 by rounding. FAdd fuses exact ones.
		p := g.FMul(x, y)
		if u, _ := g.unsigned(p); !isExact(u) {
			return g.FAdd(p, z)
		}
	}
	x, nx := g.unsigned(x)
	y, ny := g.unsigned(y)
	x, y = inOrder(x, y)
	if x.Is(0) && y.Is(0) {
		if nx != ny {
			x = g.FNeg(x)
		}
		return g.FAdd(x, z)
	}
	if x.IsConst() && x.Val == floatOne {
		x, y = y, x
	}
	if y.IsConst() && y.Val == floatOne {
		if nx != ny {
			x = g.FNeg(x)
		}
		return g.FAdd(x, z)
	}
	if p := g.exactProduct(x, y); p != nil && p.Op == FMul {
		x, y = p.Args[0], p.Args[1]
	} else if p == nil {
		x, y = g.scaled(x, y)
	}
	if nx != ny {
		x = g.FNeg(x)
	}
	if n := g.fusedOther(x, y, z); n != nil {
		return n
	}
	return g.op(FFma, 32, 0, x, y, z)
}

// isNotMinusZero reports whether x is known not to be -0. A sum is -0 only if both terms are: it is
// exact when it is below the normal numbers, and +0 when the terms cancel. A sum of squares from +0
// on has no term below zero.
func isNotMinusZero(x *Node) bool {
	if x.Op == FAdd {
		return isNotMinusZero(x.Args[0]) || isNotMinusZero(x.Args[1])
	}
	for x.Op == FFma && x.Args[0] == x.Args[1] {
		x = x.Args[2]
	}
	return x.Is(0)
}

func isWhole(x *Node) bool { return x.Op == SToF || x.Op == UToF }

// fusedOther returns x·y+z with a z that is an exact product, and so is x·y, fused the other way
// round, if that is the order in which products are fused.
func (g *Graph) fusedOther(x, y, z *Node) *Node {
	q, negQ := g.unsigned(z)
	if q.Op != FMul {
		return nil
	}
	if !isExact(q) {
		return nil
	}
	p := g.FMul(x, y)
	u, _ := g.unsigned(p)
	if u.Op != FMul || !before(q, u) {
		return nil
	}
	if !isExact(u) {
		return nil
	}
	a := q.Args[0]
	if negQ {
		a = g.FNeg(a)
	}
	return g.op(FFma, 32, 0, a, q.Args[1], p)
}

// FDiv returns x/y.
func (g *Graph) FDiv(x, y *Node) *Node {
	x, nx := g.unsigned(x)
	y, ny := g.unsigned(y)
	n := x
	if !y.Is(floatOne) {
		n = g.op(FDiv, 32, 0, x, y)
	}
	if nx != ny {
		return g.FNeg(n)
	}
	return n
}

// FSqrt returns the root.
func (g *Graph) FSqrt(x *Node) *Node { return g.op(FSqrt, 32, 0, x) }

// FLt, FLe and FEq compare; a NaN makes them false.
func (g *Graph) FLt(x, y *Node) *Node {
	if x == y || isMaximumOf(x, y) {
		return g.Bool(false)
	}
	if x.IsConst() && x.Val == minusZero {
		x = g.Const(32, 0)
	}
	if y.IsConst() && y.Val == minusZero {
		y = g.Const(32, 0)
	}
	a, na := g.unsigned(x)
	b, nb := g.unsigned(y)
	if na && nb || na && y.IsConst() && !x.IsConst() || nb && x.IsConst() && !y.IsConst() {
		if na && nb {
			return g.FLt(b, a)
		}
		return g.FLt(g.FNeg(y), g.FNeg(x))
	}
	if x.lo >= 0 && y.lo >= 0 && y.hi <= plusInf && !y.IsConst() {
		return g.Lt(x, y) // bits are in the order of the numbers, and a NaN's are the largest
	}
	return g.op(FLt, 1, 0, x, y)
}

// isMaximumOf tells whether m is a running maximum, m = x > m' ? x : m', that y has been an x of.
// Then m is never below y: by induction m' is not, and an x above m' is above all that m' is not
// below. A NaN as y is not below anything, and one as m stays.
func isMaximumOf(m, y *Node) bool {
	for m.Op == Select {
		c, x, rest := m.Args[0], m.Args[1], m.Args[2]
		if c.Op != FLt || c.Args[0] != rest || c.Args[1] != x {
			return false
		}
		if x == y {
			return true
		}
		m = rest
	}
	return false
}

func (g *Graph) FLe(x, y *Node) *Node {
	if x == y {
		return g.op(FEq, 1, 0, x, x)
	}
	a, na := g.unsigned(x)
	b, nb := g.unsigned(y)
	if na && nb {
		return g.FLe(b, a)
	}
	return g.op(FLe, 1, 0, x, y)
}

func (g *Graph) FEq(x, y *Node) *Node {
	if x == y && x.Width == 32 && x.lo >= 0 && x.hi <= plusInf {
		return g.Bool(true)
	}
	if a, b := g.single(x), g.single(y); a != nil && b != nil {
		x, y = a, b
	}
	x, y = inOrder(x, y)
	if x == y { // whether x is no NaN; the sign does not matter
		if x.Op == Concat {
			if z, at := piece(x.Args[0]); at == 0 && z.Width == 32 && x.Args[0].Width == 31 {
				return g.FEq(z, z)
			}
		}
	}
	return g.current(g.op(FEq, 1, 0, x, y))
}

// single is the binary32 that a binary64 comes from, or x, or nil.
func (g *Graph) single(x *Node) *Node {
	switch {
	case x.Width == 32:
		return x
	case x.Op == Widen:
		return x.Args[0]
	case x.IsConst() && x.Val == 0:
		return g.Const(32, 0)
	}
	return nil
}

// Add64, Mul64 and Fma64 compute in binary64. There the product of two binary32 is exact, so that
// it may be fused with a sum or not.
func (g *Graph) Add64(x, y *Node) *Node {
	x, y = inOrder(x, y)
	return g.op(Add64, 64, 0, x, y)
}

func (g *Graph) Sub64(x, y *Node) *Node { return g.Add64(x, g.FNeg(y)) }

func (g *Graph) Mul64(x, y *Node) *Node {
	x, y = inOrder(x, y)
	return g.op(Mul64, 64, 0, x, y)
}

func (g *Graph) Fma64(x, y, z *Node) *Node {
	if g.single(x) != nil && g.single(y) != nil {
		return g.Add64(g.Mul64(x, y), z)
	}
	x, y = inOrder(x, y)
	return g.op(Fma64, 64, 0, x, y, z)
}

func (g *Graph) Div64(x, y *Node) *Node { return g.op(Div64, 64, 0, x, y) }

// IsNaN tells whether x is a NaN.
func (g *Graph) IsNaN(x *Node) *Node { return g.Not(g.FEq(x, x)) }

// FMaxX86 and FMinX86 are MAXPS and MINPS of x86: y unless x is larger, or smaller.
func (g *Graph) FMaxX86(x, y *Node) *Node { return g.Select(g.FLt(y, x), x, y) }
func (g *Graph) FMinX86(x, y *Node) *Node { return g.Select(g.FLt(x, y), x, y) }

// FMax and FMin are maximum and minimum of IEEE 754-2019, which Go and Arm have. The order of
// several operands does not matter: a NaN makes a NaN, and +0 is above -0.
func (g *Graph) FMax(x, y *Node) *Node { return g.current(g.chain(FMax, x, y)) }
func (g *Graph) FMin(x, y *Node) *Node { return g.current(g.chain(FMin, x, y)) }

// SMax is the larger one of two signed numbers of 32 bits. With their signs turned over, they have
// the order of unsigned ones, so that the order of several operands does not matter.
func (g *Graph) SMax(x, y *Node) *Node {
	if x.lo >= 0 && y.lo >= 0 {
		return g.Select(g.Lt(x, y), y, x)
	}
	return g.FNeg(g.chain(UMax, g.FNeg(x), g.FNeg(y)))
}

// Unary returns an operation of one argument, w bits wide.
func (g *Graph) Unary(op Op, w int, x *Node) *Node {
	switch op {
	case Sqrt64: // a root taken in binary64 and rounded is the correctly rounded root: 53 ≥ 2·24+2
		if x.Op == Widen {
			return g.Unary(Widen, 64, g.FSqrt(x.Args[0]))
		}
	case Narrow64:
		if x.Op == Widen {
			return x.Args[0]
		}
	case SToF:
		if x.lo >= 0 && x.Width == 32 {
			op = UToF
		}
	}
	return g.current(g.op(op, w, 0, x))
}

// FScale returns x·2^floor(y).
func (g *Graph) FScale(x, y *Node) *Node { return g.op(FScale, 32, 0, x, y) }
