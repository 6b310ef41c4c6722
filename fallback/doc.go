// Package fallback is no API of this project. It holds the micro-kernels in plain Go, without
// assembly and dependencies, the same for every architecture, as the tables that package
// internal/ukernel specifies. They run where a tier has no assembly of a kernel, and they are the
// definition that the assembly must equal bit for bit.
//
// For tests there is also attention in float64, see [Oracle].
package fallback
