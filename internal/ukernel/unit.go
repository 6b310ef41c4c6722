package ukernel

// Unit are the products that CPUs with a unit for tiles have beside the products of vectors. Other
// tiers have none of them, and package fallback has none. A sum without load is the same whether it
// begins with +0 or with its first summand: no summand is -0, as the chains e and o begin with +0
// and callers have no product so small that it is rounded to -0.
type Unit struct {
	// GemmTiles is Products.GemmEvenOdd with an A of bfloat16, whose rows lie lda numbers apart,
	// and a B of k/2 rows of pairs, as WeightKernels.GemmPairs takes them, of any number of lanes
	// that is a multiple of PanelStep, without gaps. k is a multiple of BF16Segment and not 0.
	GemmTiles func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool)

	// GemmHalves is GemmTiles with a B of k rows of pairs, whose factors are sums of two numbers:
	// BF16Segment/2 rows have the first numbers of a segment, and as many after them the others.
	//
	//	t = the e+o of the segment with the first numbers, plus the e+o with the others
	//	c[i·ldc+lane] = the sum of t over the segments, ascending
	GemmHalves func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool)

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
