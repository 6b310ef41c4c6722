package expr

import (
	"math/rand/v2"
	"testing"
)

// A raw value is what an expression is by definition, computed beside the graph without any of its
// rules.
type raw struct {
	n *Node
	v uint64
}

// numbers are values in which the rules may go wrong.
var numbers = []uint64{0, 1, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x3f800000, 0xbf800000, 0x7fffffff, 0xffffffff, 0x800000, 0x7fffff,
	0x3f000000, 0x4b400000, 0x80, 0xff, 0xff00, 0x477ff000, 2, 3}

// TestRules builds random expressions and compares what their normal forms compute with what the
// operations do one by one. It finds a rule that does not hold for all values.
func TestRules(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		g := New()
		words, bits := leavesOf(g, r)
		leaves := words[:len(words):len(words)]
		for range 12 {
			checkRules(t, leaves, operation(g, r, &words, &bits))
		}
	}
}

// checkRules compares what the normal form of x computes with x by definition, and that with its
// bounds.
func checkRules(t *testing.T, leaves []raw, x raw) {
	t.Helper()
	p, err := Compile(1, nodesOf(leaves), nil, x.n)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves {
		p.Values(l.n)[0] = l.v
	}
	p.Run()
	if got := p.Values(x.n)[0]; got != x.v && !(x.n.Width == 32 && SameFloat(got, x.v)) {
		t.Fatalf("%v is %#x, want %#x", x.n, got, x.v)
	}
	if lo, hi := x.n.Bounds(); signed(x.v, x.n.Width) < lo || signed(x.v, x.n.Width) > hi {
		if !SameFloat(x.v, quiet) {
			t.Fatalf("%v is %#x, beyond its bounds %d and %d", x.n, x.v, lo, hi)
		}
	}
}

// TestWholeNumbers is TestRules with whole numbers of few bits: sums of products with a common
// factor, and FMAs of whole numbers up to the largest ones that are exact. TestRules hardly ever
// makes any.
func TestWholeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 40000 {
		g := New()
		leaves := []raw{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			leaves = append(leaves, raw{g.Sym(32, name), pick(r)})
		}
		x := fmaOfWholes(g, r, leaves)
		switch r.IntN(3) {
		case 0:
			x = withCommonFactor(g, r, leaves)
		case 1:
			x = shiftedFma(g, r, leaves)
		}
		checkRules(t, leaves, x)
	}
}

// whole is the sign extension of some bits of a leaf, or the leaf.
func whole(g *Graph, r *rand.Rand, leaves []raw) raw {
	x, w := leaves[r.IntN(len(leaves))], []int{2, 8, 12, 13, 16, 17, 24, 25, 32}[r.IntN(9)]
	if w == 32 {
		return x
	}
	return raw{g.Sext(g.Extract(x.n, 0, w), 32), uint64(signed(x.v&mask(w), w)) & mask(32)}
}

// withCommonFactor is a sum of products with one factor, and perhaps a multiple of that.
func withCommonFactor(g *Graph, r *rand.Rand, leaves []raw) raw {
	f := whole(g, r, leaves)
	v := uint64(r.IntN(3))
	n := g.Const(32, v)
	for range []int{1, 1, 2, 3, 4, 5, 6}[r.IntN(7)] {
		x, c := whole(g, r, leaves), uint64(r.IntN(9)-4)
		if r.IntN(3) == 0 {
			y := whole(g, r, leaves)
			x = raw{g.Mul(x.n, y.n), x.v * y.v}
		}
		n = g.Add(n, g.Mul(g.Mul(f.n, x.n), g.Const(32, c&mask(32))))
		v += f.v * x.v * c
	}
	if r.IntN(2) == 0 {
		c := uint64(r.IntN(1<<r.IntN(16)) * (1 - 2*r.IntN(2)))
		n = g.Add(n, g.Mul(f.n, g.Const(32, c&mask(32))))
		v += f.v * c
	}
	v &= mask(32)
	if r.IntN(3) == 0 {
		return raw{g.Sext(n, 64), uint64(signed(v, 32))}
	}
	return raw{n, v}
}

// fmaOfWholes is an FMA of converted whole numbers and of constants, and the first is perhaps
// x·y-32·x, which has the bounds of (y-32)·x.
func fmaOfWholes(g *Graph, r *rand.Rand, leaves []raw) raw {
	x, y, z := whole(g, r, leaves), whole(g, r, leaves), whole(g, r, leaves)
	if r.IntN(3) == 0 {
		q := whole(g, r, leaves)
		n := g.Add(g.Mul(x.n, q.n), g.Mul(x.n, g.Const(32, 0xffffffe0)))
		x = raw{n, (x.v*q.v - 32*x.v) & mask(32)}
	}
	converted := func(x raw, constant int) raw {
		if constant == 0 {
			v := bitsOf([]float32{0, 1, -3, 7, 0.5, 0.75, -0x1p63}[r.IntN(7)])
			return raw{g.Const(32, v), v}
		}
		return raw{g.Unary(SToF, 32, x.n), bitsOf(float32(int32(x.v)))}
	}
	x, y, z = converted(x, r.IntN(8)), converted(y, r.IntN(4)), converted(z, r.IntN(4))
	return raw{g.FFma(x.n, y.n, z.n), bitsOf(fma(float(x.v), float(y.v), float(z.v)))}
}

// TestTables is TestRules with words of bytes that are looked up in tables of constants, some of
// which are signed. Tables that differ by an offset give one sum of products, and others do not.
func TestTables(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		g := New()
		leaves := []raw{{g.Sym(32, "a"), pick(r)}, {g.Sym(32, "b"), pick(r)}}
		word := raw{g.Const(32, 0), 0}
		for i := range 4 {
			x := lookedUpByte(g, r, leaves[0], 4*i)
			word = raw{g.Or(word.n, g.ShlBy(g.Zext(x.n, 32), 8*i)), word.v | x.v<<(8*i)}
		}
		checkRules(t, leaves, word)
		at := r.IntN(25)
		part := raw{g.Extract(word.n, at, 8), word.v >> at & 255}
		checkRules(t, leaves, part)
		wide := raw{g.Sext(part.n, 32), uint64(signed(part.v, 8)) & mask(32)}
		checkRules(t, leaves, wide)
		y := whole(g, r, leaves)
		checkRules(t, leaves, raw{g.Mul(wide.n, y.n), wide.v * y.v & mask(32)})
		checkRules(t, leaves, raw{g.Mul(wide.n, wide.n), wide.v * wide.v & mask(32)})
	}
	g := New()
	a, x := g.Sym(4, "a"), g.Sym(32, "x")
	product := func(less, differs uint64) *Node {
		list := make([]*Node, 16)
		for i := range list {
			list[i] = g.Const(32, uint64(7*i)-less)
		}
		list[9] = g.Plus(list[9], int64(differs))
		return g.Add(g.Mul(g.Mux(a, list), x), g.Mul(x, g.Const(32, less)))
	}
	if product(0, 0) != product(128, 0) {
		t.Errorf("%v and %v", product(0, 0), product(128, 0))
	}
	if product(0, 0) == product(128, 1) {
		t.Error("tables that differ by more than an offset")
	}
}

// lookedUpByte is a value of a table that 4 bits of a word choose.
func lookedUpByte(g *Graph, r *rand.Rand, x raw, at int) raw {
	list, v := make([]*Node, 16), uint64(0)
	for i := range list {
		value := r.Uint64N(256)
		list[i] = g.Const(8, value)
		if x.v>>at&15 == uint64(i) {
			v = value
		}
	}
	return raw{g.Mux(g.Extract(x.n, at, 4), list), v}
}

// shiftedFma is (c+s)·y-c·y of whole numbers, where c+s has the bits of c, plus s.
func shiftedFma(g *Graph, r *rand.Rand, leaves []raw) raw {
	c := uint64([]int{0x4b000000, 0x4b400000, 0x4b400001}[r.IntN(3)])
	s, y := whole(g, r, leaves), whole(g, r, leaves)
	x, f := raw{g.Plus(s.n, int64(c)), (s.v + c) & mask(32)}, raw{g.Unary(SToF, 32, y.n), bitsOf(float32(int32(y.v)))}
	z := raw{g.FMul(f.n, g.Const(32, c|1<<31)), bitsOf(-float(c) * float(f.v))}
	return raw{g.FFma(x.n, f.n, z.n), bitsOf(fma(float(x.v), float(f.v), float(z.v)))}
}

func nodesOf(list []raw) (nodes []*Node) {
	for _, x := range list {
		nodes = append(nodes, x.n)
	}
	return nodes
}

func leavesOf(g *Graph, r *rand.Rand) (words, bits []raw) {
	for _, name := range []string{"a", "b", "c"} {
		words = append(words, raw{g.Sym(32, name), pick(r)})
	}
	return words, nil
}

// pick chooses one of numbers, or any word.
func pick(r *rand.Rand) uint64 {
	v := numbers[r.IntN(len(numbers))]
	if r.IntN(3) == 0 {
		v = uint64(r.Uint32())
	}
	return v
}

// operation adds an operation of what is there. A NaN that it makes has the bits of Compute's.
func operation(g *Graph, r *rand.Rand, words, bits *[]raw) raw {
	word := func() raw {
		if r.IntN(5) == 0 {
			v := numbers[r.IntN(len(numbers))]
			return raw{g.Const(32, v), v}
		}
		return (*words)[r.IntN(len(*words))]
	}
	addBit := func(n *Node, v bool) raw {
		x := raw{n, bit(v)}
		*bits = append(*bits, x)
		return x
	}
	add := func(n *Node, v uint64) raw {
		x := raw{n, v & mask(32)}
		// What follows must not depend on the bits of a NaN.
		if v&0x7fffffff <= 0x7f800000 {
			*words = append(*words, x)
		}
		return x
	}
	x, y, z := word(), word(), word()
	k := r.IntN(32)
	switch r.IntN(24) {
	case 0:
		return add(g.Add(x.n, y.n), x.v+y.v)
	case 1:
		return add(g.Sub(x.n, y.n), x.v-y.v)
	case 2:
		return add(g.Mul(x.n, y.n), x.v*y.v)
	case 3:
		return add(g.And(x.n, y.n), x.v&y.v)
	case 4:
		return add(g.Or(x.n, y.n), x.v|y.v)
	case 5:
		return add(g.Xor(x.n, y.n), x.v^y.v)
	case 6:
		return add(g.Not(x.n), ^x.v)
	case 7:
		return add(g.ShlBy(x.n, k), x.v<<k)
	case 8:
		return add(g.ShrBy(x.n, k), x.v>>k)
	case 9:
		return add(g.SarBy(x.n, k), uint64(int64(int32(x.v))>>k))
	case 10:
		return add(g.Sext(g.Extract(x.n, k/4*1, 8), 32), uint64(int64(int8(x.v>>(k/4)))))
	case 11:
		return add(g.Concat(g.Extract(x.n, 0, 16), g.Extract(y.n, 16, 16)), x.v&0xffff|y.v&0xffff0000)
	case 12:
		return addBit(g.Eq(x.n, y.n), x.v == y.v)
	case 13:
		return addBit(g.Lt(x.n, y.n), int32(x.v) < int32(y.v))
	case 14:
		return addBit(g.Ult(x.n, y.n), x.v < y.v)
	case 15:
		return addBit(g.FLt(x.n, y.n), float(x.v) < float(y.v))
	case 16:
		return addBit(g.FLe(x.n, y.n), float(x.v) <= float(y.v))
	case 17:
		return addBit(g.FEq(x.n, y.n), float(x.v) == float(y.v))
	case 18:
		return add(g.FAdd(x.n, y.n), bitsOf(float(x.v)+float(y.v)))
	case 19:
		return add(g.FMul(x.n, y.n), bitsOf(float(x.v)*float(y.v)))
	case 20:
		return add(g.FFma(x.n, y.n, z.n), bitsOf(fma(float(x.v), float(y.v), float(z.v))))
	case 21:
		h := g.Extract(x.n, 0, 16)
		return add(g.Unary(HToF, 32, h), fromHalf(uint16(x.v)))
	}
	return choice(g, r, add, addBit, *bits, x, y)
}

// choice adds an operation of single bits, or a selection by one.
func choice(g *Graph, r *rand.Rand, add func(*Node, uint64) raw, addBit func(*Node, bool) raw, bits []raw, x, y raw) raw {
	if len(bits) == 0 {
		return add(g.FNeg(x.n), x.v^1<<31)
	}
	c, d := bits[r.IntN(len(bits))], bits[r.IntN(len(bits))]
	switch r.IntN(4) {
	case 0:
		return addBit(g.And(c.n, d.n), c.v&d.v == 1)
	case 1:
		return addBit(g.Or(c.n, g.Not(d.n)), c.v == 1 || d.v == 0)
	case 2:
		return addBit(g.Select(c.n, d.n, g.Not(d.n)), c.v == d.v)
	}
	v := y.v
	if c.v == 1 {
		v = x.v
	}
	return add(g.Select(c.n, x.n, y.n), v)
}

// TestWidened: a product with 2^112 whose exponent is set in infinities and NaN is what HToF makes
// of a binary16, for all of them, as an argument of an operation.
func TestWidened(t *testing.T) {
	g := New()
	h := g.Sym(16, "h")
	p := g.FMul(g.Concat(g.Const(13, 0), g.Extract(h, 0, 15), g.Const(3, 0), g.Extract(h, 15, 1)), g.Const(32, 0x77800000))
	wide := g.Select(g.Eq(g.Extract(h, 10, 5), g.Const(5, 0x1f)), g.Concat(g.Extract(p, 0, 23), g.Const(8, 0xff), g.Extract(p, 31, 1)), p)
	for _, x := range []*Node{wide, g.FNeg(wide)} {
		n := g.widened(x)
		if n == x {
			t.Fatalf("%v stays", n)
		}
		q, err := Compile(1<<16, []*Node{h}, nil, n, x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range q.Values(h) {
			q.Values(h)[i] = uint64(i)
		}
		q.Run()
		for i, v := range q.Values(n) {
			if !SameFloat(v, q.Values(x)[i]) {
				t.Fatalf("%#x: %#x and %#x", i, v, q.Values(x)[i])
			}
		}
	}
}

// TestSame: expressions that mean the same in the order of their operands are one node.
func TestSame(t *testing.T) {
	g := New()
	a, b, c := g.Sym(32, "a"), g.Sym(32, "b"), g.Sym(32, "c")
	n, half, zero := g.Unary(SToF, 32, g.Sext(g.Extract(a, 0, 16), 32)), g.Float(0.5), g.Float(0)
	for i, p := range [][2]*Node{
		{g.Add(g.Add(a, b), c), g.Add(c, g.Add(b, a))},
		{g.FAdd(a, b), g.FAdd(b, a)},
		{g.FSub(a, g.FMul(b, c)), g.FAdd(g.FMul(g.FNeg(c), b), a)},
		{g.FFma(g.FNeg(a), b, c), g.FFma(b, g.FNeg(a), c)},
		{g.FFma(n, half, zero), g.FAdd(g.FMul(half, n), zero)},
		{g.FFma(half, g.FNeg(n), zero), g.FAdd(zero, g.FMul(n, g.FNeg(half)))},
		{g.Xor(a, g.Xor(b, c)), g.Xor(c, g.Xor(a, b))},
		{g.Select(g.FLt(a, b), c, a), g.Or(g.And(g.Sext(g.FLt(a, b), 32), c), g.And(g.Not(g.Sext(g.FLt(a, b), 32)), a))},
		{g.ShrBy(g.ShlBy(a, 8), 8), g.And(a, g.Const(32, 0xffffff))},
		{g.Concat(g.Sext(g.FLt(a, b), 8), g.FLt(a, b), g.Sext(g.FLt(a, b), 3)), g.Sext(g.FLt(a, b), 12)},
		{g.Or(g.IsNaN(a), g.IsNaN(g.FAdd(g.FMul(b, a), zero))), g.IsNaN(g.FAdd(g.FMul(b, a), zero))},
		{g.And(g.FEq(a, a), g.FEq(g.FFma(a, b, c), g.FFma(a, b, c))), g.FEq(g.FFma(a, b, c), g.FFma(a, b, c))},
		{g.FAbs(a), g.And(a, g.Const(32, 0x7fffffff))},
	} {
		if p[0] != p[1] {
			t.Errorf("%d: %v and %v", i, p[0], p[1])
		}
	}
	if g.FFma(a, b, c) == g.FAdd(g.FMul(a, b), c) {
		t.Error("an fma is a product and a sum")
	}
}

// TestPadded: zeros that pad a sum from +0 on, or a sum of squares, leave it. A sum of products may
// be -0.
func TestPadded(t *testing.T) {
	g := New()
	x, y, zero := g.Sym(32, "x"), g.Sym(32, "y"), g.Const(32, 0)
	for _, c := range []struct {
		sum    *Node
		leaves bool
	}{
		{g.FFma(y, y, g.FFma(x, x, zero)), true},
		{g.FFma(x, y, g.FFma(x, x, zero)), false},
		{g.FFma(y, y, g.FAdd(x, zero)), false},
		{g.FFma(x, x, y), false},
		{g.FAdd(y, g.FAdd(x, zero)), true},
		{g.FAdd(g.FMul(x, y), g.FFma(x, x, zero)), true},
		{g.FAdd(x, y), false},
		{g.FAdd(x, g.FMul(y, zero)), false},
	} {
		for _, padded := range []*Node{g.FAdd(c.sum, zero), g.FAdd(zero, c.sum), g.FFma(zero, zero, c.sum)} {
			if (padded == c.sum) != c.leaves {
				t.Errorf("%v becomes %v", c.sum, padded)
			}
		}
	}
}

// TestPaddedValues compares sums with zeros among their terms with what the operations do. Most
// numbers are zeros of both signs and subnormals.
func TestPaddedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 40000 {
		g := New()
		var leaves []raw
		for _, name := range []string{"a", "b", "c", "d"} {
			v := pick(r)
			if r.IntN(2) == 0 {
				v = uint64(r.IntN(2)<<31 | r.IntN(3))
			}
			leaves = append(leaves, raw{g.Sym(32, name), v})
		}
		zero := raw{g.Const(32, 0), 0}
		term := func() raw { return append(leaves, zero)[r.IntN(len(leaves)+1)] }
		x := term()
		for range 6 {
			y, z := term(), term()
			switch r.IntN(4) {
			case 0:
				x = raw{g.FFma(y.n, y.n, x.n), bitsOf(fma(float(y.v), float(y.v), float(x.v)))}
			case 1:
				x = raw{g.FFma(y.n, z.n, x.n), bitsOf(fma(float(y.v), float(z.v), float(x.v)))}
			case 2:
				x = raw{g.FAdd(x.n, y.n), bitsOf(float(x.v) + float(y.v))}
			case 3:
				x = raw{g.FAdd(zero.n, x.n), bitsOf(0 + float(x.v))}
			}
		}
		checkRules(t, leaves, x)
	}
}

// TestScale: an infinite power of two makes of a quiet NaN what it makes of 1, as VSCALEFPS has it.
func TestScale(t *testing.T) {
	const nan, signaling, inf, less = 0x7fc00000, 0x7f800001, 0x7f800000, 0xff800000
	for _, c := range [][3]uint64{{nan, inf, inf}, {nan | 1<<31, less, 0}, {nan, 0, nan}, {signaling, inf, nan}, {nan, nan, nan},
		{0, inf, nan}, {inf, less, nan}, {1 << 31, less, 1 << 31}, {0x3f800000, 0x3fc00000, 0x40000000}} {
		g := New()
		if got := g.FScale(g.Const(32, c[0]), g.Const(32, c[1])); got.Op != Const || got.Val != c[2] {
			t.Errorf("%#x by %#x: %v, want %#x", c[0], c[1], got, c[2])
		}
	}
}
