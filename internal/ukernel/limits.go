package ukernel

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
