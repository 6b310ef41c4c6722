package kernel

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
)

// Options are the settings of one call, of three kinds. [Exec] says how it is executed, and changes
// no bit. [Scoring] determines the result. [Outputs] are results beside out, and change no bit of
// it. The zero value, for which nil stands too, is plain bidirectional attention on the best tier
// of this CPU and all its threads. With a causal mask that is
//
//	&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}
//
// Calls with other outputs have structs of the same parts: [BackwardOptions], [PartialOptions],
// [MergeOptions].
type Options struct {
	Exec
	Scoring
	Outputs
}

// Outputs are results of a call beside out. An output that is not set is not computed.
type Outputs struct {
	// LSE, if not the zero Tensor, receives the natural logarithm of the sum of the
	// exponentials of a row's scores, Sinks included: [B, H, Lq, 1]. It is -Inf for a
	// row that sees no key, and NaN if out's row is. [AttentionBackward] reads it.
	LSE Tensor

	// Weights, if not the zero Tensor, receives the weights with which the values are
	// summed: [B, H, Lq, Lk], 0 for hidden keys. A row whose sum is NaN is NaN as a whole.
	//
	// Scores, if not the zero Tensor, receives the scores at the stage ScoreStage, in
	// natural units: [B, H, Lq, Lk]. It is -Inf for keys beyond a key length, at any stage.
	//
	// Both make the call slower: memory for Lq·Lk numbers is written, and scores are computed
	// once more, unless there is room to keep them in Weights until the sum is known.
	Weights    Tensor
	Scores     Tensor
	ScoreStage ScoreStage
}

// ScoreStage names a stage between the product of a query with a key and its weight.
type ScoreStage uint8

const (
	// ScoresScaled are the products of queries and keys, scaled, for hidden keys too.
	ScoresScaled ScoreStage = iota
	// ScoresCapped are the scores after Options.Score and Options.Softcap.
	ScoresCapped
	// ScoresMasked are the scores that enter the softmax, -Inf where a key is hidden.
	ScoresMasked
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
	// Where other programs keep the processors busy, a call waits for its slowest goroutine: there,
	// fewer threads are faster.
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

// Split calls do for ranges of the numbers from 0 to n-1, from lo to hi-1 each, and for each number
// once: at the same time, on as many threads as a call with e has. It is for a program's own loops
// between calls. Goroutines that the program starts wait instead while workers spin, see [SetSpin].
// e.Tier does not matter.
//
// numbers is how many simple functions of a number the loop computes, about: with a few thousand do
// is called once, for all. Where the ranges end depends on the threads, and so no result should.
// A panic of do is the caller's, see [TaskPanic]. An error is a [*Error], and nothing is done then.
func (e Exec) Split(n, numbers int, do func(lo, hi int)) error {
	f := cmp.Or(check.Threads("e.Threads", e.Threads), check.Least("n", n, 0), check.Least("numbers", numbers, 0))
	if f == nil && do == nil {
		f = &check.Failure{Where: "do", Got: "nil", Want: "a function"}
	}
	if f != nil {
		return (*Error)(f.In("kernel.Exec.Split"))
	}
	splits.Run(&do, n, float64(numbers)/wakingNumbers, 0, e.Threads, e.ParallelFor)
	return nil
}

// wakingNumbers is how many simple functions take as long as waking a thread, about.
const wakingNumbers = 1 << 18

var splits = parallel.Loop[func(lo, hi int), struct{}]{
	Scratch: &parallel.NoScratch,
	Do:      func(do *func(lo, hi int), _ *struct{}, lo, hi int) { (*do)(lo, hi) },
}
