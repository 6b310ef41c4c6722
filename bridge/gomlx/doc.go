// Package gomlx has attention for GoMLX's backend in pure Go (github.com/gomlx/compute) by the
// kernels of attn. [SDPA] is a function for the backend's hook SetSDPAArchDispatcher, through
// which its own kernels for AVX2 and AVX-512 are called.
//
// That hook is in an internal package: a program cannot set it. The package internal/hook does,
// by a link name, for the tests, the benchmarks and the command similar of this module. README.md
// has the few lines with which the hook would be public.
package gomlx
