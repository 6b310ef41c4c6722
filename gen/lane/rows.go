package lane

import "github.com/attn-go/attn/gen/spec"

// rows are the functions over rows, most of them with sums of float64.
var rows = []Kernel{
	{Function: spec.Largest, Lanes: "max", Vectors: 1, Body: func(b *Builder) {
		x, top := b.Across("x", "ld"), b.Var(b.Const(spec.MinusInf))
		b.EachRow("d", func() { b.Set(top, b.AtLeast(top, b.Load(x))) })
		b.Store(b.Slice("max"), top)
	}},
	{Function: spec.RowSums, Lanes: "sums", Vectors: 2, Body: rowSums(func(b *Builder, sum *Value) *Value {
		return b.Add(sum, b.Widen(b.Load(b.Across("x", "ld"))))
	})},
	// With 512 bits calls of few rows would take twice as long, others a tenth less.
	{Function: spec.RowDots, Lanes: "sums", Vectors: 2, Narrow: true, Body: rowSums(func(b *Builder, sum *Value) *Value {
		x, y := b.Widen(b.Load(b.Across("x", "ld"))), b.Widen(b.Load(b.Across("y", "ld")))
		return b.addExact(sum, x, y)
	})},
	{Function: spec.DotsWith, Lanes: "sums", Vectors: 2, Body: func(b *Builder) {
		x, y, sum := b.Across("x", "ld"), b.Slice("y"), b.double0()
		b.EachRow("d", func() { b.Set(sum, b.MulAdd(b.Widen(b.Load(x)), b.Widen(b.Spread(y)), sum)) })
		b.Store(b.DoubleSlice("sums"), sum)
	}},
	{Function: spec.AddScaled, Lanes: "sums", Vectors: 2, Body: addScaled},
	{Function: spec.Powers, Number: "d", Vectors: 2, Body: powers},
	{Function: spec.Quotients, Number: "d", Vectors: 2, Body: quotients},
	{Function: spec.SoftmaxGradients, Number: "d", Vectors: 2, Body: softmaxGradients},
	{Function: spec.Squares, Lanes: "sums", Chains: 8, Body: squares},
	{Function: spec.NormTerms, Lanes: "sums", Chains: 8, Body: normTerms},
	{Function: spec.NormGradients, Lanes: "weight", Vectors: 2, Body: normGradients},
}

// rowSums adds up the columns of rows, one by one.
func rowSums(add func(b *Builder, sum *Value) *Value) func(b *Builder) {
	return func(b *Builder) {
		sum := b.double0()
		b.EachRow("d", func() { b.Set(sum, add(b, sum)) })
		b.Store(b.DoubleSlice("sums"), sum)
	}
}

// addExact is sum + x·y for widened numbers. The product is exact, so a MulAdd has the same bits,
// but here the sum waits for an addition alone.
func (b *Builder) addExact(sum, x, y *Value) *Value { return b.Add(sum, b.Mul(x, y)) }

// double0 is a variable of float64, at first 0.
func (b *Builder) double0() *Value {
	v := b.Var(b.Const(0))
	v.Double, b.Doubles = true, true
	return v
}

func addScaled(b *Builder) {
	sums, x, w := b.DoubleSlice("sums"), b.Matrix("x", "ldx"), b.Matrix("weights", "ldw")
	sum := b.Var(b.Load(sums))
	b.EachRow("n", func() {
		weight := b.Widen(b.Spread(w))
		b.Set(sum, b.Select(Equal, weight, b.Const(0), sum, b.MulAdd(b.Widen(b.Load(x)), weight, sum)))
	})
	b.Store(sums, sum)
}

func powers(b *Builder) {
	dst, src, top := b.Matrix("dst", "ld"), b.Matrix("src", "ld"), b.Slice("top")
	b.EachRow("n", func() {
		x := b.Mul(b.Sub(b.Load(src), b.Spread(top)), b.Const(spec.Log2E))
		b.Store(dst, b.Exp2(x, spec.Minus126))
	})
}

// quotients divides by multiplication with the inverse, and adds the product of the remainder with
// that (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990). The sum before it is rounded is within 3.1·2^-53 units in its last place of the quotient.
// So both become the same float64, or neighbours, and these the same float32: TestQuotients tries
// all quotients so close to the middle of two float64 of which one is in the middle of two float32.
func quotients(b *Builder) {
	x, sums, inverses := b.Matrix("x", "ld"), b.DoubleSlice("sums"), b.DoubleSlice("inverses")
	b.EachRow("n", func() {
		sum, inverse, p := b.Spread(sums), b.Spread(inverses), b.Widen(b.Load(x))
		q := b.Mul(p, inverse)
		b.Store(x, b.Narrow(b.MulAdd(b.NegMulAdd(q, sum, p), inverse, q)))
	})
}

// softmaxGradients is 0 where y is, chosen while the numbers are float64: y is loaded once, to be
// widened.
func softmaxGradients(b *Builder) {
	dx, dy, y, sums := b.Matrix("dx", "ld"), b.Matrix("dy", "ld"), b.Matrix("y", "ld"), b.DoubleSlice("sums")
	b.EachRow("n", func() {
		for _, s := range []*Stream{dx, dy, y} {
			b.Soon(s)
		}
		p := b.Widen(b.Load(y))
		x := b.Mul(b.Sub(b.Widen(b.Load(dy)), b.Spread(sums)), p)
		b.Store(dx, b.Narrow(b.ZeroWhere(x, Equal, p, b.Const(0))))
	})
}

func squares(b *Builder) {
	dst, src, sums := b.Chained("dst", "ldd"), b.Chained("src", "lds"), b.DoubleSlice("sums")
	center, rest, sum := b.Same("centers"), b.Same("rests"), b.Var(b.Load(sums))
	b.EachRow("n", func() {
		b.Soon(src)
		y := b.Sub(b.Sub(b.Load(src), center), rest)
		b.Store(dst, y)
		wide := b.Widen(y)
		b.Set(sum, b.addExact(sum, wide, wide))
	})
	b.Store(sums, sum)
}

// normTerms adds its exact products by FMA: on Zen 5 additions share units with conversions, and
// two rows side by side hide the latency.
func normTerms(b *Builder) {
	y, dy, weight := b.Chained("y", "ldy"), b.Chained("dy", "ldd"), b.Chained("weight", "")
	sums, dots := b.DoubleSlice("sums"), b.DoubleSlice("dots")
	inv, sum, dot := b.Same("invs"), b.Var(b.Load(sums)), b.Var(b.Load(dots))
	b.EachRow("n", func() {
		b.Soon(dy)
		g := b.Widen(b.Mul(b.Load(weight), b.Load(dy)))
		b.Set(sum, b.Add(sum, g))
		b.Set(dot, b.MulAdd(g, b.Widen(b.Mul(b.Load(y), inv)), dot))
	})
	b.Store(sums, sum)
	b.Store(dots, dot)
}

// normGradients keeps the sums of some columns in registers, as addRows.
func normGradients(b *Builder) {
	dx, dy, y := b.Matrix("dx", "ldx"), b.Matrix("dy", "ldd"), b.Matrix("y", "ldy")
	sums := [2]*Stream{b.Slice("dWeight"), b.Slice("dBias")}
	weight, dWeight, dBias := b.Load(b.Slice("weight")), b.Var(b.Load(sums[0])), b.Var(b.Load(sums[1]))
	b.EachRow("n", func() {
		inv, d := b.Spread(b.Slice("invs")), b.Load(dy)
		z := b.Mul(b.Load(y), inv)
		b.Set(dBias, b.Add(dBias, d))
		b.Set(dWeight, b.Add(dWeight, b.Mul(z, d)))
		x := b.Sub(b.Mul(weight, d), b.Spread(b.Slice("centers")))
		x = b.Sub(x, b.Mul(z, b.Spread(b.Slice("slopes"))))
		b.Soon(dx)
		b.Store(dx, b.Canonical(b.Mul(x, inv)))
	})
	b.Store(sums[0], b.Canonical(dWeight))
	b.Store(sums[1], b.Canonical(dBias))
}
