package backward

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// A plan cuts a call into tasks. It decides about speed alone: no cut changes a bit.
type plan struct {
	maxRows  int // rows of a KV head of the longest batch row
	segments int // row segments of a KV head, at most

	headsPerTask    int // KV heads in a task; more than 1 only if they add to the same biases
	segmentsPerTask int // all, if these add to the same biases, too, and else as many as side by side
	sideBySide      int // segments that go through the keys side by side, block by block

	threads, mostThreads int
	shape                shape
}

const (
	// keptKeys is the most keys whose weights and gradients are kept from the first pass of a
	// segment to the second: 4 MiB for each. With more keys they are computed again, which takes 2
	// of 7 products more.
	keptKeys = 8192

	// mostSideBySide is how many segments go through the keys side by side, if Tuning.PairBytes
	// says so: a block of K, V, dK and dV then comes once for both from beyond L2. Four would take
	// 1% less time than two, for twice the memory.
	mostSideBySide = 2

	// pairsPerThread is how many pairs a thread gets at least, so that all have about as many.
	pairsPerThread = 4

	// keysPerTask is the number of keys in a task of the phase after the products.
	keysPerTask = 4 * RowSegment

	// All products together take productsD times the columns of Q, and productsDv times the columns
	// of V, for each pair of a query and a key.
	productsD, productsDv = 3, 2
)

// makePlan returns the plan of a call on so many threads at most.
func (j *Job) makePlan(threads int) (p plan) {
	f := &j.Call.Forward
	p.maxRows = j.scores.Group() * f.Q.Dim(2)
	p.segments = max(1, ints.CeilDiv(p.maxRows, RowSegment)) // without rows, dK and dV are zeros
	for _, start := range f.QueryStart {
		if start*j.scores.Group()%RowSegment != 0 && p.maxRows > 0 {
			p.segments++ // the first one is shorter
			break
		}
	}
	fmas := float64(j.kvHeads()) * float64(p.maxRows) * float64(f.K.Dim(2)) * float64(productsD*j.d()+productsDv*j.dv())
	work := fmas / float64(j.tier.ThreadFMAs)
	limit := parallel.LimitFor(threads, 1+parallel.WarmGain*work)
	p.threads, p.mostThreads, _ = parallel.Threads(limit, 1+work, 1+parallel.WarmGain*work)
	p.sideBySide = j.sideBySide(p.segments, p.mostThreads)
	p.headsPerTask, p.segmentsPerTask = j.shared(p.segments)
	p.segmentsPerTask = max(p.segmentsPerTask, p.sideBySide)
	p.shape = j.findShape(p.sideBySide)
	return p
}

// sideBySide returns how many of a KV head's segments go through the keys side by side, on so many
// threads.
func (j *Job) sideBySide(segments, threads int) int {
	const elementBytes = 4
	limit := j.tier.PairBytes
	if limit == 0 || j.Call.Forward.K.Dim(2)*(j.d()+j.dv()) <= limit/elementBytes {
		return 1
	}
	if segments*j.kvHeads() < mostSideBySide*pairsPerThread*threads {
		return 1
	}
	return min(segments, mostSideBySide)
}

// shared returns how many neighbouring KV heads add to the same biases, and how many of their
// segments then share a task, so that the sums have their order. Segments of one KV head keep
// their order anyway.
func (j *Job) shared(segments int) (heads, perTask int) {
	if !j.Call.DBias.IsSet() {
		return 1, 1
	}
	f := &j.Call.Forward
	heads, perTask = 1, 1
	switch {
	case j.Call.DBias.Dim(0) < f.K.Dim(0):
		heads = max(1, j.kvHeads())
	case j.Call.DBias.Dim(1) < f.Q.Dim(1):
		heads = max(1, f.K.Dim(1))
	}
	if heads > 1 && !j.queriesHaveSegments() {
		perTask = segments
	}
	return heads, perTask
}

// queriesHaveSegments reports whether everything that is added to one row of the biases lies in
// segments of the same number: the rows of a query in all heads and batch rows that share it.
func (j *Job) queriesHaveSegments() bool {
	f := &j.Call.Forward
	if j.Call.DBias.Dim(2) < f.Q.Dim(2) || RowSegment%j.scores.Group() != 0 {
		return false
	}
	phase := func(b int) int { return position.Of(f.QueryStart, b) * j.scores.Group() & (RowSegment - 1) }
	for b := range f.Q.Dim(0) {
		if j.Call.DBias.Dim(0) < f.Q.Dim(0) && phase(b) != phase(0) {
			return false
		}
	}
	return true
}

// headGroups returns the number of tasks for the same segments.
func (j *Job) headGroups() int { return ints.CeilDiv(j.kvHeads(), j.plan.headsPerTask) }

// tasks returns the number of tasks of the products.
func (j *Job) tasks() int {
	return ints.CeilDiv(j.plan.segments, j.plan.segmentsPerTask) * j.headGroups()
}

// place returns the first segment and the group of heads of task i of the products. One thread
// takes all segments of a head before the next head, whose keys and gradients then stay in the
// cache. Several threads go through the heads by turns, so that they need not wait for each other.
func (j *Job) place(i int) (segment, group int) {
	if j.plan.threads > 1 {
		return i / j.headGroups() * j.plan.segmentsPerTask, i % j.headGroups()
	}
	parts := j.tasks() / j.headGroups()
	return i % parts * j.plan.segmentsPerTask, i / parts
}

// keyTasks returns the number of tasks of a KV head that go through its keys.
func (j *Job) keyTasks() int { return ints.CeilDiv(j.Call.Forward.K.Dim(2), keysPerTask) }

// segment returns the rows of segment x of a KV head of batch row b. Segments begin where
// the number of a row, counted by positions, is a multiple of RowSegment.
func (j *Job) segment(b, x int) (row, n int) {
	start := position.Of(j.Call.Forward.QueryStart, b) * j.scores.Group()
	phase := start & (RowSegment - 1)
	row = max(0, x*RowSegment-phase)
	return row, min(j.scores.Rows(b), (x+1)*RowSegment-phase) - row
}

// A shape is all that the size of scratch memory depends on.
type shape struct {
	sideBySide, lanes, d, dv, keys int
	qType, kType, vType            view.DType
	dOutType                       view.DType
	isCap                          bool
}

func (j *Job) findShape(sideBySide int) shape {
	f := &j.Call.Forward
	return shape{
		sideBySide: sideBySide, lanes: j.scores.Lanes(), d: j.d(), dv: j.dv(), keys: min(ints.CeilDiv(f.K.Dim(2), KeyBlock)+1, keptKeys/KeyBlock) * KeyBlock,
		qType: f.Q.DType(), kType: f.K.DType(), vType: f.V.DType(), dOutType: j.Call.DOut.DType(),
		isCap: f.Softcap != 0,
	}
}
