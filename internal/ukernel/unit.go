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
}
