package ukernel

// TileKernels are the micro-kernels for query tiles of one width.
type TileKernels struct {
	// Lanes is the width w of the tile, at most MaxLanes. The slices max, sum, lo,
	// hi, off, pos, ... below have exactly w elements.
	Lanes int

	Products
	LaneKernels
}

// Products are the matrix products for query tiles of one width.
type Products struct {
	// Gemm is the product of m rows of A with the k rows of B, in segments of seg ≥ 1
	// steps, of which the last may be shorter:
	//
	//	acc = fma chain over the steps x of a segment, ascending, from +0: acc = fma(a[i·rs+x·cs], b[x·ldb+lane], acc)
	//	c[i·ldc+lane] = the sum of acc over the segments, ascending
	//
	// If load is true, c itself is the first summand. i < m, lane < w.
	Gemm func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool)

	// GemmMax is Gemm without load that also updates the running maximum of every lane:
	// max[lane] = max(c[i·ldc+lane], max[lane]), i ascending.
	GemmMax func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32)

	// GemmEvenOdd multiplies m rows of A with the k rows of B in bfloat16. The elements are some
	// bf(x) of the contract as float32, the steps come in segments of BF16Segment, the last segment
	// may be shorter, and an only segment may be empty:
	//
	//	e = fma chain over the steps x = 0, 2, 4, ... of a segment, ascending, from +0:
	//	    e = fma(a[i·rs+x·cs], b[x·ldb+lane], e)
	//	o = the same over the steps 1, 3, 5, ...
	//	c[i·ldc+lane] = the sum of e+o over the segments, ascending
	//
	// If load is true, c itself is the first summand. i < m, lane < w.
	GemmEvenOdd func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)

	// GemmMerge merges a product of a single segment into the content of c:
	// c = fma(acc, beta[lane], c·alpha[lane]).
	GemmMerge func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32)
}

// LaneKernels are the micro-kernels that work on the lanes of a query tile of any
// width that is a multiple of a vector's.
//
// Those that change scores end with max[lane] = max(s[j·ld+lane], max[lane]), j
// ascending over the n rows.
type LaneKernels struct {
	// MaskSpan hides scores by select, for n rows of which the first has number j0:
	// s[j·ld+lane] stays if lo[lane] ≤ j0+j < hi[lane], else it becomes -Inf.
	MaskSpan func(s []float32, ld, j0, n int, lo, hi []int32, max []float32)

	// MaskBool hides scores by select, for n rows: s[j·ld+lane] becomes -Inf where
	// keep[off[lane]+j] == hidden. Lanes may share a row of keep.
	MaskBool func(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32)

	// Softcap limits scores, for n rows, with every product rounded:
	//
	//	s[j·ld+lane] = limit·tanh(s[j·ld+lane]·inv)
	Softcap func(s []float32, ld, n int, limit, inv float32, max []float32)

	// ALiBi adds a bias that is linear in the distance between query and key, for n
	// rows of which the first is key j0:
	//
	//	s[j·ld+lane] = fma(slopes[lane], -float32(|pos[lane]-(j0+j)|), s[j·ld+lane])
	//
	// 0 ≤ j0+j < 2^31 and |pos[lane]-(j0+j)| < 2^31; pos may be negative. The distance is
	// rounded to float32, ties to even.
	ALiBi func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32)

	// Bias adds a bias in natural units, one row of src per lane:
	//
	//	s[j·ld+lane] = fma(b, log2 e, s[j·ld+lane]), j < n, b = src[off[lane]+j] limited to ±contract.MostBias
	//
	// and the bias itself, by select, where it is infinite or a NaN. Lanes may share a row of src.
	Bias func(s []float32, ld, n int, src []float32, off []int, max []float32)

	// Softmax turns n rows of scores into weights in place: p = weight(s - z), where z = max[lane],
	// or 0 if that is -Inf, and weight(x) is scalar.Weight (then hidden scores give 0, and a NaN
	// stays one). It sets sum[lane] to the sum of p, j ascending, from +0.
	Softmax func(s []float32, ld, n int, max, sum []float32)

	// SoftmaxBF16 is Softmax whose weights are rounded: p = bf(weight(s - z)) of the contract,
	// which the sum takes, too.
	SoftmaxBF16 func(s []float32, ld, n int, max, sum []float32)

	// Dropout drops weights, for n rows of which the first is key j0 ≥ 0:
	// p = p·scale if the weight's random number is at least threshold, else p = +0.
	// The number is word (j0+j) mod 4 of Philox4x32-10 at the counter (sequence,
	// head[lane], pos[lane], (j0+j)/4), whose last word is cut to 32 bits. keys are
	// the round keys that scalar.PhiloxKeys derives from the seed.
	Dropout func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32)

	// MergeStats merges the statistics of a block into the running ones and returns
	// the factors for the output, per lane:
	//
	//	m' = max(blockMax, max), z = m' with 0 for -Inf
	//	alpha = weight(max - z), beta = weight(blockMax - z)
	//	sum = fma(blockSum, beta, sum·alpha), max = m'
	//
	// A side that has seen no key (-Inf, sum 0) changes nothing in the other.
	MergeStats func(max, sum, blockMax, blockSum, alpha, beta []float32)

	// Pack transposes query rows into a packed panel and scales them: dst[x·ld+lane] =
	// src[off[lane]+x]·scale, x < d. The first n lanes have a row each, 1 ≤ n ≤ w. off repeats its
	// n-th entry after that, and the lanes from n on receive any of the n rows.
	Pack func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32)

	// Unpack normalises the output of a tile and transposes it back into rows:
	// dst[off[lane]+x] = src[x·ld+lane]·inv + (+0), x < d, inv = 1/sum[lane], or 0 for
	// a sum of 0, for the first n lanes. off repeats its n-th entry after that. The
	// lanes from n on may hold anything: what is written of them to the n-th row is
	// overwritten by the n-th lane. Bit lane of the result reports a NaN in the row;
	// bits from n on mean nothing.
	Unpack func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64

	// Round makes numbers whose products with integers have exact sums, lane by lane: n rows, each
	// multiplied by a number of its own, become multiples of a power of two.
	//
	//	x              = s[j·ld+lane]·scales[j·lsc], rounded
	//	unit[lane]     = 2^(e-bits), where 2^e ≤ a < 2^(e+1) for the largest magnitude a of the lane's x
	//	dst[j·ld+lane] = x rounded to a multiple of unit[lane], ties to even, and +0 in the place of -0
	//
	// If a is below 2^-100 all of the lane are +0 and so is its unit; if it is 2^100 or more, or
	// one x is NaN, all are 0x7fc00000. n ≥ 1, bits is 10 or 11. dst may be s. unit has w elements.
	Round func(dst, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32)

	// ScaleRows multiplies n rows of a by a number of their row, each product rounded:
	//
	//	s[j·ld+lane] = a[j·lda+lane]·scales[j·lsc], or with load fma(a[j·lda+lane], scales[j·lsc], s[j·ld+lane])
	//
	// a may be s.
	ScaleRows func(s []float32, ld int, a []float32, lda, n int, scales []float32, lsc int, load bool, max []float32)

	// CodeScores, CodeValues and CodeMerge are for tiles what SkinnyKernels.QKCodes and PVCodes are
	// for few rows. Integers lie in pairs, the first in the low half of a word: SkinnyKernels.Pairs
	// makes the pairs of queries and weights, Converters.PairColumns and PairRows the pairs of K
	// and V. A tier without them takes the products for float32.
	//
	// CodeScores takes d ≤ CodesColumns columns, a multiple of SkinnyGroup, and m ≥ 1 keys:
	//
	//	s[j·w+lane] = (unit[lane]·float32(sum of q[x][lane]·k[j][x], x < d))·scales[j·lsc]
	//
	// with both products rounded, then max as in GemmMax.
	CodeScores func(a CodeScoresArgs)

	// CodeValues takes the sum over pairs of keys, 1 to ValueSegment/2. dv is a multiple of
	// SkinnyGroup:
	//
	//	x           = float32(sum of p[j][lane]·v[j][e] over the keys)
	//	o[e·w+lane] = fma(x, unit[lane], +0), or with load fma(x, unit[lane], o[e·w+lane])
	CodeValues func(a CodeValuesArgs)

	// CodeMerge merges the output of a block, n rows of it, into the running one:
	// o[e·w+lane] = fma(part[e·w+lane], beta[lane], o[e·w+lane]·alpha[lane]).
	CodeMerge func(o, part []float32, n int, alpha, beta []float32)

	// HeadScores computes the scores of few keys for lanes that are rows of different KV heads,
	// each with keys of its own. d is a multiple of HeadColumns and at most ColumnSegment:
	//
	//	s[j·w+lane] = fma chain over x = 0..d-1 ascending, from +0: acc = fma(k[off[lane]+j·ldk+x], q[x·w+lane], acc)
	//	max[lane]   = the largest of them, from -Inf on, j ascending over 0..m-1, m ≥ 1
	//
	// off repeats its last entry in idle lanes.
	HeadScores func(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32)
}

// CodeScoresArgs are the arguments of LaneKernels.CodeScores. Names are as in its contract.
type CodeScoresArgs struct {
	S      []float32
	K      []int32 // [M][D/2]
	Scales []float32
	Lsc    int     // floats from one row's scale to the next row's
	Q      []int32 // [D/2][w]
	Unit   []float32
	M      int // rows of K and S
	D      int // columns of K
	Max    []float32
}

// CodeValuesArgs are the arguments of LaneKernels.CodeValues. Names are as in its contract.
type CodeValuesArgs struct {
	O     []float32
	V     []int32 // [Pairs][Dv]
	P     []int32 // [Pairs][w]
	Unit  []float32
	Pairs int // of keys
	Dv    int // columns of V, rows of O
	Load  bool
}
