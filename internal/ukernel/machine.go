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

	// VectorLanes returns how many float32 a vector register has, on architectures whose CPUs differ
	// in that. It is 0 if the CPU's vectors are not those of the instruction set, but of a draft of it.
	VectorLanes func() int
}
