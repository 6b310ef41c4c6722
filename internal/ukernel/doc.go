// Package ukernel defines the micro-kernels of attention, linear layers, norms and
// conversions: a table, which is a struct of functions, for each subject.
//
// The contract of a kernel stands here and nowhere else. Package fallback has every table in Go,
// package asm has overrides of the tables for instruction sets, see [Override], and package tier
// lays them on each other. The kernels are plain functions over slices and ints, so that assigning
// one to a field is the compile-time check of its signature. The module gen reads the signatures of
// the assembly from this package. A kernel with more than twelve arguments takes a struct of them,
// which lies on the stack as the arguments would, so that the assembly is the same. Others do not:
// Go copies a struct once more than a list, which made a call of PV take 25 ns in place of 13 on
// Zen 3, and short calls would pay for that.
//
// # Rules for all micro-kernels
//
//   - A kernel reads and writes the named elements and nothing else. It assumes
//     nothing about alignment. Counts may be 0. Strides count elements, unless a contract says
//     that they count bytes.
//   - Outputs do not overlap inputs.
//   - Every lane is computed by itself, in the order given, with one rounding per
//     fma and per operation. Results that are not NaN are specified to the bit. Of
//     a NaN only the fact is specified, not its payload or sign.
//   - max(x, y) means "x if x > y, else y": a NaN in x is ignored. It reaches the
//     row through its weight.
//   - A call takes at most about 100 µs, as assembly cannot be preempted. The
//     caller cuts its work accordingly, see [RowsPerCall].
//
// [Norms] differ: dst may be src, a sum goes over all lanes, in the order given, every NaN is
// 0x7fc00000, and a row is one call, however long it is.
//
// # Lanes
//
// A query tile is a set of query rows that are computed together, one row per
// lane. As every lane is its own sequential chain of the numeric contract,
// whatever the vector width, all tiers agree bit for bit. With w = lanes, the
// memory of a query tile is
//
//	Q̂ᵀ [D][w]    packed panel of scaled queries
//	S  [256][w]  scores of one key block, later its weights p
//	Oᵀ [Dv][w]   running output
//	max, sum [w] running maximum and sum of the softmax
package ukernel

// MaxLanes is the largest width of a query tile.
const MaxLanes = 64

// An Override is what an instruction set has of a table of kernels T, such as [SkinnyKernels].
// Kernels that it lacks are nil. A tier is package fallback's table, on which such overrides are
// laid.
type Override[T any] struct {
	ISA string // instruction set, in lower case: "avx2"

	// Needs are the CPU features that the kernels use, as package cpuid names them.
	Needs []string

	// Variant tells kernels with the same results apart, of which the tuning of a CPU chooses one:
	// "QK=S1L1". It is empty if there is one kernel.
	Variant string

	// Lanes is the width of the query tile of Products, and the width of a vector of LaneKernels
	// and Gradients, which work on tiles of its multiples, and of Machine. It is 0 for other
	// tables.
	Lanes int

	Kernels T
}
