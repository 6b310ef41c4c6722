package ukernel

// Rows are functions over rows of float32, most of them with sums in binary64: for softmax over
// rows, weighted sums and the gradients of norms. A product of two float32 is exact in binary64.
// Row i of a slice begins at i·ld, unless a contract says something else.
type Rows struct {
	// Largest sets max[i] to the largest of x[i·ld+j], j < d, or -Inf, for i < len(max). It passes
	// over a NaN.
	Largest func(max, x []float32, ld, d int)

	// Sums, Dots and DotsWith add up in binary64, for i < len(sums), from +0, j ascending over d
	// columns:
	//
	//	Sums      sums[i] = sum of x[i·ld+j]
	//	Dots      sums[i] = sum of x[i·ld+j]·y[i·ld+j]
	//	DotsWith  sums[i] = sum of x[i·ld+j]·y[j]
	Sums     func(sums []float64, x []float32, ld, d int)
	Dots     func(sums []float64, x, y []float32, ld, d int)
	DotsWith func(sums []float64, x []float32, ld, d int, y []float32)

	// AddScaled adds n rows of x, for e < len(sums), i ascending over those whose weight is not 0:
	//
	//	sums[e] = sums[e] + x[i·ldx+e]·weights[i·ldw]
	AddScaled func(sums []float64, x []float32, ldx int, weights []float32, ldw, n int)

	// Powers, Quotients and SoftmaxGradients compute n rows of d elements. dst may be src, and dx
	// may be dy or y:
	//
	//	Powers            dst[i·ld+j] = exp2((src[i·ld+j]-top[i])·LOG2E)
	//	Quotients         x[i·ld+j]   = x[i·ld+j]/sums[i]
	//	SoftmaxGradients  dx[i·ld+j]  = y[i·ld+j]·(dy[i·ld+j]-sums[i])
	//
	// Powers rounds the difference, which is not above 0, and the product. The others compute in
	// binary64 and round to binary32. x of Quotients is +0 or at least 2^-126. SoftmaxGradients
	// gives +0 where y is 0.
	//
	// Quotients takes inverses[i] = 1/sums[i], rounded, and sums[i] from 1 to 2^64, or NaN.
	Powers           func(dst, src []float32, ld, n, d int, top []float32)
	Quotients        func(x []float32, ld, n, d int, sums, inverses []float64)
	SoftmaxGradients func(dx, dy, y []float32, ld, n, d int, sums []float64)

	// Squares and NormTerms add up n steps of 8 elements of each row. There are len(sums)/8 rows,
	// whose 8 chains of sums follow each other, or the first len(sums) < 8 chains of a row. They
	// start from what is there. For i < len(sums), r = i/8 and x = 8·s+i%8, step s ascending, with
	// operations of 32 bits rounded, and squares and products exact in binary64:
	//
	//	Squares    z = (src[r·lds+x]-centers[r])-rests[r], dst[r·ldd+x] = z, sums[i] += z²
	//	NormTerms  g = dy[r·ldd+x]·weight[x], z = y[r·ldy+x]·invs[r]
	//	           sums[i] = sums[i] + g, dots[i] = dots[i] + g·z
	//
	// dst may be src, and all its rows one.
	Squares   func(sums []float64, dst []float32, ldd int, src []float32, lds, n int, centers, rests []float32)
	NormTerms func(sums, dots []float64, y []float32, ldy int, dy []float32, ldd int, weight []float32, n int, invs []float32)

	// NormGradients computes n ≥ 1 rows, i ascending, for e < len(weight), each operation rounded,
	// with the NaN 0x7fc00000. g = dy[i·ldd+e]·weight[e], z = y[i·ldy+e]·invs[i]:
	//
	//	dx[i·ldx+e] = ((g-centers[i]) - z·slopes[i])·invs[i]
	//	dWeight[e]  = dWeight[e] + dy[i·ldd+e]·z
	//	dBias[e]    = dBias[e] + dy[i·ldd+e]
	//
	// dx may be dy or y, and all its rows one.
	NormGradients func(dx []float32, ldx int, dy []float32, ldd int, y []float32, ldy, n int, weight, dWeight, dBias, centers, slopes, invs []float32)
}
