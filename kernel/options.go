package kernel

// Options are the settings of one call. The zero value is plain bidirectional
// attention with scale 1/√D on the best tier of this CPU and all its threads.
type Options struct {
	// Scale multiplies the scores before the softmax; it must be finite. 0, the
	// default, means float32(1/√D), D the head size of q. (Equal weights for
	// all keys come from a q of zeros, not from a scale of 0.)
	Scale float32

	// Mask hides keys from queries. The default hides none.
	Mask Mask

	// Tier names the implementation: "generic", "avx2", "avx512", ... The
	// default, "", is what the environment variable ATTN_TIER names or else the
	// best that runs on this CPU; see [Tiers]. The choice never changes a bit
	// of the result.
	Tier string

	// Threads bounds the number of goroutines that work on the call, the
	// calling one included. 0, the default, means runtime.GOMAXPROCS(0). Small
	// calls use fewer. The number never changes a bit of the result.
	Threads int

	// Run, if not nil, is the program's own parallel-for, used instead of our
	// goroutines: it calls task(i) once for every i from 0 to n-1, at once or
	// one after the other, and returns when all have returned. n is at most
	// Threads. The same task is passed every time, so that a Run that does not
	// allocate keeps the call free of allocations.
	Run func(n int, task func(i int))
}
