// Package scalar computes the numeric contract's functions of single numbers, the same on every
// architecture: the fused multiply-add, exponentials and their kin, activations, conversions, and
// the random numbers of dropout. Kernels in Go and the engines around the kernels use it.
//
// All rests on [FMA], which is an instruction if the compiler offers one and an exact emulation
// otherwise. Every other product is written float32(a*b): without the conversion a compiler may
// fuse it with an addition that follows, and the bits would depend on the architecture.
//
// A fast loop takes the steps of FMA itself, because the compiler inlines them: it calls [MulAdd],
// asks [Rare], and calls FMA if that returns true.
package scalar
