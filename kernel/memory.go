package kernel

import "github.com/attn-go/attn/internal/parallel"

// ReleaseMemory frees the scratch memory that calls of this module have left for calls to
// come, so that the next garbage collection takes it. Other goroutines may call anything
// meanwhile: what a running call uses is not touched. The next calls allocate anew.
//
// There is seldom need for it. Calls take scratch memory for their threads, and split-KV
// and package layer take more. It is recycled: in the steady state, where calls repeat,
// they allocate nothing. Memory that no call has needed for three to seven garbage
// collections is freed in any case, and no more than 256 MiB are kept.
func ReleaseMemory() { parallel.Release() }
