package fallback

import (
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// Rows returns the functions over rows.
func Rows() ukernel.Rows {
	return ukernel.Rows{
		Largest: rowLargest, Sums: rowSums, Dots: rowDots, DotsWith: dotsWith, AddScaled: addScaled,
		Powers: powers, Quotients: quotients, SoftmaxGradients: softmaxGradients,
		Squares: squares, NormTerms: normTerms, NormGradients: normGradients,
	}
}

func rowLargest(max, x []float32, ld, d int) {
	for i := range max {
		top := scalar.NegInf
		for _, x := range window(x, i*ld, d) {
			top = scalar.Larger(x, top)
		}
		max[i] = top
	}
}

func rowSums(sums []float64, x []float32, ld, d int) {
	for i := range sums {
		sum := 0.0
		for _, x := range window(x, i*ld, d) {
			sum += float64(x)
		}
		sums[i] = sum
	}
}

func rowDots(sums []float64, x, y []float32, ld, d int) {
	for i := range sums {
		sum, y := 0.0, window(y, i*ld, d)
		for j, x := range window(x, i*ld, d) {
			sum += float64(x) * float64(y[j])
		}
		sums[i] = sum
	}
}

func dotsWith(sums []float64, x []float32, ld, d int, y []float32) {
	for i := range sums {
		sum, x := 0.0, window(x, i*ld, d)
		for j, y := range y[:d] {
			sum += float64(x[j]) * float64(y)
		}
		sums[i] = sum
	}
}

// addScaled converts a weight once: in the loop CVTSS2SD would wait for the element before, as it
// keeps a part of the register that it writes.
func addScaled(sums []float64, x []float32, ldx int, weights []float32, ldw, n int) {
	for i := range n {
		if w := float64(weights[i*ldw]); w != 0 {
			row := window(x, i*ldx, len(sums))
			for e, x := range row {
				sums[e] += w * float64(x)
			}
		}
	}
}

func powers(dst, src []float32, ld, n, d int, top []float32) {
	for i := range n {
		to, top := window(dst, i*ld, d), top[i]
		for j, s := range window(src, i*ld, d) {
			to[j] = scalar.Exp2(float32((s - top) * scalar.Log2E))
		}
	}
}

func quotients(x []float32, ld, n, d int, sums, _ []float64) {
	for i := range n {
		row, sum := window(x, i*ld, d), sums[i]
		for j, p := range row {
			row[j] = float32(float64(p) / sum)
		}
	}
}

func softmaxGradients(dx, dy, y []float32, ld, n, d int, sums []float64) {
	for i := range n {
		to, dy, sum := window(dx, i*ld, d), window(dy, i*ld, d), sums[i]
		for j, p := range window(y, i*ld, d) {
			x := float32(0)
			if p != 0 {
				x = float32(float64(p) * (float64(dy[j]) - sum))
			}
			to[j] = x
		}
	}
}

// eachChained calls f for rows of which 8 elements at a time are added to chains, with the chains
// of each.
func eachChained(sums int, f func(row, first, end int)) {
	for first := 0; first < sums; first += doubleChains {
		f(first/doubleChains, first, min(first+doubleChains, sums))
	}
}

const doubleChains = 8

func squares(sums []float64, dst []float32, ldd int, src []float32, lds, n int, centers, rests []float32) {
	eachChained(len(sums), func(row, first, end int) {
		sums, center, rest := sums[first:end], centers[row], rests[row]
		for s := range n {
			to, from := window(dst, row*ldd+s*doubleChains, len(sums)), window(src, row*lds+s*doubleChains, len(sums))
			for e, x := range from {
				z := (x - center) - rest
				to[e] = z
				sums[e] += float64(z) * float64(z)
			}
		}
	})
}

func normTerms(sums, dots []float64, y []float32, ldy int, dy []float32, ldd int, weight []float32, n int, invs []float32) {
	eachChained(len(sums), func(row, first, end int) {
		sums, dots, inv := sums[first:end], dots[first:end], invs[row]
		for s := range n {
			y, weight := window(y, row*ldy+s*doubleChains, len(sums)), window(weight, s*doubleChains, len(sums))
			for e, d := range window(dy, row*ldd+s*doubleChains, len(sums)) {
				g := float32(d * weight[e])
				sums[e] += float64(g)
				dots[e] += float64(g) * float64(float32(y[e]*inv))
			}
		}
	})
}

func normGradients(dx []float32, ldx int, dy []float32, ldd int, y []float32, ldy, n int, weight, dWeight, dBias, centers, slopes, invs []float32) {
	dWeight, dBias = dWeight[:len(weight)], dBias[:len(weight)]
	for i := range n {
		to, y, center, slope, inv := window(dx, i*ldx, len(weight)), window(y, i*ldy, len(weight)), centers[i], slopes[i], invs[i]
		for e, d := range window(dy, i*ldd, len(weight)) {
			g, z := float32(d*weight[e]), float32(y[e]*inv)
			dWeight[e] += float32(d * z)
			dBias[e] += d
			to[e] = scalar.Canonical(float32(float32((g-center)-float32(z*slope)) * inv))
		}
	}
	for e := range weight {
		dWeight[e], dBias[e] = scalar.Canonical(dWeight[e]), scalar.Canonical(dBias[e])
	}
}
