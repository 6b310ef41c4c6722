// Package backward computes the gradients of one call of attention, from plan to result.
//
// The rows of a KV head are cut into segments of RowSegment, keys into blocks of KeyBlock, both
// by position. Scores are computed again, with the kernels of the forward pass. With S, P,
// dP and dS as [keys][rows], a segment goes through the blocks twice:
//
//	S = K·Q̂ᵀ, dP = V·dOᵀ, P = exp2(S - LSE), with the sums of P and P∘dP of each row
//
//	P = P/sum, dS = P∘(dP - mean), where mean is the sum of P∘dP over the sum of P
//	dV += P·dO, dK += dS·Q, dQ += dSᵀ·K
//
// The mean is also the sum of O∘dO, but the rounding of O would double the error of dQ. Dividing by
// the sum removes the error of LSE. P and dP are kept for the second pass if there are at most
// keptKeys of them, and computed again otherwise.
//
// A task has one segment of a KV head, or two that go through the blocks side by side. A segment
// adds to dK and dV block by block, and the first one sets them. Before each block it waits until
// the segment before it has added to that block. Tasks are numbered so that with several threads it
// seldom has to wait.
package backward

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// The lengths of the contract's chains.
const (
	KeyBlock   = 128 // keys in a chain of dq
	RowSegment = 64  // rows in a chain of dk and dv
	SumKeys    = 32  // keys in a chain of the sums of a row
)

// A Call is what one call computes. The arguments fit each other.
type Call struct {
	Forward engine.Call // of which LSE is read and Out is not used

	DOut       view.Tensor
	DQ, DK, DV view.Tensor // float32; the zero Tensor for what is not wanted
	DBias      view.Tensor // with the shape of the bias, or the zero Tensor
	DSinks     []float32   // nil if not wanted

	Accumulate bool // add each gradient to what is there, with one rounding, when it is complete
}

// A Job is the state of one call. Jobs are recycled with all memory that they need.
type Job struct {
	Call   Call
	tier   *tier.Tier
	scores *engine.Job
	plan   plan

	scale      float32 // natural units
	sums       sums
	goroutines parallel.Group[scratch, shape]
	phase      func(s *scratch, i int)
	phases     [2]func(s *scratch, i int) // made once: one per call would be an allocation per call

	// norms has what a row's gradients are computed with. The norms of KV head i begin at
	// i·maxRows.
	norms      []norm
	normsUsage parallel.Usage

	turns turns // of segments that add to dK and dV

	memory parallel.Memory
}

// A norm holds 1 over the sum of a row's weights, and the mean of their gradients.
type norm struct{ inv, mean float32 }

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
	j.phases = [...]func(s *scratch, i int){j.doTask, func(s *scratch, i int) { j.finishKeys(&s.segments[0], i) }}
	j.goroutines.Init(&scratches, func(s *scratch) { s.fit(j) }, func(s *scratch, i int) { j.phase(s, i) })
	j.turns.gate.Init()
	j.goroutines.OnStop = j.turns.gate.Stop
	j.goroutines.OnDrop = func() {
		j.scores.Drop()
		j.memory.Forget()
		j.free()
	}
	return j
}

func (j *Job) free() { j.norms, j.turns.done, j.sums = nil, nil, sums{} }

// New returns a Job whose Call is zero.
func New() *Job { return jobs.Get() }

// Run computes the call on at most threads goroutines, 0 for all, or by the caller's
// parallel-for. If that panics or ends its goroutine, so does Run, after all goroutines have
// left the call. The job must be dropped then.
func (j *Job) Run(t *tier.Tier, threads int, parallelFor func(n int, task func(i int))) {
	j.tier = t
	j.scores = engine.NewScores(&j.Call.Forward, t, RowSegment)
	j.scale = engine.NaturalScale(j.Call.Forward.Scale, j.d())
	j.plan = j.makePlan(threads)
	j.begin(parallelFor)
	finishing := j.kvHeads() * j.keyTasks()
	if j.turns.isAlone {
		finishing = 0 // the last segment of each head does it, while its keys are in the cache
	}
	for x, tasks := range [len(j.phases)]int{j.tasks(), finishing} {
		j.phase = j.phases[x]
		reserve := parallel.Reserve[shape]{Threads: j.plan.mostThreads, Shape: j.plan.shape}
		j.goroutines.Run(tasks, min(j.plan.threads, max(1, tasks)), reserve, parallelFor)
	}
	j.finishBias()
	j.sinks()
}

// begin makes room for what all tasks share, and clears it.
func (j *Job) begin(parallelFor func(n int, task func(i int))) {
	parallel.Fit(&j.memory, &j.normsUsage, &j.norms, j.kvHeads()*j.plan.maxRows, parallel.Make[norm])
	j.turns.begin(&j.memory, j.kvHeads(), j.plan.segments, j.plan.threads == 1 && parallelFor == nil, parallelFor == nil || !parallel.InBubble())
	j.beginSums()
	j.clearBias()
}

// Release gives the job back. It forgets the caller's memory.
func (j *Job) Release() {
	j.scores.Release()
	j.Call, j.scores, j.phase = Call{}, nil, nil
	j.sums.forget()
	jobs.Put(j)
}

func (j *Job) kvHeads() int { return j.Call.Forward.K.Dim(0) * j.Call.Forward.K.Dim(1) }
func (j *Job) d() int       { return j.Call.Forward.Q.Dim(3) }
func (j *Job) dv() int      { return j.Call.Forward.V.Dim(3) }
