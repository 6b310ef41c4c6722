package kernel

// A panel is a set of query rows that travel together through the tile loop,
// one row a lane. With the queries in the lanes every lane is its own
// sequential chain of the numeric contract, whatever the vector width: that is
// why all tiers agree bit for bit.
//
// Memory of a panel, w = lanes:
//
//	Q̂ᵀ [D][w]    packed, scaled queries
//	S  [256][w]  scores of one key block, then its weights p
//	Oᵀ [Dv][w]   running output
//	max, sum [w] running maximum and sum of the softmax

// maxLanes bounds the width of a panel.
const maxLanes = 64

// panelKernels are the micro-kernels of one ISA for panels of one width. They
// are the whole contract between the tile loop and an ISA: plain functions over
// slices and ints, so that assigning an assembly stub or a fallback function to
// a field is the compile-time check.
//
// Rules that hold for all of them:
//
//   - Nothing outside the elements named is read or written; nothing is assumed
//     about alignment. Counts may be 0. Strides count elements.
//   - The outputs do not overlap the inputs.
//   - Every lane is computed by itself, in the order given, with one rounding
//     per fma and per operation, on non-NaN values to the bit. Where a NaN
//     arises only the fact is specified, not its payload or sign.
//   - max(x, y) is "x if x > y, else y": a NaN in x is ignored here; it
//     reaches the row through its weight.
type panelKernels struct {
	// lanes is the panel's width w, at most maxLanes. The lengths of max, sum,
	// lo, hi, off, pos, ... below are exactly w.
	lanes int

	// tile is the product of m rows of A with the k rows of B under them:
	//
	//	c[i·ldc+lane] = fma chain over x = 0..k-1 ascending, acc = fma(a[i·rs+x·cs], b[x·ldb+lane], acc)
	//
	// from +0, or from c itself if load is true. i < m, lane < w.
	tile func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)

	// tileMax is tile from +0 that also keeps the running maximum of every
	// lane: max[lane] = max(c[i·ldc+lane], max[lane]), i ascending.
	tileMax func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32)

	// tileFold is tile from +0 folded into what c holds:
	// c = fma(acc, beta[lane], c·alpha[lane]).
	tileFold func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32)

	// mask hides scores by select, for n rows of which the first is number j0:
	// s[j·ld+lane] stays if lo[lane] ≤ j0+j < hi[lane], else becomes -Inf; then
	// max[lane] = max(s[j·ld+lane], max[lane]).
	mask func(s []float32, ld, j0, n int, lo, hi []int32, max []float32)

	// softcap limits scores smoothly, for n rows, with every product rounded for
	// itself:
	//
	//	s[j·ld+lane] = limit·tanh(s[j·ld+lane]·inv)
	//
	// then max as in mask.
	softcap func(s []float32, ld, n int, limit, inv float32, max []float32)

	// alibi adds a bias that falls with the distance between query and key, for
	// n rows of which the first is key j0:
	//
	//	s[j·ld+lane] = fma(slopes[lane], -float32(|pos[lane]-(j0+j)|), s[j·ld+lane])
	//
	// then max as in mask. Positions, j0+j and pos, lie between 0 and 2^31-1; the
	// distance is rounded to float32, ties to even.
	alibi func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32)

	// bias adds a bias in natural units, of which the lanes have a row each:
	//
	//	s[j·ld+lane] = fma(src[off[lane]+j], log2 e, s[j·ld+lane]), j < n
	//
	// but -Inf by select where the bias is -Inf; then max as in mask. Lanes may
	// share a row.
	bias func(s []float32, ld, n int, src []float32, off []int, max []float32)

	// hide hides scores by select, for n rows: s[j·ld+lane] becomes -Inf where
	// keep[off[lane]+j] == hidden; then max as in mask. Lanes may share a row.
	hide func(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32)

	// softmax turns n rows of scores into weights in place:
	// p = exp2(s - z), z = max[lane], or 0 where that is -Inf (so that hidden
	// scores give 0 and a NaN stays one). sum[lane] is written: the sum of p,
	// j ascending, from +0.
	softmax func(s []float32, ld, n int, max, sum []float32)

	// dropout drops weights, for n rows of which the first is key j0 ≥ 0: p =
	// p·scale if the weight's random number is at least threshold, else p = +0.
	// The number is word (j0+j) mod 4 of Philox4x32-10 at the counter (sequence,
	// head[lane], pos[lane], (j0+j)/4), whose last word is cut to 32 bits. keys
	// are the keys of its rounds, as fallback.PhiloxKeys makes them from a seed.
	dropout func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32)

	// fold merges the statistics of a block into the running ones and hands
	// out the factors for the output, all per lane:
	//
	//	m' = max(blockMax, max), z = m' with 0 for -Inf
	//	alpha = exp2(max - z), beta = exp2(blockMax - z)
	//	sum = fma(blockSum, beta, sum·alpha), max = m'
	//
	// A side that has seen no key (-Inf, sum 0) changes nothing in the other.
	fold func(max, sum, blockMax, blockSum, alpha, beta []float32)

	// pack transposes query rows into a panel and scales them:
	// dst[x·ld+lane] = src[off[lane]+x]·scale, x < d. The rows are those of the
	// first n lanes, 1 ≤ n ≤ w; off repeats its n-th entry after that, and the
	// lanes from n on hold any of the n rows.
	pack func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32)

	// unpack finishes a panel and transposes it back into rows:
	// dst[off[lane]+x] = src[x·ld+lane]·inv + (+0), x < d, inv = 1/sum[lane], or 0
	// for a sum of 0; for the first n lanes. off repeats its n-th entry after
	// that; the lanes from n on may hold anything, and what of them is written
	// to that row on the way is overwritten by the n-th lane. Bit lane of the
	// result tells that the row holds a NaN; bits from n on mean nothing.
	unpack func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64

	// What needs no panel is the same for all widths.
	converters
	fewKernels
	stripKernels
	functions
}

// functions are the micro-kernels of one ISA for functions of the contract over
// slices. The rules of panelKernels hold for them, but dst may be src.
type functions struct {
	// exp2 and tanh compute dst[x] = f(src[x]), x < len(dst).
	exp2, tanh func(dst, src []float32)

	// additive computes the additive scores of n queries and m keys, i < n and j < m:
	//
	//	acc[x mod 16] = fma chain over x = 0..len(weights)-1 ascending, acc = fma(weights[x], tanh(q[i·ldq+x] + k[j·ldk+x]), acc)
	//	s[j·ld+i]     = their sum: acc[r] += acc[r+8] for r < 8, then acc[r+4] for r < 4, acc[r+2], acc[r+1]
	//
	// from +0. len(weights) is a multiple of 16. next is a hint as in fewKernels.
	additive func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32)
}

// converters are the micro-kernels of one ISA that convert n rows of d elements
// from one type to another, row r from src[r·lds:] to dst[r·ldd:]. The rules of
// panelKernels hold for them. binary16 and bfloat16 are given as bits.
type converters struct {
	// widenF16 and widenBF16 convert to float32, which is exact.
	widenF16, widenBF16 func(dst []float32, ldd int, src []uint16, lds, n, d int)

	// widenInt8 converts scaled integers; group neighbours share a scale,
	// 1 ≤ group ≤ d:
	//
	//	dst[r·ldd+x] = float32(src[r·lds+x])·scales[r·lsc+x/group]
	widenInt8 func(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int)

	// narrowF16 and narrowBF16 round to the nearest number, ties to even, beyond
	// the largest to infinity. Every NaN becomes 0x7e00 or 0x7fc0.
	narrowF16, narrowBF16 func(dst []uint16, ldd int, src []float32, lds, n, d int)
}
