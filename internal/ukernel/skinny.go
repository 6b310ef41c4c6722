package ukernel

import "github.com/attn-go/attn/contract"

// SkinnyKernels are the micro-kernels for query tiles of few rows, as in decoding. There a tile
// leaves most lanes idle, and reading K and V takes the time. So the products put keys, and columns
// of V, into the lanes, and the output lies in rows:
//
//	S [256][w]  as in other tiles
//	O [n][Dv]   running output
//
// The order of the operations on a row is the same, and so are its bits. w, the
// tile's width, is a multiple of 4.
//
// The arguments next and far are prefetch hints: at next begin as many rows as the
// call works on, with the same stride, that will be needed soon; those at next+far
// are needed after them, or with a negative far before them, and are prefetched into
// the second-level cache, unless far is 0. Their content does not matter, nor whether
// there is memory.
type SkinnyKernels struct {
	// QK is GemmMax for n queries in the first lanes of the packed panel q. A is K as
	// it lies, m ≥ SkinnyKeys rows of d ≥ SkinnyColumns columns; B is q.
	//
	//	acc = fma chain over the columns x of a segment, ascending, from +0: acc = fma(k[j·ldk+x], q[x·w+lane], acc)
	//	s[j·w+lane] = the sum of acc over segments of ColumnSegment columns, ascending
	//
	// then max as in GemmMax. The lanes from n up to a multiple of 4 repeat
	// lane n-1. Those after them repeat the 4 before.
	QK func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int)

	// PV is the product of n lanes of the weights p with m rows of V:
	//
	//	o[i·ldo+e] = fma chain over j = 0..m-1 ascending, acc = fma(p[j·ldp+i], v[j·ldv+e], acc)
	//
	// from +0, or from o itself if load is true. i < n, e < dv.
	PV func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, next []float32, far int)

	// QK and PV for K or V of another type, given as in Converters and widened in registers. dv,
	// and d of 16 bits, are tier.NarrowLeast or more, d of other types SkinnyGroup. All are
	// multiples of tier.NarrowStep. Where a tier has none for a type, K and V are widened before
	// the call.
	QKF16, QKBF16 func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)
	PVF16, PVBF16 func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)

	// QK and PV for int8, where group neighbours of a row share a scale; group is a multiple of
	// SkinnyGroup, or not less than d or dv. QKInt8 takes the scales with the keys side by side,
	// PVInt8 row by row:
	//
	//	k[j·ldk+x] stands for float32(k[j·ldk+x])·scales[x/group·lsc+j]
	//	v[j·ldv+e] stands for float32(v[j·ldv+e])·scales[j·lsc+e/group]
	QKInt8 func(a QKInt8Args)
	PVInt8 func(a PVInt8Args)

	// QKRows and PVRows are QK and PV with rows that lie anywhere: row j begins off[j] bytes after
	// the start of k or v, and len(off) ≥ 1 is m. next has as many offsets, of rows that will be
	// needed soon, whose content does not matter. A tier without them copies rows side by side.
	QKRows                func(s, k []float32, off []int, q []float32, n, d int, max []float32, next []int)
	QKRowsF16, QKRowsBF16 func(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, next []int)
	QKRowsInt8            func(a QKRowsInt8Args)
	PVRows                func(o []float32, ldo int, v []float32, off []int, p []float32, ldp, n, dv int, load bool, next []int)
	PVRowsF16, PVRowsBF16 func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, next []int)
	PVRowsInt8            func(a PVRowsInt8Args)

	// The same for types that have no kernels for rows at equal distances. QKRowsInt4 and
	// PVRowsInt4 are QKRowsInt8 and PVRowsInt8 with two integers in a byte, the first in its low
	// half. d and dv are even and PackedColumns or more; group is a multiple of that, or not less
	// than d or dv. Where a tier has none, rows are widened to 16 bits and to int8 before the call.
	QKRowsF8E4M3, QKRowsF8E5M2 func(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, next []int)
	PVRowsF8E4M3, PVRowsF8E5M2 func(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, next []int)
	QKRowsInt4                 func(a QKRowsInt8Args)
	PVRowsInt4                 func(a PVRowsInt8Args)

	// HalvesE4M3 makes bfloat16 of n rows of Float8E4M3, and HalvesE5M2 binary16 of Float8E5M2,
	// which have all of their numbers: row r of d ≥ HalvesColumns elements from src[r·lds:] to
	// dst[r·ldd:]. The NaN of E4M3 becomes 0x7ff0 with its sign. Rows are prefetched as if others
	// followed at the same distance. Where a tier has none, such rows are widened to float32.
	HalvesE4M3, HalvesE5M2 func(dst []uint16, ldd int, src []byte, lds, n, d int)

	// QKEvenOdd and PVEvenOdd are products in bfloat16 with K and V of bfloat16 whose rows lie
	// anywhere, see QKRows. Numbers below 2^-56 in magnitude count as +0. dv is a multiple of
	// SkinnyGroup. Where a tier has none, few rows take the kernels of tiles.
	//
	// QKEvenOdd is QK with the sums of Products.GemmEvenOdd, each multiplied by scale, rounded,
	// before max. q has rows of -0 after row d-1 up to a multiple of SkinnyColumns. The lanes of q
	// up to a multiple of 8 may be read. Those from n up to a multiple of 4 repeat lane n-1; those
	// after them stay, and so do their maxima.
	QKEvenOdd func(s []float32, k []uint16, off []int, q []float32, n, d int, scale float32, max []float32, next []int)

	// PVEvenOdd is the product of n lanes of the weights p with m ≥ 1 rows of V, in segments of
	// BF16Segment rows:
	//
	//	o[i·ldo+e] = Products.GemmEvenOdd's sum of p[j·ldp+i] times column e of row j of V over j < m
	//
	// With load o itself is the first summand. The lanes of p up to a multiple of 8 may be read.
	// i < n, e < dv.
	PVEvenOdd func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, next []int)

	// QKCodes, Pairs and PVCodes are products of integers. In place of q̂ and the weights they take
	// integers q and p and their units, as LaneKernels.Round makes them with 10 and 11 bits: q is
	// at most 2^11 in magnitude and p at most 2^12. Where a tier has none, queries and weights are
	// rounded as float32.
	//
	// QKCodes takes d columns of m ≥ SkinnyKeys keys that lie anywhere, see QKRows. group
	// neighbours of a row share a scale, a multiple of SkinnyGroup and at most CodesColumns; the
	// scales lie as for QKInt8:
	//
	//	a[g]        = sum of q[lane][x]·k[off[j]+x] over the columns x of group g
	//	x[g]        = unit[lane]·float32(a[g])
	//	s[j·w+lane] = x[0]·scales[j], and then for g = 1, 2, ...
	//	s[j·w+lane] = fma(x[g], scales[g·lsc+j], s[j·w+lane])
	//
	// with both products rounded, then max as in GemmMax. The lanes from n up to a multiple of 4
	// repeat lane n-1, those after them stay, and so do their maxima. q has pairs of columns: in
	// q[(2x+i)·w+lane], i < 2, column 4x+i is the low half and 4x+i+2 the high one. With one
	// query, q[x] has columns 2x and 2x+1.
	QKCodes func(a QKCodesArgs)

	// QKCodes4 is QKCodes for integers of 4 bits, as Converters.WidenInt4 takes them. group and d
	// are multiples of CodesColumns4. q has pairs of columns: in q[(4x+i)·w+lane], i < 4, column
	// 8x+i is the low half and 8x+i+4 the high one.
	QKCodes4 func(a QKCodesArgs)

	// Pairs makes the integers of n rows, in pairs of rows, of which the last may lack its second:
	//
	//	pairs[j/2·w+lane] = row j's integer in the low half for an even j, else in the high one
	//
	// where a row's integer is the rounded number of LaneKernels.Round divided by unit[lane], 0 for
	// a unit of 0 or NaN. The rows are weights, at most ValueSegment of them, or columns of
	// queries.
	Pairs func(pairs []int32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32)

	// GroupPairs is Pairs of the same four lanes with the scales of an even number of groups: group
	// g has the scale scales[j·lsc+g] of row j, units from unit[4g] on, and pairs from pairs[g·lpg]
	// on, four side by side. There are len(unit)/4 groups.
	GroupPairs func(pairs []int32, lpg int, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32)

	// PVCodes is the product of n lanes of such integers with m rows of V that lie anywhere, see
	// PVRows, 1 ≤ m ≤ ValueSegment. group neighbours of a row share integers and units, a multiple
	// of SkinnyGroup that divides dv: group g has p from pairs[g·lpg:] on and u from unit[g·ldp:].
	//
	//	x          = float32(sum of p[j][i]·v[off[j]+e], j < m)
	//	o[i·ldo+e] = x·u[i], or with load fma(x, u[i], o[i·ldo+e])
	PVCodes func(a PVCodesArgs)

	// PVCodes4 is PVCodes for integers of 4 bits. group is a multiple of CodesColumns4.
	PVCodes4 func(a PVCodesArgs)

	// Softmax is LaneKernels.Softmax for the first lanes of a tile: max and sum have
	// SkinnyLanes elements. The elements between these lanes and the next row may hold
	// anything afterwards.
	Softmax func(s []float32, ld, n int, max, sum []float32)

	// Merge merges the output of a block into the running one:
	// o[i·ldo+e] = fma(part[i·ldp+e], beta[i], o[i·ldo+e]·alpha[i]).
	Merge func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32)

	// Unpack is LaneKernels.Unpack for an output in rows:
	// dst[off[i]+e] = o[i·ldo+e]·inv + (+0), inv = 1/sum[i], or 0 for a sum of 0.
	// n ≤ 64. Bit i of the result reports a NaN in row i.
	Unpack func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64

	// HeadValues is the product of the weights with V and LaneKernels.Unpack in one, for the first
	// n lanes of a tile, which are rows of different KV heads, each with values of its own:
	//
	//	o                = fma chain over j = 0..m-1 ascending, from +0: acc = fma(p[j·ldp+lane], v[offv[lane]+j·ldv+e], acc)
	//	dst[off[lane]+e] = o·inv + (+0), e < dv, inv = 1/sum[lane], or 0 for a sum of 0
	//
	// m ≥ 1, n ≥ 1. Bit lane of the result reports a NaN in the row. Only the first n lanes matter.
	HeadValues func(dst []float32, off []int, v []float32, offv []int, ldv int, p []float32, ldp, n, m, dv int, sum []float32) uint64

	// Additive computes the additive scores of n queries and m keys, i < n and j < m:
	//
	//	acc[x mod 16] = fma chain over x = 0..len(weights)-1 ascending, acc = fma(weights[x], tanh(q[i·ldq+x] + k[j·ldk+x]), acc)
	//	s[j·ld+i]     = their sum: acc[r] += acc[r+8] for r < 8, then acc[r+4] for r < 4, acc[r+2], acc[r+1]
	//
	// from +0. len(weights) is a multiple of 16. next is a prefetch hint as in
	// SkinnyKernels.
	Additive func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32)
}

// PVInt8Args are the arguments of SkinnyKernels.PVInt8. Names are as in its contract and of PV's.
type PVInt8Args struct {
	O      []float32
	Ldo    int
	V      []int8
	Ldv    int
	Scales []float32
	Lsc    int // floats from one row's scales to the next row's
	Group  int // columns that share a scale
	P      []float32
	Ldp    int
	N      int    // lanes of P, rows of O
	M      int    // rows of P and V
	Dv     int    // columns of V and O
	Load   bool   // whether to add to O
	Next   []int8 // prefetch hint
	Far    int    // prefetch hint
}

// QKInt8Args are the arguments of SkinnyKernels.QKInt8. Names are as in its contract and of QK's.
type QKInt8Args struct {
	S      []float32
	K      []int8
	Ldk    int
	Scales []float32
	Lsc    int // floats from one group's scales to the next group's
	Group  int // columns that share a scale
	Q      []float32
	N      int // queries
	M      int // rows of K and S
	D      int // columns of K
	Max    []float32
	Next   []int8 // prefetch hint
	Far    int    // prefetch hint
}

// PVRowsInt8Args are the arguments of SkinnyKernels.PVRowsInt8. Names are as in PVInt8Args.
type PVRowsInt8Args struct {
	O      []float32
	Ldo    int
	V      []int8
	Off    []int // of the rows of V, in bytes
	Scales []float32
	Lsc    int
	Group  int
	P      []float32
	Ldp    int
	N      int
	Dv     int
	Load   bool
	Next   []int // prefetch hint, as long as Off
}

// QKRowsInt8Args are the arguments of SkinnyKernels.QKRowsInt8. Names are as in QKInt8Args.
type QKRowsInt8Args struct {
	S      []float32
	K      []int8
	Off    []int // of the rows of K, in bytes
	Scales []float32
	Lsc    int
	Group  int
	Q      []float32
	N      int
	D      int
	Max    []float32
	Next   []int // prefetch hint, as long as Off
}

// QKCodesArgs are the arguments of SkinnyKernels.QKCodes. Names are as in its contract and of QK's.
type QKCodesArgs struct {
	S      []float32
	K      []int8
	Off    []int // of the rows of K from its start, in bytes
	Scales []float32
	Lsc    int // floats from one group's scales to the next group's
	Group  int // columns that share a scale
	Q      []int32
	Unit   []float32
	N      int // queries
	D      int // columns of K
	Max    []float32
	Next   []int // prefetch hint, as long as Off
}

// PVCodesArgs are the arguments of SkinnyKernels.PVCodes. Names are as in its contract.
type PVCodesArgs struct {
	O     []float32
	Ldo   int
	V     []int8
	Off   []int   // of the rows of V from its start, in bytes
	Pairs []int32 // of SkinnyKernels.Pairs
	Ldp   int     // from a pair of rows to the next, GroupLanes or a multiple of the lanes of the narrowest tile; all up to there may be read
	Lpg   int     // from the pairs of a group to the next group's
	Unit  []float32
	Group int // columns that share pairs
	N     int // rows of O
	Dv    int // columns of V and O
	Load  bool
	Next  []int // prefetch hint, as long as Off
}

// The lengths of the contract's segments, in steps of a product.
const (
	ColumnSegment = contract.ColumnSegment // columns of a score
	InputSegment  = contract.InputSegment  // inputs of a linear layer
	ValueSegment  = contract.ValueSegment  // keys in a sum of quantized weights
)

const (
	SkinnyKeys    = 16 // least keys of a QK kernel
	SkinnyColumns = 8  // least columns of a QK kernel
	HeadColumns   = 8  // divides the columns of HeadScores
	SkinnyGroup   = 16 // divides the columns of the kernels for narrow types
	PackedColumns = 32 // least columns of QKRowsInt4 and PVRowsInt4
	HalvesColumns = 64 // least columns of HalvesE4M3 and HalvesE5M2
	HalvesAhead   = 64 // rows from the current one to the prefetched one, as if distances were equal
	SkinnyLanes   = 4  // lanes of SkinnyKernels.Softmax

	GroupLanes    = 4  // of GroupPairs
	CodesColumns4 = 32 // divides the columns of QKCodes4 and PVCodes4

	CodesColumns = 2 * ColumnSegment // most columns of QKCodes: float32 rounds the sum of two segments as it rounds the sum of all columns
)
