package lane

import "github.com/attn-go/attn/gen/spec"

// gathered are kernels that other instruction sets write by themselves: most have lanes with rows
// anywhere in memory, or random numbers of their own.
var gathered = []Kernel{
	{Function: spec.Bias, Lanes: "max", Gathers: true, Body: scoreRows(func(b *Builder) Function {
		src, off := b.Slice("src"), b.ShiftLeft(b.Load(b.DoubleSlice("off")), 2)
		return func(b *Builder, s *Value) *Value {
			x := b.Gather(src, off)
			limited := b.AtLeast(b.AtMost(x, b.Const(spec.MostBias)), b.Const(spec.MostBias|spec.SignBit))
			y := b.MulAdd(limited, b.Const(spec.Log2E), s)
			return b.Select(Equal, b.Sub(x, x), b.Const(0), y, x)
		}
	})},
	{Function: spec.MaskBool, Lanes: "max", Gathers: true, Body: scoreRows(func(b *Builder) Function {
		keep, off := b.Bools("keep"), b.Load(b.DoubleSlice("off"))
		return func(b *Builder, s *Value) *Value {
			x := b.Xor(b.Gather(keep, off), b.Param("hidden"))
			return b.Select(LessUint, x, b.Const(1), b.Const(spec.MinusInf), s)
		}
	})},
	{Function: spec.Pack, Lanes: "off", Gathers: true, Body: func(b *Builder) {
		dst, src, off := b.Matrix("dst", "ld"), b.Slice("src"), b.ShiftLeft(b.Load(b.DoubleSlice("off")), 2)
		b.EachRow("d", func() { b.Store(dst, b.Mul(b.Gather(src, off), b.Param("scale"))) })
	}},
	{Function: spec.Dropout, Lanes: "pos", Gathers: true, Body: dropout},
	{Function: spec.SkinnyMerge, Number: "dv", Gathers: true, Body: func(b *Builder) {
		o, part, alpha, beta := b.Matrix("o", "ldo"), b.Matrix("part", "ldp"), b.Slice("alpha"), b.Slice("beta")
		b.EachRow("n", func() {
			x := b.Mul(b.Load(o), b.Spread(alpha))
			b.Store(o, b.MulAdd(b.Load(part), b.Spread(beta), x))
		})
	}},
	{Function: spec.WeightPack, Number: "n", Gathers: true, Body: func(b *Builder) {
		dst, src := b.Matrix("dst", "ld"), b.Across("src", "lds")
		b.EachRow("d", func() { b.Store(dst, b.Load(src)) })
	}},
}

// dropout evaluates Philox for each row, although an evaluation has the numbers of four.
func dropout(b *Builder) {
	s, head, pos := b.Matrix("s", "ld"), b.Load(b.Slice("head")), b.Load(b.Slice("pos"))
	m0, m1 := b.Const(spec.PhiloxM0), b.Const(spec.PhiloxM1)
	b.EachRow("n", func() {
		j := b.Counter("j0")
		c := [4]*Value{nil, head, pos, b.ShiftRight(j, 2)}
		high, low := b.MulHigh(b.Param("sequence"), m0), b.MulInt(b.Param("sequence"), m0)
		for r := range spec.PhiloxRounds {
			if r > 0 {
				high, low = b.MulHigh(c[0], m0), b.MulInt(c[0], m0)
			}
			first := b.Xor(b.Xor(b.MulHigh(c[2], m1), c[1]), b.Element("keys", 2*r))
			c = [4]*Value{first, b.MulInt(c[2], m1), b.Xor(b.Xor(high, c[3]), b.Element("keys", 2*r+1)), low}
		}
		word, at := c[3], b.And(j, b.Const(3))
		for i := 2; i >= 0; i-- {
			word = b.Select(LessUint, at, b.Const(uint32(i+1)), c[i], word)
		}
		x := b.Mul(b.Load(s), b.Param("scale"))
		b.Store(s, b.Select(LessUint, word, b.Param("threshold"), b.Const(0), x))
	})
}
