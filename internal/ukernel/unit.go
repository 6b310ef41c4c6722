package ukernel

// Unit are the products that CPUs with a unit for tiles have beside the products of vectors, and
// the steps between them. Other tiers have no such products. Nor has package fallback, which has
// the steps but RoundHalves. A sum without load is the same whether it begins with +0 or with its
// first summand: no summand is -0, as the chains e and o begin with +0, and no product of callers
// is so small that it becomes -0.
type Unit struct {
	// GemmTiles is Products.GemmEvenOdd with an A of bfloat16, whose rows lie lda numbers apart,
	// and a B of k/2 rows of pairs, as WeightKernels.GemmPairs takes them, of any number of lanes
	// that is a multiple of PanelStep, without gaps. k is a multiple of BF16Segment and not 0. The
	// kernel may prefetch next.
	GemmTiles func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, next []byte)

	// GemmHalves is GemmTiles with a B of k rows of pairs, whose factors are sums of two numbers:
	// BF16Segment/2 rows have the first numbers of a segment, and as many after them the others.
	//
	//	t = the e+o of the segment with the first numbers, plus the e+o with the others
	//	c[i·ldc+lane] = the sum of t over the segments, ascending
	GemmHalves func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool)

	// Maxima sets max[lane] to the largest of n rows of s without gaps, times scale, rounded: with
	// m[i] the maximum of rows i, i+4, ..., as LaneKernels take it from -Inf on, the larger of m[3]
	// over m[2] and m[1] over m[0].
	Maxima func(s []float32, n int, scale float32, max []float32)

	// SoftmaxPairs is LaneKernels.SoftmaxBF16 of the rows s[j·w+lane]·scale, each product rounded,
	// without gaps. It writes the weights as B of GemmTiles, in place: row j of s has p[2j] and
	// p[2j+1] in the halves of words, with +0 for p[n]. Later rows stay as they are.
	SoftmaxPairs func(s []float32, n int, scale float32, max, sum []float32)

	// PackPairs is WeightKernels.Pack for pairs: it makes rows of queries B of GemmTiles.
	PackPairs func(dst []uint32, ld int, src []uint32, lds, n, d int)

	// Factors copies n rows of d bfloat16 as products in bfloat16 take them: those whose magnitude
	// is below 2^-56 become +0. dst may be src.
	Factors func(dst []uint16, ldd int, src []uint16, lds, n, d int)

	// RoundHalves makes such factors of n ≥ 1 rows of a number of lanes that is a multiple of
	// PanelStep:
	//
	//	x     = what Round writes of a number
	//	first = x with its lower 16 bits cleared
	//	other = x - first
	//
	// It writes words of two rows' upper 16 bits to both slices. A row that is alone has zeros
	// beside it. bits is 10 or 11, as in Round.
	RoundHalves func(first, other []uint32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32)

	// ScoreHalves multiplies m ≥ 1 rows of A with such factors, and each sum by a number of its
	// row. k is BF16Segment or twice that. max has all lanes, a multiple of PanelStep.
	//
	//	t           = the sum of e+o of a segment with the first numbers, then with the others
	//	s[j·w+lane] = t·scales[j·lsc], rounded, or with load fma(t, scales[j·lsc], s[j·w+lane])
	//
	// then max as in GemmMax.
	ScoreHalves func(s []float32, a []uint16, lda int, first, other []uint32, scales []float32, lsc, m, k int, load bool, max []float32)
}
