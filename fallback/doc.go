// Package fallback holds the micro-kernels in plain Go: no assembly, no
// dependency, the same for every architecture. It runs where nothing faster
// does, and it is the definition that the assembly must equal bit for bit. The
// rules its kernels keep are those of the struct panelKernels in package
// kernel.
//
// All of it rests on [FMA], the float32 fused multiply-add, which is a hardware
// instruction where the compiler offers one and an exact emulation elsewhere.
// Every other product is written float32(a*b): without the conversion a
// compiler may fuse it with an addition that follows, and the bits would depend
// on the architecture.
//
// Besides the kernels there are straightforward versions of the tiles for
// panels of any width ([GemmW] and its siblings) and a float64 [Oracle]; both
// are for tests.
package fallback
