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

	span         int // blocks of keys in a task
	ranges       int // tasks of a KV head
	headsPerTask int // KV heads in a task; more than 1 only if they add to the same biases

	threads, mostThreads int
	shape                shape
}

// maxSpan is the most blocks of keys in a task: with more, the packing of queries takes
// hardly less of the time, and dK and dV leave L2.
const maxSpan = 4

// tasksPerThread is how many tasks a thread should find at least, so that no thread waits
// long for the last ones.
const tasksPerThread = 4

// products is how many times as long as the columns of Q or K, and of V, all products
// together take for a pair of a query and a key.
const (
	productsD  = 3
	productsDv = 2
)

func (j *Job) makePlan(threads int) {
	f := &j.Forward
	j.plan = plan{maxRows: j.scores.Group() * f.Q.Dim(2), span: maxSpan, headsPerTask: 1}
	j.segments = ints.CeilDiv(j.maxRows, RowSegment)
	blocks := ints.CeilDiv(f.K.Dim(2), KeyBlock)
	if !aligned(f.QueryStart, j.scores.Group(), RowSegment) {
		j.segments++ // the first one may be shorter
	}
	if !aligned(f.KeyStart, 1, KeyBlock) {
		blocks++
	}
	j.headsPerTask = j.sharedHeads()
	fmas := float64(j.kvHeads()) * float64(j.maxRows) * float64(f.K.Dim(2)) * float64(productsD*j.d()+productsDv*j.dv())
	work := fmas / float64(j.tier.ThreadFMAs)
	limit := parallel.LimitFor(threads, 1+parallel.WarmGain*work)
	j.threads, j.mostThreads, _ = parallel.Threads(limit, 1+work, 1+parallel.WarmGain*work)
	for j.threads > 1 && j.span > 1 && ints.CeilDiv(blocks, j.span)*j.headGroups() < tasksPerThread*j.threads {
		j.span /= 2
	}
	j.ranges = ints.CeilDiv(blocks, j.span)
	j.shape = j.findShape()
}

// aligned tells whether all positions times factor are multiples of n.
func aligned(positions []int, factor, n int) bool {
	for _, p := range positions {
		if p*factor%n != 0 {
			return false
		}
	}
	return true
}

// sharedHeads returns how many neighbouring KV heads add to the same biases.
func (j *Job) sharedHeads() int {
	if !j.DBias.IsSet() {
		return 1
	}
	k := &j.Forward.K
	switch {
	case j.DBias.Dim(0) < k.Dim(0):
		return max(1, j.kvHeads())
	case j.DBias.Dim(1) < j.Forward.Q.Dim(1):
		return max(1, k.Dim(1))
	}
	return 1
}

// headGroups returns the number of tasks for one range of keys.
func (j *Job) headGroups() int { return ints.CeilDiv(j.kvHeads(), j.headsPerTask) }

// segment returns the rows of segment x of a KV head of batch row b. Segments begin where
// the number of a row, counted by positions, is a multiple of RowSegment.
func (j *Job) segment(b, x int) (row, n int) {
	start := position.Of(j.Forward.QueryStart, b) * j.scores.Group()
	phase := (start%RowSegment + RowSegment) % RowSegment
	rows := j.scores.Rows(b)
	row = max(0, x*RowSegment-phase)
	return row, min(rows, (x+1)*RowSegment-phase) - row
}

// A shape is all that the size of scratch memory depends on.
type shape struct {
	lanes, d, dv, span     int
	qType, kType, vType    view.DType
	outType, dOutType      view.DType
	kPaged, vPaged, capped bool
}

func (j *Job) findShape() shape {
	f := &j.Forward
	return shape{
		lanes: j.scores.Lanes(), d: j.d(), dv: j.dv(), span: j.span,
		qType: f.Q.DType(), kType: f.K.DType(), vType: f.V.DType(), outType: f.Out.DType(), dOutType: j.DOut.DType(),
		kPaged: f.K.IsPaged(), vPaged: f.V.IsPaged(), capped: f.Softcap != 0,
	}
}
