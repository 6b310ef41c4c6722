package kernel

import "runtime"

// A linearJob is one call of Linear.Apply, cut into tasks for a crew. Jobs are recycled
// with all they need, so that a call allocates nothing.
//
// A task is a block of rows of x times some strips of the weights. It goes through K in
// parts: all strips by one part, then by the next. The chains pause in out meanwhile.
// So the part of a strip at hand stays in L1 or L2 for all rows of the block, and the
// block's part of x in L2 for all strips of the task. Packing x as well did not pay:
// tiles broadcast its numbers, which they find as fast where they lie.
type linearJob struct {
	linear *Linear
	out, x Matrix
	tier   *tier

	blocks, groups int  // of rows, of strips
	steps          int  // rows of Wᵀ in a call
	widens         bool // weights of 16 bits once for a block of rows
	threads        int

	crew      crew[linearScratch]
	scratches []*linearScratch
}

const (
	// linearRows is the most rows of x in a task: with more, their part of x leaves
	// L2, with fewer a strip is fetched more often.
	linearRows = 320

	// minLinearRows is the fewest rows that a block has so that there are more blocks.
	minLinearRows = 48

	// linearStrips is the most strips in a task: with more, the pausing chains leave L2.
	linearStrips = 4

	// Up to fewLinearRows rows of x wait for the weights rather than compute: they
	// take parts of a strip of fewLinearSteps rows of Wᵀ, which come from memory
	// without a pause, and from L2 for all passes but the first.
	fewLinearRows  = 32
	fewLinearSteps = 1024

	// A thread should do as much as it can while one is woken, or both are slower than
	// one alone: it reads threadBytes of weights from L3 or does threadShares times the
	// tier's threadFMAs in some 80 µs. With square weights of float32 two threads of a
	// virtual machine on Zen 4 overtake one at 12 MB for 1 row or 2, 8 MB for 4, 4.5 MB
	// for 8 and 2 MB for 16: at 150 µs of one thread each time.
	threadBytes  = 8 << 20
	threadShares = 2
)

var linearJobs = freeList[linearJob]{make: newLinearJob}

func newLinearJob() *linearJob {
	j := new(linearJob)
	j.crew.staff(j.scratch, func(w *linearScratch, i int) { w.task(j, i) })
	return j
}

// plan cuts the job. It decides about speed alone: no cut changes a bit.
func (j *linearJob) plan(t *tier, threads int) {
	rows, strips := j.out.rows, j.linear.strips()
	j.tier, j.steps = t, t.linearSteps
	j.widens = j.linear.dtype != Float32 && t.halfRows > 0 && rows > t.halfRows
	if rows <= fewLinearRows && !j.widens {
		j.steps = fewLinearSteps
	}
	j.blocks, j.groups = ceilDiv(rows, linearRows), ceilDiv(strips, linearStrips)
	if threads = j.useful(threads); threads > 1 {
		wanted := tasksPerThread * threads
		j.groups = min(strips, max(j.groups, ceilDiv(wanted, j.blocks)))
		j.blocks = min(ceilDiv(rows, minLinearRows), max(j.blocks, ceilDiv(wanted, j.groups)))
	}
	j.threads = min(threads, j.blocks*j.groups)
}

// useful returns how many of so many threads, 0 for all, the job is worth.
func (j *linearJob) useful(threads int) int {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	weights := float64(j.linear.n) * float64(j.linear.k)
	work := weights*float64(j.out.rows)/float64(threadShares*j.tier.threadFMAs) + weights*float64(j.linear.dtype.size())/threadBytes
	return team(threads, work, 1+readyGain*work)
}

// run has all tasks done.
func (j *linearJob) run(parallel func(n int, task func(i int))) {
	for range j.threads {
		w := linearScratches.get()
		w.fit(j)
		j.scratches = append(j.scratches, w)
	}
	j.crew.run(j.blocks*j.groups, j.threads, parallel)
	for _, w := range j.scratches {
		linearScratches.put(w)
	}
	j.scratches = j.scratches[:0]
}

// scratch returns the memory of worker n.
func (j *linearJob) scratch(n int) *linearScratch {
	if n < len(j.scratches) {
		return j.scratches[n]
	}
	w := new(linearScratch)
	w.fit(j)
	return w
}

// linearScratch is the scratch memory of one worker. It grows to what the largest call
// needed and is recycled.
type linearScratch struct {
	wide []float32 // a part of a strip, widened
	edge []float32 // the block's chains of the last strip, if out lacks columns for them
}

var linearScratches = freeList[linearScratch]{make: func() *linearScratch { return new(linearScratch) }}

// fit makes the scratch large enough for the tasks of j.
func (w *linearScratch) fit(j *linearJob) {
	l := j.linear
	if n := stripLanes * min(j.steps, l.k); l.dtype != Float32 && len(w.wide) < n {
		w.wide = aligned(n)
	}
	if n := stripLanes * ceilDiv(j.out.rows, j.blocks); l.n%stripStep != 0 && len(w.edge) < n {
		w.edge = aligned(n)
	}
}
