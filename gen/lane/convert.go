package lane

import "github.com/attn-go/attn/gen/spec"

// Rounded is the function that rounds to a type. A number is in the lowest bits of a lane, below
// copies of its sign, and a BF16 number in the highest. A number for F16 stays float32, with the
// NaN of the contract, where there is a conversion.
func Rounded(to spec.Element) Function {
	return func(b *Builder, x *Value) *Value {
		switch {
		case to == spec.BF16:
			return b.roundBF16(x)
		case to == spec.F16 && b.Halves:
			return b.replaceNaN(x, spec.NaN)
		}
		return b.round(x, to.NarrowFloat(), uint32(8<<to.Shift()-1))
	}
}

// replaceNaN is x, but a number, or the NaN of the contract, for a NaN.
func (b *Builder) replaceNaN(x *Value, by uint32) *Value {
	return b.Select(Unordered, x, x, b.Const(by), x)
}

// roundBF16 adds half of the last place that is kept, less the smallest bit unless that
// place holds a one: so a tie rounds to even.
func (b *Builder) roundBF16(x *Value) *Value {
	x = b.replaceNaN(x, spec.NaN)
	odd := b.And(b.ShiftRight(x, 16), b.Const(1))
	return b.AddInt(b.AddInt(x, b.Const(0x7fff)), odd)
}

// factorBF16 is x rounded to bfloat16, as float32, and +0 below 2^-56.
func (b *Builder) factorBF16(x *Value) *Value {
	y := b.And(b.roundBF16(x), b.Const(highHalf))
	return b.ZeroWhere(y, Less, b.Abs(y), b.Const(spec.LeastBF16))
}

const highHalf = 0xffff0000

// widenPairs writes both halves of words.
func widenPairs(b *Builder) {
	even, odd, src := b.Matrix("even", "ldd"), b.Matrix("odd", "ldd"), b.Matrix("src", "lds")
	b.EachRow("n", func() {
		x := b.Load(src)
		b.Store(even, b.ShiftLeft(x, 16))
		b.Store(odd, b.And(x, b.Const(highHalf)))
	})
}

// narrowPairs writes the upper halves of two numbers.
func narrowPairs(b *Builder) {
	dst, even, odd := b.Matrix("dst", "ldd"), b.Matrix("even", "lds"), b.Matrix("odd", "lds")
	b.EachRow("n", func() {
		low, high := b.ShiftRight(b.Load(even), 16), b.And(b.Load(odd), b.Const(highHalf))
		b.Store(dst, b.AddInt(low, high))
	})
}

// round adds to the magnitude the power of two that has the result's last place, which
// rounds it: what the sum has more, in integers, is the result in units of its last place, and the
// exponent, counted from the smallest normal number's, is added above the fraction. Smaller
// numbers have the last place of that one.
func (b *Builder) round(x *Value, f spec.NarrowFloat, sign uint32) *Value {
	x = b.AtLeast(b.AtMost(x, b.Const(f.Largest)), b.Const(f.Largest|spec.SignBit))
	x = b.replaceNaN(x, f.NaN)
	a, normal := b.Abs(x), b.Const(f.Normal)
	e := b.AtLeast(b.And(x, b.Const(spec.Exponent&^spec.SignBit)), normal)
	unit := b.AddInt(e, b.Const(uint32(f.Drop)<<23))
	a = b.SubInt(b.Add(a, unit), unit)
	a = b.AddInt(a, b.ShiftRight(b.SubInt(e, normal), uint32(f.Drop)))
	return b.SubInt(a, b.ShiftLeft(b.ShiftRight(x, 31), sign))
}
