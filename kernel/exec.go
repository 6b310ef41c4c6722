package kernel

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/tier"
)

// Exec says how a call is executed: it is part of the options of every call that can
// use several threads. None of its fields changes a bit of the result. The zero
// value is the best tier of this CPU on all its threads.
type Exec struct {
	// Tier is the implementation, see [TierNamed]. The default, the zero Tier, is the one that the
	// environment variable ATTN_TIER names, or else the best one that runs on this CPU.
	Tier Tier

	// Threads is the most goroutines that work on the call, the calling one included.
	// 0, the default, means runtime.GOMAXPROCS(0). Small calls use fewer, and no call uses
	// more than 8 times GOMAXPROCS.
	//
	// The other goroutines belong to a pool of workers that all calls share. After a
	// call they spin for a moment, see [SetSpin]: calls of 10 µs and more that follow
	// each other without a pause find them awake. They yield to other goroutines, exit if
	// these need the processors, exit after 4 ms in any case, and keep no reference to
	// anything that the call was given.
	//
	// In a bubble of testing/synctest, a call starts goroutines of its own, which end with it.
	//
	// Where other programs keep the processors busy, a call waits for the one of its
	// goroutines that gets the least time: there, fewer threads are faster.
	Threads int

	// ParallelFor, if not nil, is the program's own parallel-for, which is used instead
	// of the pool. It must call task(i) once for every i from 0 to n-1, concurrently or
	// not, and return when all calls have returned. n is at most Threads, or GOMAXPROCS if
	// that is 0. The same task is passed every time, so a ParallelFor that does not
	// allocate keeps the call free of allocations. If it panics, the call panics with the
	// same value, after all goroutines have left it.
	ParallelFor func(n int, task func(i int))
}

// Check returns the error that every call with e returns before it computes anything: an
// [*Error] if e has the default tier and ATTN_TIER names none that runs here, or if Threads is
// negative. A program that prepares for long before its first call asks it at the
// start.
func (e Exec) Check() error {
	_, f := tier.Handle(e.Tier).Tier()
	if f = cmp.Or(f, check.Threads("Threads", e.Threads)); f != nil {
		return (*Error)(f.In("kernel.Exec.Check"))
	}
	return nil
}
