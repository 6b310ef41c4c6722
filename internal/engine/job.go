// Package engine computes one call of attention, from a plan to the result.
//
// A [Job] holds the call. Its plan cuts it into tasks, which goroutines take one by one,
// and chooses a strategy for each bucket of them (plan.go, strategy.go). A task is some
// query tiles of a KV head, all tiles of several small KV heads, or one key block of a
// tile (split-KV, split.go). For each block of 256 keys a tile goes through
//
//	scores     S = K·Q̂ᵀ and its score modifications   scores.go, scoremod.go
//	softmax    p = exp2(s-m), sums, dropout             softmax.go
//	values     O = p·V, merged with earlier blocks      the strategy
//
// and ends with what finish.go and outputs.go write. The steps that depend on the
// strategy are in panel.go, skinny.go, integers.go, additive.go and
// exact.go, where rows that end as NaN are computed again without their hidden keys.
//
// The engine trusts its caller: package kernel has checked every argument.
package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// A Job is the state of one call. Jobs are recycled with all memory that they need, so
// that in the steady state a call allocates nothing.
type Job struct {
	Call    Call
	derived derived
	tier    *tier.Tier
	plan    plan

	goroutines parallel.Group[scratch, shape]
	ring       ring

	// splittable says that split-KV is possible. It is not if some goroutines of the call
	// may be in a bubble of testing/synctest and others not, because sync.Cond, with which
	// they wait for each other, cannot wake across bubbles.
	splittable bool

	keepsCapped bool // Scorers keep the scores after the softcap

	listedMask mask.Mask   // of a call with lists, but for its bool views
	named      kvrows.Rows // that are the keys of a call with lists or a tree

	widened       widened
	weightsMemory []float32 // of derived.additive
	weightsUsage  parallel.Usage
	memory        parallel.Memory
}

var (
	jobs = parallel.FreeList[Job]{
		New:    newJob,
		Memory: func(j *Job) *parallel.Memory { return &j.memory },
		OnFree: (*Job).free,
	}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func newJob() *Job {
	j := new(Job)
	j.ring.gate.Init()
	j.goroutines.Init(&scratches, func(s *scratch) { s.fit(j) }, func(s *scratch, i int) { j.task(s, i) })
	j.goroutines.OnStop = j.ring.gate.Stop
	j.goroutines.OnDrop = func() {
		j.memory.Forget()
		j.free()
	}
	return j
}

// free makes a Job that is not recycled hold no memory: tiles of other calls' threads may
// still point to it.
func (j *Job) free() {
	j.ring.free()
	j.weightsMemory, j.derived.additive = nil, nil
	j.widened.memory, j.widened.out = nil, view.Tensor{}
}

// New returns a Job whose Call is zero.
func New() *Job { return jobs.Get() }

// Run computes the call on at most threads goroutines, 0 for all, or by the caller's
// parallel-for. If the caller's Score or parallel-for panics or ends its goroutine, so
// does Run, after all goroutines have left the call. The job must be dropped then.
func (j *Job) Run(t *tier.Tier, threads int, parallelFor func(n int, task func(i int))) {
	j.tier = t
	j.derive()
	if j.isShort() {
		j.widen()
	}
	j.splittable = parallelFor == nil || !parallel.InBubble()
	j.plan.begin(j)
	j.plan.make(j, parallel.LimitFor(threads, j.plan.work.UsefulThreads(j.kvHeads(), j.rows(), j.keys())))
	j.ring.prepare(j)
	// The largest buckets come first, and nobody should take small ones before them.
	j.goroutines.Independent = j.plan.Split.Tasks == 0 && len(j.plan.Buckets) == 1
	j.goroutines.Run(j.plan.Tasks, j.plan.Threads, parallel.Reserve[shape]{Threads: j.plan.MostThreads, Shape: j.plan.shape}, parallelFor)
	j.finishShort()
}

// Drop is called instead of Release for a job whose call has failed.
func (j *Job) Drop() { jobs.Drop(j) }

// Release gives the job back. It forgets the caller's memory.
func (j *Job) Release() {
	j.Call = Call{}
	if j.derived.perQuery || j.derived.listed {
		j.listedMask, j.named = mask.Mask{}, kvrows.Rows{}
	}
	j.derived = derived{}
	j.keepsCapped = false
	j.ring.end()
	jobs.Put(j)
}
