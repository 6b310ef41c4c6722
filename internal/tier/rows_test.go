package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A rowCase is a call of a function over rows: n rows of d elements.
type rowCase struct {
	kernel    string
	n, d, gap int
	inPlace   bool
	values    testutil.Kind
}

func (c rowCase) String() string {
	return fmt.Sprintf("n=%d d=%d ld=d+%d in place: %v, of %v", c.n, c.d, c.gap, c.inPlace, c.values)
}

// rowCases lists all remainders of what lies in the lanes: of rows for kernels whose lanes are
// rows, else of elements.
func rowCases(kernel string) func(w int) []kernelCase {
	lanes, others := upTo(2*16+1, 47, 48, 49, 67), []int{0, 1, 2, 3, 7, 16, 33}
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for i, x := range lanes {
				for k := range 3 {
					c := rowCase{kernel, others[(i+k*3)%len(others)], x, (i + k) % 3, i%2 == 0, v}
					switch kernel {
					case "Largest", "Sums", "Dots", "DotsWith":
						c.n, c.d = c.d, c.n
					case "NormGradients":
						c.n = max(c.n, 1)
					case "Squares", "NormTerms": // d chains: whole rows of them, or fewer
						if c.d > doubleChains {
							c.d = c.d / 4 * doubleChains
						}
					}
					list = append(list, c)
				}
			}
		}
		return list
	}
}

func (c rowCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ld := distance(c.d, c.gap)
	matrix := func(name string) []float32 {
		x := a.Matrix(name, c.n, c.d, ld, testutil.Canary)
		c.values.Fill(r, x, c.n, c.d, ld)
		return x
	}
	vector := func(name string, n int) []float32 {
		x := a.Vector(name, n, 0)
		c.values.Fill(r, x, 1, n, n)
		return x
	}
	doubles := func(name string, n int) []float64 {
		x := a.Doubles(name, n)
		for i := range x {
			x[i] = float64(c.values.Next(r)) * (1 + float64(r.Uint64()>>40)*0x1p-50)
		}
		return x
	}
	to := func(name string, src []float32) []float32 {
		if c.inPlace {
			return src
		}
		return a.Matrix(name, c.n, c.d, ld, testutil.Canary)
	}
	shift := c.values.Next(r)
	switch c.kernel {
	case "Largest":
		max, x := a.Vector("max", c.n, testutil.Canary), matrix("x")
		return func(p *kernelSet) { p.Rows.Largest(max, x, ld, c.d) }
	case "Sums":
		sums, x := doubles("sums", c.n), matrix("x")
		return func(p *kernelSet) { p.Rows.Sums(sums, x, ld, c.d) }
	case "Dots":
		sums, x, y := doubles("sums", c.n), matrix("x"), matrix("y")
		return func(p *kernelSet) { p.Rows.Dots(sums, x, y, ld, c.d) }
	case "DotsWith":
		sums, x, y := doubles("sums", c.n), matrix("x"), vector("y", c.d)
		return func(p *kernelSet) { p.Rows.DotsWith(sums, x, ld, c.d, y) }
	case "AddScaled":
		sums, x, ldw := doubles("sums", c.d), matrix("x"), 1+c.gap
		w := a.Matrix("weights", c.n, 1, ldw, testutil.Canary)
		c.values.Fill(r, w, c.n, 1, ldw)
		return func(p *kernelSet) { p.Rows.AddScaled(sums, x, ld, w, ldw, c.n) }
	case "Powers":
		src, top := matrix("src"), vector("top", c.n)
		for i := range top {
			for j := range c.d {
				top[i] = scalar.Larger(src[i*ld+j], top[i])
			}
		}
		dst := to("dst", src)
		return func(p *kernelSet) { p.Rows.Powers(dst, src, ld, c.n, c.d, top) }
	case "Quotients":
		return c.quotients(a, r, ld)
	case "SoftmaxGradients":
		dy, y, sums := matrix("dy"), matrix("y"), doubles("sums", c.n)
		dx := to("dx", [][]float32{dy, y}[c.gap%2])
		return func(p *kernelSet) { p.Rows.SoftmaxGradients(dx, dy, y, ld, c.n, c.d, sums) }
	case "Squares", "NormTerms":
		return c.chained(a, r, doubles)
	case "NormGradients":
		dy, y, weight, dWeight, dBias := matrix("dy"), matrix("y"), vector("weight", c.d), vector("dWeight", c.d), vector("dBias", c.d)
		dx := to("dx", [][]float32{dy, y}[c.gap%2])
		centers, slopes, invs := vector("centers", c.n), vector("slopes", c.n), vector("invs", c.n)
		for i := range a.Slots {
			a.Slots[i].Exact = true
		}
		return func(p *kernelSet) {
			p.Rows.NormGradients(dx, ld, dy, ld, y, ld, c.n, weight, dWeight, dBias, centers, slopes, invs)
		}
	}
	if c.kernel == "RotatePairs" {
		cos, sin := vector("cos", 2*c.d), vector("sin", 2*c.d)
		ld := distance(2*c.d, c.gap)
		x := a.Matrix("x", c.n, 2*c.d, ld, testutil.Canary)
		c.values.Fill(r, x, c.n, 2*c.d, ld)
		a.Slots[2].Exact = true
		return func(p *kernelSet) { p.Elementwise.RotatePairs(x, ld, c.n, cos, sin) }
	}
	g, y := vector("dy", c.d), vector("y", c.d)
	dx := a.Vector("dx", c.d, testutil.Canary)
	if c.inPlace {
		dx = [][]float32{g, y}[c.gap%2]
	}
	switch c.kernel {
	case "Mul":
		return func(p *kernelSet) { p.Elementwise.Mul(dx, g, y) }
	case "Scale":
		second := c.values.Next(r)
		return func(p *kernelSet) { p.Elementwise.Scale(dx, g, shift, second) }
	case "TanhBackward":
		return func(p *kernelSet) { p.Activations.TanhBackward(dx, g, y) }
	case "SigmoidBackward":
		return func(p *kernelSet) { p.Activations.SigmoidBackward(dx, g, y) }
	}
	panic(c.kernel)
}

const doubleChains = 8

// chained has n steps of d chains, which are some rows or the first chains of a row.
func (c rowCase) chained(a *testutil.Arena, r *testutil.Rand, doubles func(name string, n int) []float64) func(p *kernelSet) {
	rows, d := max(1, c.d/doubleChains), max(0, c.n-1)*doubleChains+min(c.d, doubleChains)
	if c.n == 0 {
		d = 0
	}
	matrix := func(name string, n, d, gap int) ([]float32, int) {
		ld := distance(d, gap)
		x := a.Matrix(name, n, d, ld, testutil.Canary)
		c.values.Fill(r, x, n, d, ld)
		return x, ld
	}
	numbers := func(name string) []float32 {
		x, _ := matrix(name, 1, rows, 0)
		return x
	}
	sums := doubles("sums", c.d)
	if c.kernel == "Squares" {
		src, lds := matrix("src", rows, d, c.gap)
		dst, ldd := src, lds
		if !c.inPlace {
			dst, ldd = matrix("dst", rows, d, 1)
		}
		centers, rests := numbers("centers"), numbers("rests")
		return func(p *kernelSet) { p.Rows.Squares(sums, dst, ldd, src, lds, c.n, centers, rests) }
	}
	dots, invs := doubles("dots", c.d), numbers("invs")
	y, ldy := matrix("y", rows, d, c.gap)
	dy, ldd := matrix("dy", rows, d, 1)
	weight, _ := matrix("weight", 1, d, 0)
	return func(p *kernelSet) { p.Rows.NormTerms(sums, dots, y, ldy, dy, ldd, weight, c.n, invs) }
}

// quotients has numbers up to 1 and down to the smallest, and sums near powers of two and near 1
// among others.
func (c rowCase) quotients(a *testutil.Arena, r *testutil.Rand, ld int) func(p *kernelSet) {
	x, sums, inverses := a.Matrix("x", c.n, c.d, ld, testutil.Canary), a.Doubles("sums", c.n), a.Doubles("inverses", c.n)
	for i := range c.n {
		sums[i] = (1 + float64(r.Uint64()>>12)*0x1p-52) * float64(uint64(1)<<(r.Uint64()%30))
		switch r.Uint64() % 4 {
		case 0:
			sums[i] = 1 + float64(r.Uint64()%8)*0x1p-52
		case 1:
			sums[i] = math.Nextafter(math.Exp2(float64(1+i)), 0)
		}
		inverses[i] = 1 / sums[i]
		for j := range c.d {
			v := c.values.Next(r)
			switch v = max(v, -v); {
			case !(v < 0x1p-10) && v <= 1:
			case v == v && v < 0x1p-126:
				v = 0
			case v == v:
				v = float32(math.Exp2(-float64(r.Uint64() % 127)))
			}
			x[i*ld+j] = v
		}
	}
	return func(p *kernelSet) { p.Rows.Quotients(x, ld, c.n, c.d, sums, inverses) }
}

// spoilRows returns a mutant of a function over rows.
func spoilRows(kernel, mistake string, spoil func(p *kernelSet)) mutant {
	return mutant{"Rows." + kernel, mistake, spoil}
}

var rowMutants = []mutant{
	spoilRows("Largest", "the last column is left out", func(p *kernelSet) {
		p.Rows.Largest = func(top, x []float32, ld, d int) { ref.Rows.Largest(top, x, ld, max(d-1, 0)) }
	}),
	spoilRows("Sums", "the last column comes first", func(p *kernelSet) {
		p.Rows.Sums = func(sums []float64, x []float32, ld, d int) {
			for i := range sums {
				sums[i] = 0
				for j := range d {
					sums[i] += float64(x[i*ld+d-1-j])
				}
			}
		}
	}),
	spoilRows("Dots", "the products are rounded", func(p *kernelSet) {
		p.Rows.Dots = func(sums []float64, x, y []float32, ld, d int) {
			for i := range sums {
				sums[i] = 0
				for j := range d {
					sums[i] += float64(x[i*ld+j] * y[i*ld+j])
				}
			}
		}
	}),
	spoilRows("DotsWith", "the sums are of 32 bits", func(p *kernelSet) {
		p.Rows.DotsWith = func(sums []float64, x []float32, ld, d int, y []float32) {
			for i := range sums {
				sum := float32(0)
				for j, y := range y {
					sum = scalar.FMA(x[i*ld+j], y, sum)
				}
				sums[i] = float64(sum)
			}
		}
	}),
	spoilRows("AddScaled", "weights of 0 count", func(p *kernelSet) {
		p.Rows.AddScaled = func(sums []float64, x []float32, ldx int, weights []float32, ldw, n int) {
			for i := range n {
				for e := range sums {
					sums[e] += float64(x[i*ldx+e]) * float64(weights[i*ldw])
				}
			}
		}
	}),
	spoilRows("Powers", "the product is not rounded", func(p *kernelSet) {
		p.Rows.Powers = func(dst, src []float32, ld, n, d int, top []float32) {
			for i := range n {
				for j := range d {
					dst[i*ld+j] = scalar.Exp2(float32(float64(src[i*ld+j]-top[i]) * math.Log2E))
				}
			}
		}
	}),
	spoilRows("Quotients", "are products with the inverse", func(p *kernelSet) {
		p.Rows.Quotients = func(x []float32, ld, n, d int, _, inverses []float64) {
			for i := range n {
				for j := range d {
					x[i*ld+j] = float32(float64(x[i*ld+j]) * float64(float32(inverses[i])))
				}
			}
		}
	}),
	spoilRows("SoftmaxGradients", "a difference of 32 bits", func(p *kernelSet) {
		p.Rows.SoftmaxGradients = func(dx, dy, y []float32, ld, n, d int, sums []float64) {
			for i := range n {
				for j := range d {
					if x := y[i*ld+j]; x != 0 {
						dx[i*ld+j] = x * (dy[i*ld+j] - float32(sums[i]))
					} else {
						dx[i*ld+j] = 0
					}
				}
			}
		}
	}),
	spoilRows("Squares", "the sums start anew", func(p *kernelSet) {
		p.Rows.Squares = func(sums []float64, dst []float32, ldd int, src []float32, lds, n int, centers, rests []float32) {
			clear(sums)
			ref.Rows.Squares(sums, dst, ldd, src, lds, n, centers, rests)
		}
	}),
	spoilRows("Squares", "the squares are rounded", func(p *kernelSet) {
		p.Rows.Squares = func(sums []float64, dst []float32, ldd int, src []float32, lds, n int, centers, rests []float32) {
			for i := range sums {
				for s := range n {
					row, x := i/doubleChains, s*doubleChains+i%doubleChains
					z := (src[row*lds+x] - centers[row]) - rests[row]
					dst[row*ldd+x] = z
					sums[i] += float64(z * z)
				}
			}
		}
	}),
	spoilRows("NormTerms", "a product is not rounded", func(p *kernelSet) {
		p.Rows.NormTerms = func(sums, dots []float64, y []float32, ldy int, dy []float32, ldd int, weight []float32, n int, invs []float32) {
			for i := range sums {
				for s := range n {
					row, x := i/doubleChains, s*doubleChains+i%doubleChains
					g := float64(dy[row*ldd+x]) * float64(weight[x])
					sums[i] += g
					dots[i] += g * float64(y[row*ldy+x]*invs[row])
				}
			}
		}
	}),
	{"Elementwise.Scale", "the factors come first", func(p *kernelSet) {
		p.Elementwise.Scale = func(dst, src []float32, first, second float32) {
			for i := range dst {
				dst[i] = src[i] * float32(first*second)
			}
		}
	}},
	{"Elementwise.Mul", "one is a reciprocal", func(p *kernelSet) {
		p.Elementwise.Mul = func(dst, x, y []float32) {
			for i := range dst {
				dst[i] = x[i] / (1 / y[i])
			}
		}
	}},
	{"Elementwise.RotatePairs", "a product is not rounded", func(p *kernelSet) {
		p.Elementwise.RotatePairs = func(x []float32, ld, n int, cos, sin []float32) {
			for j := range n {
				for e := 0; e < len(cos); e += 2 {
					a, b := x[j*ld+e], x[j*ld+e+1]
					x[j*ld+e] = scalar.Canonical(scalar.FMA(a, cos[e], b*sin[e]))
					x[j*ld+e+1] = scalar.Canonical(float32(b*cos[e+1]) + float32(a*sin[e+1]))
				}
			}
		}
	}},
	{"Activations.TanhBackward", "the slope is 1-y²", func(p *kernelSet) {
		p.Activations.TanhBackward = func(dx, dy, y []float32) {
			for i := range dx {
				dx[i] = dy[i] * scalar.FMA(-y[i], y[i], 1)
			}
		}
	}},
	{"Activations.SigmoidBackward", "the slope is y-y²", func(p *kernelSet) {
		p.Activations.SigmoidBackward = func(dx, dy, y []float32) {
			for i := range dx {
				dx[i] = dy[i] * scalar.FMA(-y[i], y[i], y[i])
			}
		}
	}},
	spoilRows("NormGradients", "the centers are left out", func(p *kernelSet) {
		p.Rows.NormGradients = func(dx []float32, ldx int, dy []float32, ldd int, y []float32, ldy, n int, weight, dWeight, dBias, centers, slopes, invs []float32) {
			ref.Rows.NormGradients(dx, ldx, dy, ldd, y, ldy, n, weight, dWeight, dBias, make([]float32, n), slopes, invs)
		}
	}),
	spoilRows("NormGradients", "a product is not rounded", func(p *kernelSet) {
		p.Rows.NormGradients = func(dx []float32, ldx int, dy []float32, ldd int, y []float32, ldy, n int, weight, dWeight, dBias, centers, slopes, invs []float32) {
			for e := range weight {
				sum := dWeight[e]
				for i := range n {
					sum = scalar.FMA(dy[i*ldd+e], y[i*ldy+e]*invs[i], sum)
				}
				defer func() { dWeight[e] = sum }()
			}
			ref.Rows.NormGradients(dx, ldx, dy, ldd, y, ldy, n, weight, dWeight, dBias, centers, slopes, invs)
		}
	}),
}
