// Package hook sets the function by which GoMLX's backend in pure Go computes attention. The
// backend's own function for that, SetSDPAArchDispatcher, is in an internal package, so that no
// other module can import it. This package takes it by its link name. That is for tests and
// measurements with the one version of the backend that go.mod names: another one may give the
// function other arguments, and no compiler would notice.
package hook

import (
	_ "unsafe" // for go:linkname

	_ "github.com/gomlx/compute/gobackend" // links the backend
)

// An SDPA computes attention for the query heads that share a key head, see gomlx.SDPA. If it
// returns false, the backend computes them itself.
type SDPA = func(
	q, k, v, output []float32,
	qOff, kvOff, qSeqStride, kvSeqStride, qGroupStride int,
	additiveMask []float32,
	booleanMask []bool,
	maskGroupStride int,
	additiveBias []float32,
	biasGroupStride int,
	scoresScratch []float32,
	groupSize, seqLen, kvLen, headDim int,
	scale float32, causal bool,
	qLimit, kvLimit int,
) bool

//go:linkname setDispatcher github.com/gomlx/compute/internal/gobackend.SetSDPAArchDispatcher
func setDispatcher(priority int, fn SDPA)

//go:linkname getDispatcher github.com/gomlx/compute/internal/gobackend.GetSDPAArchDispatcher
func getDispatcher() SDPA

// priority is the backend's PriorityUser, above its own functions' priorities.
const priority = 100

// Get returns the function that is set: the backend's own for AVX2 or AVX-512 if the program is
// built with GOEXPERIMENT=simd and the CPU has that, else nil.
func Get() SDPA { return getDispatcher() }

// Set makes all backends of the program compute attention of float32 by f, or by what the
// backend has in plain Go if f is nil. No graph may be executed meanwhile.
func Set(f SDPA) { setDispatcher(priority, f) }
