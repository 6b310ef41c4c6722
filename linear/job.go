package linear

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A job is one call of Apply, cut into tasks. Jobs are recycled with all memory that
// they need, so that in the steady state a call allocates nothing.
//
// A task is a range of rows of x times some panels of weights. It goes through K in steps; between
// them the sums are kept in out, or in scratch memory, see collidingFloats. Thus the part of the
// current panel stays in L1 or L2 for all rows of the range. If it is small, it takes one panel
// after the other, each by all steps: that is the order of the weights in memory, and the rows stay
// in L2 for all of them. Of a larger range only the part of a step does, so it takes all panels by
// the first step, then all by the next. A step is whole segments of the contract, so none of this
// changes a bit. Packing x as well did not pay: the kernels broadcast single numbers of x, and find
// them as fast where they lie.
type job struct {
	linear *Linear
	out, x Matrix
	tier   *tier.Tier

	activation func(dst, src []float32) // of the outputs, or nil
	accumulate bool                     // out itself is the first summand
	int8       bool                     // the rows of x are quantized

	rowRanges, panelRanges int  // tasks: rowRanges × panelRanges
	steps                  int  // rows of Wᵀ in a call of a kernel, whole segments
	inOrder                bool // a panel takes all steps before the next one
	widens                 bool // weights are widened once for a range of rows
	unpacks                bool // whole panels are unpacked, and only the others widened
	roundsOnce             bool // rows are rounded for all steps at once
	tiles                  bool // and a unit for tiles computes the product
	pads                   bool // quantized rows are continued to a whole tile
	apart                  bool // sums are in scratch memory until they are finished
	threads                int
	mostThreads            int  // that the same call may have the next time
	varies                 bool // and whether it may have another number then

	product // of a call of Product

	shape      shape
	goroutines parallel.Group[scratch, shape]
	memory     parallel.Memory
}

const (
	// maxRows is the most rows of x in a task: with more, their part of x leaves L2; with
	// fewer, a panel is fetched more often.
	maxRows = 320

	// Kernels that need the part of a panel in L1 take orderedRows, and one panel after the other
	// if these rows have at most orderedBytes: their sums of a panel then stay in L2 for all
	// steps, which is worth more than fetching a panel less often. With weights of 384 to
	// 2048 inputs and up to 3072 outputs, calls of 512 rows take 2 to 5% less time on Zen 3.
	orderedRows  = 128
	orderedBytes = 1 << 20

	// minRows is the fewest rows of a range if there are more ranges for more threads.
	minRows = 48

	// maxPanels is the most panels of a task: with more, the sums leave L2.
	maxPanels = 4

	// A product packs a panel for each range of rows, and transposes rows for each range of panels.
	// With larger tasks it packs and transposes less. On Zen 3 the gradient of 512×512 inputs gains
	// 6%, the gradient of the weights 7%, and of 1024×1024 weights 9%.
	productRows   = 512
	productPanels = 12

	// tasksPerThread is how many tasks a thread should find at least, so that no thread
	// waits long for the last ones. It is less, down to fewTasks, where a unit of work, see
	// threadBytes, would have more than tasksPerWork: to take a task should not take as long as the
	// task.
	tasksPerThread = 8
	tasksPerWork   = 64
	fewTasks       = 2

	// Rows of out that lie a multiple of collidingFloats apart have their columns in the same few
	// sets of L1, and stores wait for each other. So minRows rows or more keep their sums in
	// scratch memory. From there movedRows of them go to out in a call: with more rows stores wait
	// again, with fewer ones calls take longer. Measured on Zen 5.
	collidingFloats = 512
	movedRows       = 4

	// Up to skinnyRows rows of x wait for the weights rather than compute, which they take in
	// the order of memory. So do ranges of up to rangeBytes.
	skinnyRows = 32
	rangeBytes = 256 << 10

	// Of them, those that use a weight once or twice take skinnySteps rows of Wᵀ at a time, which
	// come from memory without a pause. So do all with quantized weights, and all on tiers whose
	// WeightSteps say that their kernels need not find the part of a panel in L1.
	onceRows    = 2
	skinnySteps = 1024

	// Products in bfloat16 with widened weights take roundedSteps at a time: their register tiles
	// have few rows, so that the part of a panel has to stay in L1.
	roundedSteps = ukernel.InputSegment

	// Quantized weights that are widened for up to widenedRows rows take a segment at a time:
	// then the widened weights stay in L1. With more rows, a longer part gains more, as fewer
	// sums are loaded and stored.
	widenedRows = 24

	// While a worker is woken, a thread should do as much as it can in some 80 µs, or two
	// are slower than one: read threadBytes of weights from L3, or threadShares times the
	// tier's ThreadFMAs. With square weights of float32, two threads of a virtual machine
	// on Zen 4 overtake one at 12 MB for 1 row or 2, 8 MB for 4, 4.5 MB for 8 and 2 MB for
	// 16: at 150 µs of one thread in each case.
	threadBytes  = 8 << 20
	threadShares = 2
)

var (
	jobs = parallel.FreeList[job]{
		New:    newJob,
		Memory: func(j *job) *parallel.Memory { return &j.memory },
	}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func newJob() *job {
	j := new(job)
	j.goroutines.Init(&scratches, func(s *scratch) { s.fit(j) }, func(s *scratch, i int) { s.task(j, i) })
	j.goroutines.OnDrop, j.goroutines.Independent = j.memory.Forget, true
	return j
}

// run computes the call.
func (j *job) run(t *tier.Tier, opts *Options) {
	j.plan(t, opts.Threads)
	j.activation = opts.Activation.kernel(t)
	j.shape = j.findShape()
	j.goroutines.Run(j.rowRanges*j.panelRanges, j.threads, parallel.Reserve[shape]{Threads: j.mostThreads, Shape: j.shape}, opts.ParallelFor)
}

// plan cuts the job. It decides about speed alone: no cut changes a bit.
func (j *job) plan(t *tier.Tier, option int) {
	m, panels, threadFMAs := j.out.rows, j.linear.panels(), t.ThreadFMAs
	if m <= t.LowerRows && !j.int8 && j.linear.format != 0 && j.linear.packed.Grouped() && j.linear.widens(t, m) {
		if lower := t.Lower(); lower != nil {
			t = lower // has the same bits
		}
	}
	j.tier, j.steps = t, t.WeightSteps
	j.tiles, j.pads = j.linear.tiles(t), j.padsRows(m)
	j.widens = !j.int8 && !j.tiles && j.linear.widens(t, m)
	j.unpacks = j.widens && j.linear.unpacks(t, m)
	switch {
	case j.widens && j.linear.rounds:
		j.steps = min(j.steps, roundedSteps)
	case j.widens && !j.unpacks && j.linear.format != 0 && m <= widenedRows:
		j.steps = ukernel.InputSegment
	}
	direct := !j.widens && !j.isProduct() && j.conversion() == nil
	needsL1 := j.linear.format == 0 && t.WeightSteps == ukernel.InputSegment
	if direct && (m <= onceRows || m <= skinnyRows && !needsL1) {
		j.steps = skinnySteps
	}
	mostRows, mostPanels := j.limits()
	mostBytes := rangeBytes
	if direct && needsL1 {
		mostRows, mostBytes = orderedRows, orderedBytes
	}
	j.rowRanges, j.panelRanges = ints.CeilDiv(m, mostRows), ints.CeilDiv(panels, mostPanels)
	work := j.work(threadFMAs)
	threads, most, vary := usefulThreads(option, work)
	if threads > 1 {
		wanted := threads * int(max(fewTasks, min(tasksPerThread, work*tasksPerWork/float64(threads))))
		if j.conversion() != nil && m >= minRows*threads { // each converts its own rows alone
			j.rowRanges = ints.RoundUp(j.rowRanges, threads)
		}
		j.panelRanges = min(panels, max(j.panelRanges, ints.CeilDiv(wanted, j.rowRanges)))
		j.rowRanges = min(ints.CeilDiv(m, minRows), max(j.rowRanges, ints.CeilDiv(wanted, j.panelRanges)))
	}
	j.inOrder = (direct || j.widens) && m <= skinnyRows || direct && 4*ints.CeilDiv(m, j.rowRanges)*j.linear.depth() <= mostBytes
	// They are if they stay in L2, or if a panel takes all steps before the next one.
	j.roundsOnce = j.linear.rounds && (j.inOrder || 4*ints.CeilDiv(m, j.rowRanges)*j.linear.depth() <= roundedBytes)
	j.apart = j.pads || m >= minRows && j.collides() && !j.tiles && !j.linear.rounds && !j.isProduct()
	j.threads = min(threads, j.rowRanges*j.panelRanges)
	if j.mostThreads, j.varies = j.threads, vary; vary {
		j.mostThreads = most
	}
}

// collides tells whether the rows of out lie so that few of them fit into L1.
func (j *job) collides() bool { return j.out.rowStride%collidingFloats == 0 }

// limits returns the most rows of x and the most panels of a task.
func (j *job) limits() (rows, panels int) {
	switch c := j.conversion(); {
	case j.isProduct():
		return productRows, productPanels
	case c != nil && j.x.dtype == view.Float32:
		return c.rows(j.rowWords()), j.linear.panels()
	case c != nil:
		return maxRows, j.linear.panels()
	case j.linear.rounds:
		return maxRows, roundedPanels
	}
	return maxRows, maxPanels
}

// widens reports whether the weights are widened to float32 once for m rows of x, and not in
// registers for each few of them.
func (l *Linear) widens(t *tier.Tier, m int) bool {
	switch {
	case l.format != 0:
		return m > t.QuantizedRows || l.packed.Unpacks() || t.Weights().Blocks[l.packed].Gemm == nil
	case l.rounds:
		return m > t.PairRows
	case l.dtype != view.Float32:
		return t.WidenRows > 0 && m > t.WidenRows
	}
	return false
}

// unpacks reports whether weights are unpacked for m rows of x and not widened: the product makes
// them in registers.
func (l *Linear) unpacks(t *tier.Tier, m int) bool {
	return m <= t.UnpackRows && l.format != 0 && l.packed.Unpacks() && t.Weights().GemmUnpacked != nil && t.Weights().Blocks[l.packed].Unpack != nil
}

// bytes is the size of the weights.
func (l *Linear) bytes() int {
	if l.format != 0 {
		return l.blockBytes(l.n)
	}
	return l.n * l.depth() * l.dtype.Size()
}

// work is how many threads the job is worth while a worker is woken for each.
func (j *job) work(threadFMAs int) float64 {
	fmas := float64(j.linear.n) * float64(j.linear.k) * float64(j.out.rows)
	if c := j.conversion(); c != nil {
		fmas /= float64(c.speed)
	}
	return fmas/float64(threadShares*threadFMAs) + float64(j.linear.bytes())/threadBytes
}

// usefulThreads returns the thread count of a job, the most that it may be the next time,
// and whether it may vary. option is Options.Threads.
func usefulThreads(option int, work float64) (n, most int, vary bool) {
	// Cold, not even the second thread is free: below 2 units of work it makes a call slower.
	warm := 1 + parallel.WarmGain*work
	return parallel.Threads(parallel.LimitFor(option, warm), work, warm)
}

// A scratch is the memory of one goroutine of a call. It grows to what the largest call of late
// needed and is recycled.
type scratch struct {
	wide  []float32 // some rows of a panel, widened or packed
	codes []uint32  // quantized rows of x, or some rows of a panel, unpacked
	edge  []float32 // the sums of panels that are apart, or of the last one if out lacks columns
	rows  []float32 // some rows of x, transposed or rounded

	converted interval // the rows of x that are converted, or rounded for all steps

	wideUsage, edgeUsage, rowsUsage, codesUsage parallel.Usage
	memory                                      parallel.Memory
}

// A shape is what a call needs of scratch memory, in numbers.
type shape struct{ wide, edge, rows, codes int }

func (j *job) findShape() (s shape) {
	l := j.linear
	if l.dtype != view.Float32 && !j.tiles || l.format != 0 && !j.int8 || j.isProduct() {
		s.wide = ukernel.PanelLanes * min(j.steps, l.depth())
	}
	m := ints.CeilDiv(j.out.rows, j.rowRanges)
	if j.varies { // with another number of threads there may be fewer ranges
		most, _ := j.limits()
		m = min(j.out.rows, most)
	}
	if j.pads {
		m = byteTileRows
	}
	if j.unpacks {
		s.codes = unpackedWords(ukernel.PanelLanes, min(j.steps, l.depth()))
	}
	if j.conversion() != nil && j.x.dtype == view.Float32 {
		s.codes = m * j.rowWords()
		if j.x.colStride != 1 || l.hasTail() {
			s.rows = l.depth()
		}
	}
	switch {
	case j.tiles:
		s.edge = ukernel.PanelLanes * min(m, stripRows)
	case j.apart && !j.int8:
		s.edge = ukernel.PanelLanes * m * maxPanels
	case l.n%ukernel.PanelStep != 0 || j.apart:
		s.edge = ukernel.PanelLanes * m
	}
	if j.transposes() {
		s.rows = m * (min(j.steps, l.depth()) + transposedGap)
	}
	switch {
	case j.tiles: // rounds a row at a time
	case j.roundsOnce:
		s.rows = m * (l.depth() + transposedGap)
	case l.rounds:
		s.rows = m * (min(j.steps, l.depth()) + transposedGap)
	case l.hasTail() && !j.int8:
		s.rows = m * min(j.steps, l.depth())
	}
	return s
}

// fit makes the scratch large enough for the tasks of j.
func (s *scratch) fit(j *job) {
	s.converted = interval{}
	parallel.Fit(&s.memory, &s.wideUsage, &s.wide, j.shape.wide, rows.Aligned)
	parallel.Fit(&s.memory, &s.edgeUsage, &s.edge, j.shape.edge, rows.Aligned)
	parallel.Fit(&s.memory, &s.rowsUsage, &s.rows, j.shape.rows, rows.Aligned)
	parallel.Fit(&s.memory, &s.codesUsage, &s.codes, j.shape.codes, func(n int) []uint32 { return make([]uint32, n) })
}
