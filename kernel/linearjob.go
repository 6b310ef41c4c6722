package kernel

import "runtime"

// A linearTuning says how a tier multiplies by the strips of a Linear.
type linearTuning struct {
	// lanes is the width of the tiles for many rows, a divisor of stripLanes; steps is
	// how many rows of Wᵀ one call takes at most, so that what all rows of x read
	// again and again stays in cache.
	lanes, steps int

	// pass is how many rows of x the kernel for whole strips takes in one pass over
	// the weights, and few up to how many rows it beats the tiles.
	pass, few int
}

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

	blocks, groups int // of rows, of strips
	steps          int // rows of Wᵀ in a call
	threads        int

	crew      crew[linearScratch]
	scratches []*linearScratch
}

const (
	// linearRows is the most rows of x in a task: with more, their part of x leaves
	// L2, with fewer a strip is fetched more often.
	linearRows = 384

	// linearStrips is the most strips in a task: with more, the pausing chains leave L2.
	linearStrips = 4
)

var linearJobs = freeList[linearJob]{make: newLinearJob}

func newLinearJob() *linearJob {
	j := new(linearJob)
	j.crew.staff(j.scratch, func(w *linearScratch, i int) { w.task(j, i) })
	return j
}

// plan cuts the job. It decides about speed alone: no cut changes a bit.
func (j *linearJob) plan(t *tier, threads int) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	j.tier = t
	rows, strips := j.out.rows, j.linear.strips()
	j.steps = t.linear.steps
	if rows <= t.linear.pass { // weights are read once anyway
		j.steps = callFMAs / (stripLanes * t.linear.pass)
	}
	j.blocks, j.groups = ceilDiv(rows, linearRows), ceilDiv(strips, linearStrips)
	if threads > 1 {
		// The time to read the weights is that of some rows.
		fmas := float64(j.linear.n) * float64(j.linear.k) * float64(max(rows, t.linear.pass))
		threads = min(threads, 1+int(min(fmas/float64(t.threadFMAs), 1<<16)))
	}
	if threads > 1 {
		wanted := tasksPerThread * threads
		j.groups = min(strips, max(j.groups, ceilDiv(wanted, j.blocks)))
		j.blocks = min(ceilDiv(rows, minLinearRows), max(j.blocks, ceilDiv(wanted, j.groups)))
	}
	j.threads = min(threads, j.blocks*j.groups)
}

// minLinearRows is the fewest rows that a block has so that there are more blocks.
const minLinearRows = 48

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
	edge []float32 // the block's columns of the last strip, if out does not have them all
}

var linearScratches = freeList[linearScratch]{make: func() *linearScratch { return new(linearScratch) }}

// fit makes the scratch large enough for the tasks of j.
func (w *linearScratch) fit(j *linearJob) {
	if n := stripLanes * min(j.steps, j.linear.k); j.linear.dtype != Float32 && len(w.wide) < n {
		w.wide = aligned(n)
	}
	if n := stripLanes * ceilDiv(j.out.rows, j.blocks); j.linear.n%stripStep != 0 && len(w.edge) < n {
		w.edge = aligned(n)
	}
}

// task does a block of rows times a group of strips.
func (w *linearScratch) task(j *linearJob, i int) {
	rows, strips := share(j.out.rows, j.blocks, i/j.groups), share(j.linear.strips(), j.groups, i%j.groups)
	for k := 0; ; k += j.steps {
		steps := span{k, min(k+j.steps, j.linear.k)}
		for s := strips.lo; s < strips.hi; s++ {
			w.multiply(j, rows, s, steps)
			if steps.hi == j.linear.k {
				w.settle(j, rows, s)
			}
		}
		if steps.hi == j.linear.k {
			return
		}
	}
}

// share returns part i of n things that parts share as evenly as can be.
func share(n, parts, i int) span {
	size, more := n/parts, n%parts
	lo := i*size + min(i, more)
	if i < more {
		size++
	}
	return span{lo, lo + size}
}

// columns returns the memory that the rows' chains of strip s pause in, from the first
// row on, and the distance of the rows.
func (w *linearScratch) columns(j *linearJob, rows span, s int) (c []float32, ldc int) {
	if at, lanes := s*stripLanes, j.linear.stripWidth(s); at+lanes > j.linear.n {
		return w.edge, lanes
	}
	return j.out.f32[rows.lo*j.out.rowStride+s*stripLanes:], j.out.rowStride
}

// multiply continues the rows' chains of strip s by some steps.
func (w *linearScratch) multiply(j *linearJob, rows span, s int, steps span) {
	lanes, load := j.linear.stripWidth(s), steps.lo > 0
	c, ldc := w.columns(j, rows, s)
	rs, cs := j.x.rowStride, j.x.colStride
	at := j.linear.stripAt(s) + steps.lo*lanes
	whole := lanes == stripLanes && rows.len() <= j.tier.linear.few
	var wide []float32
	if j.linear.dtype == Float32 {
		wide = j.linear.f32[at : at+steps.len()*lanes]
	} else if !whole {
		wide = w.widen(j, at, steps.len()*lanes)
	}
	for lo := rows.lo; lo < rows.hi; {
		n := min(rows.hi-lo, max(1, callFMAs/max(1, lanes*steps.len())))
		x := j.x.f32[min(lo*rs+steps.lo*cs, len(j.x.f32)):]
		switch kernels := j.tier.strips(); {
		case !whole:
			j.tier.tiles(c, ldc, x, rs, cs, wide, lanes, n, steps.len(), load)
		case j.linear.dtype == Float32:
			kernels.strip(c, ldc, x, rs, cs, wide, lanes, n, steps.len(), load)
		case j.linear.dtype == Float16:
			kernels.stripF16(c, ldc, x, rs, cs, j.linear.u16[at:], lanes, n, steps.len(), load)
		default:
			kernels.stripBF16(c, ldc, x, rs, cs, j.linear.u16[at:], lanes, n, steps.len(), load)
		}
		if lo += n; lo < rows.hi {
			c = c[n*ldc:]
		}
	}
}

// callFMAs is the most FMAs of a call; see rowsPerCall.
const callFMAs = 2 << 20

// strips returns the tier's kernels for strips.
func (t *tier) strips() *stripKernels { return &t.panels[len(t.panels)-1].stripKernels }

// tiles multiplies by a part of a strip with the tier's tiles for many rows.
func (t *tier) tiles(c []float32, ldc int, a []float32, rs, cs int, b []float32, lanes, m, k int, load bool) {
	for lane, left := 0, lanes; left > 0; {
		p := t.panel(ceilDiv(left, ceilDiv(left, t.linear.lanes)))
		p.tile(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], lanes, m, k, load)
		lane, left = lane+p.lanes, left-p.lanes
	}
}

// panel returns the narrowest panel of at least so many lanes.
func (t *tier) panel(lanes int) *panelKernels {
	for i := range t.panels {
		if p := &t.panels[i]; p.lanes >= lanes {
			return p
		}
	}
	return &t.panels[len(t.panels)-1]
}

// widen returns n weights from at on as float32.
func (w *linearScratch) widen(j *linearJob, at, n int) []float32 {
	convert := j.tier.convert()
	if j.linear.dtype == Float16 {
		convert.widenF16(w.wide, 0, j.linear.u16[at:], 0, 1, n)
	} else {
		convert.widenBF16(w.wide, 0, j.linear.u16[at:], 0, 1, n)
	}
	return w.wide
}

// settle adds the bias to the rows' columns of strip s and puts them in their place.
func (w *linearScratch) settle(j *linearJob, rows span, s int) {
	first, lanes := s*stripLanes, j.linear.stripWidth(s)
	c, ldc := w.columns(j, rows, s)
	j.tier.strips().settle(c, ldc, rows.len(), j.linear.bias[first:first+lanes])
	if n := j.linear.n; first+lanes > n {
		for i := range rows.len() {
			copy(j.out.f32[(rows.lo+i)*j.out.rowStride+first:][:n-first], c[i*lanes:])
		}
	}
}
