package ukernel

// Machine are functions that are no part of a computation: they wait, and measure a CPU.
type Machine struct {
	// Pause waits a moment, some tens of cycles, and leaves the core to the thread that shares it.
	// A loop that waits for another thread calls it between two checks.
	Pause func()

	// Peak executes n times 24 independent FMAs of full vectors, to measure the FMA peak of a core.
	Peak func(n int)

	// Read reads all of p but the remainder of less than 1024 bytes, to measure the bandwidth of
	// caches and memory.
	Read func(p []float32)

	// VectorLanes returns how many float32 a vector register has, on architectures whose CPUs
	// differ in that. It is 0 if the CPU implements a draft of the instruction set.
	VectorLanes func() int

	// TileInt8 and TileBF16 multiply tiles once, to find out whether a unit for tiles has the bits
	// that kernels rely on. a, b and c have 16 rows of 16 words:
	//
	//	c[i][j] += sum over words g < 16 and bytes n < 4 of a[i][g].n·b[g][j].n, of int8
	//	c[i][j] += e + o, with e = fma(a[i][g].0, b[g][j].0, e), o = fma(a[i][g].1, b[g][j].1, o),
	//	g ascending from 0 to 15, of bfloat16 in the lower and the upper half of words; e and o
	//	begin with +0
	TileInt8 func(c []int32, a, b []uint32)
	TileBF16 func(c []float32, a, b []uint32)
}

// maxCallFMAs is the number of FMAs of the longest call of a kernel: about 90 µs on
// two 128-bit FMA units at 3 GHz, a fourth of that on two of 512 bits.
const maxCallFMAs = 2 << 20

// RowsPerCall returns how many of n rows of a product to compute in one call, if a
// row takes so many FMAs: at least 1.
func RowsPerCall(n, fmas int) int {
	if n*fmas <= maxCallFMAs {
		return n
	}
	return max(1, maxCallFMAs/fmas)
}

// maxCallFloats is the number of floats of the longest call of a kernel that moves rows from
// one layout to another: 40 µs or less on the CPUs measured.
const maxCallFloats = 64 << 10

// IsOneCall tells whether such a call may take all d columns of n rows.
func IsOneCall(d, n int) bool { return d*n <= maxCallFloats }

// ColumnsPerCall returns how many of d columns such a call should take for n rows: d, or a
// multiple of 64.
func ColumnsPerCall(d, n int) int {
	if IsOneCall(d, n) {
		return d
	}
	return maxCallFloats / n &^ 63
}
