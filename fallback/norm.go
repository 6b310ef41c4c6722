package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// rmsNorm is Norms.RMSNorm.
func rmsNorm(dst []float32, ldd int, src []float32, lds, n int, weight []float32, size, eps float32) {
	d := len(weight)
	for i := range n {
		x, y := window(src, i*lds, d), window(dst, i*ldd, d)
		inv := inverseRoot(chains(x, func(x, acc float32) float32 { return scalar.FMA(x, x, acc) }), size, eps)
		for e, w := range weight {
			y[e] = scalar.Canonical(float32(float32(x[e]*inv) * w))
		}
	}
}

// layerNorm is Norms.LayerNorm. rest is what rounding took from the mean. In a row of equal
// elements it would be all that is left, divided by the root of eps.
func layerNorm(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32) {
	d := len(weight)
	bias = window(bias, 0, d)
	for i := range n {
		x, y := window(src, i*lds, d), window(dst, i*ldd, d)
		mean := meanLess(x, 0, size)
		rest := meanLess(x, mean, size)
		inv := inverseRoot(chains(x, func(x, acc float32) float32 {
			z := (x - mean) - rest
			return scalar.FMA(z, z, acc)
		}), size, eps)
		for e, w := range weight {
			y[e] = scalar.Canonical(scalar.FMA(float32(((x[e]-mean)-rest)*inv), w, bias[e]))
		}
	}
}

// means is Norms.Means.
func means(to, x []float32, ld, n, d int, centers []float32, size float32) {
	for i := range n {
		to[i] = meanLess(window(x, i*ld, d), centers[i], size)
	}
}

// meanLess is the mean of a row less a number. x - 0 is x, for -0 too.
func meanLess(x []float32, center, size float32) float32 {
	return chains(x, func(x, acc float32) float32 { return acc + (x - center) }) / size
}

// add is Elementwise.Add. Every NaN becomes 0x7fc00000.
func add(dst, x, y []float32) {
	x, y = window(x, 0, len(dst)), window(y, 0, len(dst))
	for i := range dst {
		dst[i] = scalar.Canonical(x[i] + y[i])
	}
}

// addRows is Elementwise.AddRows.
func addRows(dst, src []float32, lds, n int) {
	for i := range n {
		add(dst, dst, window(src, i*lds, len(dst)))
	}
}

// chains returns a sum over a row as Norms has it.
func chains(x []float32, add func(x, acc float32) float32) float32 {
	var acc [contract.NormChains]float32
	for e, v := range x {
		sum := &acc[e%contract.NormChains]
		*sum = add(v, *sum)
	}
	return scalar.SumOfHalves(acc[:])
}

// inverseRoot returns 1/sqrt(sum/size + eps). A root taken in float64 and rounded is the
// correctly rounded root.
func inverseRoot(sum, size, eps float32) float32 {
	return 1 / float32(math.Sqrt(float64(sum/size+eps)))
}
