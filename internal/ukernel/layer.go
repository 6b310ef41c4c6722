package ukernel

// A Layer is what an instruction set has of a table of kernels T, such as [SkinnyKernels]. Kernels
// that it lacks are nil. A tier is package fallback's table, on which such layers are laid.
type Layer[T any] struct {
	ISA string // instruction set, in lower case: "avx2"

	// Needs are the CPU features that the kernels use, as package cpuid names them.
	Needs []string

	// Variant tells kernels with the same results apart, of which the tuning of a CPU chooses one:
	// "QK=S1L1". It is empty if there is one kernel.
	Variant string

	// Lanes is the width of the query tile of Products, and that of a vector of LaneKernels and
	// Gradients, which work on tiles of its multiples, and of Machine. It is 0 for other tables.
	Lanes int

	Kernels T
}
