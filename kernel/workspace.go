package kernel

import "unsafe"

// A workspace is the scratch memory of one worker. It grows to what the largest
// call needed and is recycled.
type workspace struct {
	panels []panel
	single panel // for a row done by itself, see redo

	scores []float32 // S of one block: [blockKeys][width]

	// Statistics and folding factors of one block, a lane each.
	blockMax, blockSum, alpha, beta []float32

	lo, hi []int32 // spans of the lanes within a block
	off    []int   // row offsets of the lanes

	partial []float32 // Oᵀ of one block, see redo
	runs    []span    // visible keys of one block, see redo
}

// A panel is a set of rows of one unit with all that is kept of them from block
// to block.
type panel struct {
	kern   *panelKernels
	unit   unit
	row, n int // first row in the unit, number of rows ≤ lanes

	q        []float32 // Q̂ᵀ [D][lanes]
	o        []float32 // Oᵀ [Dv][lanes]
	max, sum []float32

	spans   []span // what every row sees; unused if all see the same
	perRow  bool
	seen    span // what any row sees
	common  span // what all rows see
	started bool // a block has been folded
	exact   bool // hidden values may not even be multiplied by 0, see redo
}

// fit makes the workspace large enough for the tasks of j.
func (w *workspace) fit(j *job) {
	width := j.width
	for len(w.panels) < j.maxGroup() {
		w.panels = append(w.panels, panel{})
	}
	for i := range w.panels[:j.maxGroup()] {
		w.panels[i].fit(j, width)
	}
	if len(w.off) >= width {
		return
	}
	w.scores = aligned(blockKeys * width)
	stats := aligned(4 * width)
	w.blockMax, w.blockSum = stats[:width], stats[width:2*width]
	w.alpha, w.beta = stats[2*width:3*width], stats[3*width:]
	w.lo, w.hi = make([]int32, width), make([]int32, width)
	w.off = make([]int, width)
}

func (p *panel) fit(j *job, width int) {
	if len(p.q) < width*j.d() {
		p.q = aligned(width * j.d())
	}
	if len(p.o) < width*j.dv() {
		p.o = aligned(width * j.dv())
	}
	if len(p.spans) < width {
		stats := aligned(2 * width)
		p.max, p.sum = stats[:width], stats[width:]
		p.spans = make([]span, width)
	}
}

// aligned returns n floats that start on a cache line, so that no vector of a
// panel is split over two.
func aligned(n int) []float32 {
	const line = 64
	s := make([]float32, n+line/4)
	skip := int(-uintptr(unsafe.Pointer(&s[0]))%line) / 4
	return s[skip : skip+n : skip+n]
}
