package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A normCase is a call of RMSNorm or LayerNorm.
type normCase struct {
	layer        bool
	n, d         int
	gapIn, gap   int // between rows of src and dst
	inPlace      bool
	eps          float32
	values       testutil.Kind
	weightValues testutil.Kind
}

func (c normCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d in place=%v eps=%v of %v by %v", c.n, c.d, c.gapIn, c.gap, c.inPlace, c.eps, c.values, c.weightValues)
}

func normCases(layer bool) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for _, d := range append(upTo(130)[1:], 191, 192, 193, 384) {
				i := len(list)
				list = append(list, normCase{layer, i % 4, d, i % 2 * 3, i % 3, i%5 == 4, []float32{1e-5, 0, 1}[i%3], v, testutil.KindOf(i)})
			}
		}
		return list
	}
}

// call copies the result as integers, as NaNs are specified to the bit here.
func (c normCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d+c.gapIn, c.d+c.gap
	src := a.Matrix("src", c.n, c.d, lds, testutil.Canary)
	c.values.Fill(r, src, c.n, c.d, lds)
	dst := src
	if c.inPlace {
		ldd = lds
	} else {
		dst = a.Matrix("dst", c.n, c.d, ldd, testutil.Canary)
	}
	a.Slots[len(a.Slots)-1].Exact = true
	weight, bias := a.Vector("weight", c.d, 0), a.Vector("bias", c.d, 0)
	c.weightValues.Fill(r, weight, 1, c.d, c.d)
	c.weightValues.Fill(r, bias, 1, c.d, c.d)
	return func(p *kernelSet) {
		if c.layer {
			p.Norms.LayerNorm(dst, ldd, src, lds, c.n, weight, bias, float32(c.d), c.eps)
		} else {
			p.Norms.RMSNorm(dst, ldd, src, lds, c.n, weight, float32(c.d), c.eps)
		}
	}
}

// A meansCase is a call of Means.
type meansCase struct{ normCase }

func meansCases(w int) (list []kernelCase) {
	for _, c := range normCases(true)(w) {
		list = append(list, meansCase{c.(normCase)})
	}
	return list
}

func (c meansCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ld := c.d + c.gapIn
	means, x, centers := a.Vector("means", c.n, testutil.Canary), a.Matrix("x", c.n, c.d, ld, testutil.Canary), a.Vector("centers", c.n, 0)
	c.values.Fill(r, x, c.n, c.d, ld)
	c.weightValues.Fill(r, centers, 1, c.n, c.n)
	return func(p *kernelSet) { p.Norms.Means(means, x, ld, c.n, c.d, centers, float32(c.d)) }
}

// An addCase is a call of Add.
type addCase struct {
	n, inPlace int // dst is a slice of its own, x, or y
	values     testutil.Kind
}

func (c addCase) String() string {
	return fmt.Sprintf("n=%d dst=%s of %v", c.n, [...]string{"dst", "x", "y"}[c.inPlace], c.values)
}

func addCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, n := range upTo(3*16+1, 63, 64, 65, 1000) {
			for inPlace := range 3 {
				list = append(list, addCase{n, inPlace, v})
			}
		}
	}
	return list
}

func (c addCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	x, y := a.Vector("x", c.n, 0), a.Vector("y", c.n, 0)
	c.values.Fill(r, x, 1, c.n, c.n)
	c.values.Fill(r, y, 1, c.n, c.n)
	dst := a.Vector("dst", c.n, testutil.Canary)
	at := 2
	switch c.inPlace {
	case 1:
		dst, at = x, 0
	case 2:
		dst, at = y, 1
	}
	a.Slots[at].Exact = true
	return func(p *kernelSet) {
		p.Elementwise.Add(dst, x, y)
	}
}

// normRows returns RMSNorm with a function that changes its result.
func normRows(row func(y, x, weight []float32, size, eps float32)) func(p *kernelSet) {
	return func(p *kernelSet) {
		p.Norms.RMSNorm = func(dst []float32, ldd int, src []float32, lds, n int, weight []float32, size, eps float32) {
			for i := range n {
				x := append([]float32(nil), src[i*lds:][:len(weight)]...)
				row(dst[i*ldd:][:len(weight)], x, weight, size, eps)
			}
		}
	}
}

// chainsOf64 is the sum over a row of a norm.
func chainsOf64(x []float32, add func(x, acc float32) float32) float32 {
	var acc [64]float32
	for e, v := range x {
		acc[e%64] = add(v, acc[e%64])
	}
	for n := 32; n >= 1; n /= 2 {
		for r := range n {
			acc[r] += acc[r+n]
		}
	}
	return acc[0]
}

var normMutants = []mutant{
	{"Norms.RMSNorm", "one chain", normRows(func(y, x, weight []float32, size, eps float32) {
		sum := float32(0)
		for _, v := range x {
			sum = scalar.FMA(v, v, sum)
		}
		inv := 1 / float32(math.Sqrt(float64(sum/size+eps)))
		for i, v := range x {
			y[i] = float32(float32(v*inv) * weight[i])
		}
	})},
	{"Norms.RMSNorm", "NaNs keep their bits", normRows(func(y, x, weight []float32, size, eps float32) {
		ref.Norms.RMSNorm(y, 0, x, 0, 1, weight, size, eps)
		for i, v := range y {
			if v != v {
				y[i] = math.Float32frombits(0xffc00000)
			}
		}
	})},
	{"Norms.RMSNorm", "the weight comes first", normRows(func(y, x, weight []float32, size, eps float32) {
		ones := testutil.Filled(len(x), 1)
		ref.Norms.RMSNorm(y, 0, x, 0, 1, ones, size, eps)
		for i := range y {
			inv := float32(0)
			if x[i] != 0 {
				inv = y[i] / x[i]
			}
			y[i] = float32(float32(x[i]*weight[i]) * inv)
		}
	})},
	{"Norms.LayerNorm", "the variance is that of the mean square", func(p *kernelSet) {
		p.Norms.LayerNorm = func(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32) {
			for i := range n {
				x, sum, squares := src[i*lds:][:len(weight)], float32(0), float32(0)
				for _, v := range x {
					sum += v
					squares = scalar.FMA(v, v, squares)
				}
				mean := sum / size
				inv := 1 / float32(math.Sqrt(float64(squares/size-float32(mean*mean)+eps)))
				for e, v := range x {
					dst[i*ldd+e] = scalar.FMA(float32((v-mean)*inv), weight[e], bias[e])
				}
			}
		}
	}},
	{"Norms.LayerNorm", "the mean is subtracted once", func(p *kernelSet) {
		p.Norms.LayerNorm = func(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32) {
			for i := range n {
				x, y := src[i*lds:][:len(weight)], make([]float32, len(weight))
				mean := chainsOf64(x, func(x, acc float32) float32 { return acc + x }) / size
				for e, v := range x {
					y[e] = v - mean
				}
				inv := 1 / float32(math.Sqrt(float64(chainsOf64(y, func(x, acc float32) float32 { return scalar.FMA(x, x, acc) })/size+eps)))
				for e, v := range y {
					dst[i*ldd+e] = scalar.FMA(float32(v*inv), weight[e], bias[e])
				}
			}
		}
	}},
	{"Norms.Means", "the center is subtracted from the sum", func(p *kernelSet) {
		p.Norms.Means = func(means, x []float32, ld, n, d int, centers []float32, size float32) {
			ref.Norms.Means(means, x, ld, n, d, make([]float32, n), size)
			for i := range n {
				means[i] -= centers[i]
			}
		}
	}},
	{"Norms.LayerNorm", "the bias is added to a rounded product", func(p *kernelSet) {
		norm := p.Norms.LayerNorm
		p.Norms.LayerNorm = func(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32) {
			norm(dst, ldd, src, lds, n, weight, testutil.Filled(len(bias), float32(math.Copysign(0, -1))), size, eps)
			for i := range n {
				for e, b := range bias {
					dst[i*ldd+e] += b
				}
			}
		}
	}},
	{"Elementwise.Add", "-0 becomes +0", func(p *kernelSet) {
		add := p.Elementwise.Add
		p.Elementwise.Add = func(dst, x, y []float32) {
			add(dst, x, y)
			for i := range dst {
				dst[i] += 0
			}
		}
	}},
	{"Elementwise.Add", "NaNs keep their bits", func(p *kernelSet) {
		p.Elementwise.Add = func(dst, x, y []float32) {
			for i := range dst {
				dst[i] = x[i] + y[i]
			}
		}
	}},
}

// benchNorms normalises rows that are in cache.
func benchNorms() (list []benchmark) {
	for _, d := range []int{384, 576, 4096} {
		x, w, b, y := testutil.Floats(d), testutil.Floats(d), testutil.Floats(d), make([]float32, d)
		add := func(kernel string, call func(p *kernelSet)) {
			list = append(list, benchmark{kernel, fmt.Sprintf("d=%d", d), 0, float64(d), call})
		}
		add("Norms.RMSNorm", func(p *kernelSet) { p.Norms.RMSNorm(y, 0, x, 0, 1, w, float32(d), 1e-5) })
		add("Norms.LayerNorm", func(p *kernelSet) { p.Norms.LayerNorm(y, 0, x, 0, 1, w, b, float32(d), 1e-5) })
		add("Elementwise.Add", func(p *kernelSet) { p.Elementwise.Add(y, x, w) })
	}
	return list
}
