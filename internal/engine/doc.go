// Package engine computes one call of attention, from a plan to the result.
//
// A [Job] holds the call. It is cut into tasks (plan.go), which goroutines take one by
// one. A task is some query tiles of a KV head, all tiles of several small KV heads, or
// one key block of a tile (split-KV, split.go). For each block of 256 keys a tile goes
// through
//
//	scores     S = K·Q̂ᵀ and its score modifications   scores.go, scoremod.go, sparse.go, additive.go
//	softmax    p = exp2(s-m), sums, dropout             softmax.go
//	PV         O = p·V, merged with earlier blocks      pv.go
//
// and ends with the epilogue (epilogue.go, outputs.go). Tiles of few rows use the
// skinny kernels (skinny.go). Rows that end as NaN are computed again without their
// hidden keys (nanpath.go).
//
// The engine trusts its caller: package kernel has checked every argument.
package engine
