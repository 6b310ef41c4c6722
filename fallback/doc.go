// Package fallback is no API of this project. It holds the micro-kernels in plain Go,
// without assembly and dependencies, the same for every architecture. It runs where no
// faster tier does, and it is the definition that the assembly must equal bit for bit.
// Package internal/ukernel specifies the kernels and the rules that they keep.
//
// All kernels rest on [FMA], the float32 fused multiply-add, which is an instruction if
// the compiler offers one and an exact emulation otherwise. Every other product is
// written float32(a*b): without the conversion a compiler may fuse it with an addition
// that follows, and the bits would depend on the architecture.
//
// For tests there are also simple versions of the products for tiles of any width, see
// [GemmW], and a float64 [Oracle].
package fallback
