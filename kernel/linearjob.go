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

	blocks, groups int // of rows, of strips
	steps          int // rows of Wᵀ in a call
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

	// linearSteps is how many rows of Wᵀ a call takes: 24 KiB of float32 stay in L1.
	linearSteps = 128

	// Up to fewLinearRows rows of x wait for the weights rather than compute: they
	// take longer parts of a strip, which come from memory without a pause, and from
	// L2 for all passes but the first. Neither product has more FMAs than a call may
	// have, see rowsPerCall.
	fewLinearRows  = 32
	fewLinearSteps = 1024

	// threadBytes is what a thread reads in the time that waking one takes.
	threadBytes = 1 << 20
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
	j.tier, j.steps = t, linearSteps
	if rows <= fewLinearRows {
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
	work := weights*float64(j.out.rows)/float64(j.tier.threadFMAs) + weights*float64(j.linear.dtype.size())/threadBytes
	return min(threads, 1+int(min(work, 1<<16)))
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

// linearScratch is the scratch memory of one worker, for the last strip, if that is not
// whole. It grows to what the largest call needed and is recycled.
type linearScratch struct {
	wide []float32 // a part of the strip, widened
	edge []float32 // the chains of the block's rows, if out has not a column for each
}

var linearScratches = freeList[linearScratch]{make: func() *linearScratch { return new(linearScratch) }}

// fit makes the scratch large enough for the tasks of j.
func (w *linearScratch) fit(j *linearJob) {
	l := j.linear
	lanes := l.stripWidth(l.strips() - 1)
	if n := lanes * min(j.steps, l.k); lanes < stripLanes && l.dtype != Float32 && len(w.wide) < n {
		w.wide = aligned(n)
	}
	if n := lanes * ceilDiv(j.out.rows, j.blocks); l.n%stripStep != 0 && len(w.edge) < n {
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
	l, t := j.linear, j.tier
	c, ldc := w.columns(j, rows, s)
	rs, cs := j.x.rowStride, j.x.colStride
	x := j.x.f32[min(rows.lo*rs+steps.lo*cs, len(j.x.f32)):]
	lanes, m, k, load := l.stripWidth(s), rows.len(), steps.len(), steps.lo > 0
	at := l.stripAt(s) + steps.lo*lanes
	switch {
	case lanes < stripLanes:
		t.tiles(c, ldc, x, rs, cs, w.widened(j, at, k*lanes), lanes, m, k, load)
	case l.dtype == Float32:
		t.strips().strip(c, ldc, x, rs, cs, l.f32[at:], lanes, m, k, load)
	case l.dtype == Float16:
		t.strips().stripF16(c, ldc, x, rs, cs, l.u16[at:], lanes, m, k, load)
	case l.dtype == BFloat16:
		t.strips().stripBF16(c, ldc, x, rs, cs, l.u16[at:], lanes, m, k, load)
	}
}

// strips returns the tier's kernels for strips.
func (t *tier) strips() *stripKernels { return &t.panels[len(t.panels)-1].stripKernels }

// tiles multiplies by a part of a strip that is not whole: with tiles of the fewest and
// most equal widths.
func (t *tier) tiles(c []float32, ldc int, a []float32, rs, cs int, b []float32, lanes, m, k int, load bool) {
	widest := t.panels[len(t.panels)-1].lanes
	for lane := 0; lane < lanes; {
		left := lanes - lane
		p := t.panel(ceilDiv(left, ceilDiv(left, widest)))
		p.tile(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], lanes, m, k, load)
		lane += p.lanes
	}
}

// panel returns the kernels of the narrowest panel of at least so many lanes.
func (t *tier) panel(lanes int) *panelKernels {
	i := 0
	for t.panels[i].lanes < lanes {
		i++
	}
	return &t.panels[i]
}

// widened returns n weights from at on as float32.
func (w *linearScratch) widened(j *linearJob, at, n int) []float32 {
	convert := j.tier.convert()
	switch l := j.linear; l.dtype {
	case Float16:
		convert.widenF16(w.wide, 0, l.u16[at:], 0, 1, n)
	case BFloat16:
		convert.widenBF16(w.wide, 0, l.u16[at:], 0, 1, n)
	default:
		return l.f32[at : at+n]
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
