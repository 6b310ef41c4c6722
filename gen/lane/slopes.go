package lane

import (
	"math"

	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/scalar"
)

// The activations with their slopes. Package fallback has the formulas.

// number is a float32.
func (b *Builder) number(x float32) *Value { return b.Const(math.Float32bits(x)) }

// sloped is a function and its slope, given that for x and the result of the function.
func sloped(f spec.Function, of Function, slope func(b *Builder, x, y *Value) *Value) Kernel {
	return Kernel{Function: f, Lanes: "f", Body: func(b *Builder) {
		x := b.Load(b.Slice("src"))
		y := of(b, x)
		k := slope(b, x, y)
		step := b.ZeroWhere(b.Const(spec.One), Less, x, b.Const(0))
		b.Store(b.Slice("f"), y)
		b.Store(b.Slice("slope"), b.Select(Less, b.number(scalar.Steep), b.Abs(x), step, k))
	}}
}

// ratio is y/x, and 1/2 where x is 0.
func (b *Builder) ratio(y, x *Value) *Value {
	return b.Select(Equal, x, b.Const(0), b.number(0.5), b.Div(y, x))
}

// rest is s·(1-z), s = y/x.
func (b *Builder) rest(x, y, z *Value) *Value {
	return b.Mul(b.ratio(y, x), b.Sub(b.Const(spec.One), z))
}

// negative is -x.
func (b *Builder) negative(x *Value) *Value { return b.Sub(b.Const(spec.SignBit), x) }

func siluSlope(b *Builder, x, y *Value) *Value { return b.rest(x, y, anySiLU(b, b.negative(x))) }

// visibleSquare is x², or 2^-60 if that is smaller: sums with numbers near 1 are the same.
func (b *Builder) visibleSquare(x *Value) *Value {
	if b.Skips {
		x = b.AtLeast(b.Abs(x), b.number(0x1p-30))
	}
	return b.Mul(x, x)
}

func geluSlope(b *Builder, x, y *Value) *Value {
	power := b.Exp2(b.Mul(b.visibleSquare(x), b.number(-math.Log2E/2)), spec.Minus126)
	return b.Add(b.ratio(y, x), b.Mul(x, b.Mul(power, b.number(scalar.InvRootTwoPi))))
}

func geluTanhSlope(b *Builder, x, y *Value) *Value {
	u := b.Add(b.Mul(b.visibleSquare(x), b.number(scalar.TanhSlope1)), b.number(scalar.TanhSlope0))
	return b.rest(x, y, b.Mul(anyGELUTanh(b, b.negative(x)), u))
}
