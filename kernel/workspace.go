package kernel

import "unsafe"

// A workspace is the scratch memory of one worker. It grows to what the largest
// call needed and is recycled.
type workspace struct {
	panels []panel
	single [1]panel // for a row done by itself, see redo

	scores []float32 // S of one block of a panel, [blockKeys][width], or of several small ones

	wideK, wideV wideRows  // of the block at hand, if they are not used where they lie
	rows         []float32 // of a panel, of q or out, if these are not what they are computed with

	keys []float32 // for additive scores, padded

	lo, hi []int32 // spans of the lanes within a block
	off    []int   // row offsets of the lanes

	// What steps need for every lane; see steps.go.
	ignored, slopes [maxLanes]float32
	positions       [maxLanes]int32
	heads, places   [maxLanes]uint32
	tile            ScoreTile
	biases          [maxLanes * stepKeys]float32

	partial []float32 // output of one block, see redo and few.go
	runs    []span    // visible keys of one block, see redo
}

// A panel is a set of rows of one unit with all that is kept of them from block
// to block.
type panel struct {
	kern        *panelKernels
	unit        unit
	row, n      int // first row in the unit, number of rows ≤ lanes
	query, head int // of the first row; head within its group

	q []float32 // Q̂ᵀ [D][lanes]
	o []float32 // Oᵀ [Dv][lanes], or if the rows are few O [n][Dv]

	// Statistics of all blocks so far and of the one at hand, and the factors
	// to fold it in; a lane each.
	max, sum, blockMax, blockSum, alpha, beta []float32
	stats                                     []float32 // their memory

	// Key j of the call is number phase + j within the panel, so that number 0
	// begins a block of the contract; start is its position.
	phase, start int

	spans   []span // what every row sees; unused if all see the same
	seen    span   // what any row sees
	common  span   // what all rows see
	few     bool   // see few.go
	packed  bool   // q is there
	started bool   // a block has been folded
	exact   bool   // hidden values may not even be multiplied by 0, see redo

	// The block at hand: its keys that any row sees, and S of them; and until that is
	// there the memory of the keys, if they are few and plain, see prepare.
	keys span
	s    []float32
	k    []float32
}

// fit makes the workspace large enough for the tasks of j.
func (w *workspace) fit(j *job) {
	for len(w.panels) < j.most {
		w.panels = append(w.panels, panel{})
	}
	for i := range w.panels[:j.most] {
		w.panels[i].fit(j, j.width)
	}
	w.wideK.fit(&j.k, false)
	w.wideV.fit(&j.v, !j.few(j.rows()))
	if n := j.width * max(j.d(), j.dv()); j.needsRows() && len(w.rows) < n {
		w.rows = aligned(n)
	}
	if n := j.width * j.dv(); len(w.partial) < n {
		w.partial = aligned(n)
	}
	if j.additive != nil {
		if n := additiveKeys * len(j.additive); len(w.keys) < n {
			w.keys = aligned(n)
		}
	}
	if j.hook != nil && w.tile.Rows == nil {
		w.tile.Rows = make([]ScoreRow, 0, maxLanes)
	}
	if len(w.off) >= j.width {
		return
	}
	w.scores = aligned(blockKeys * j.width)
	w.lo, w.hi = make([]int32, j.width), make([]int32, j.width)
	w.off = make([]int, j.width)
}

func (p *panel) fit(j *job, width int) {
	if n := width * max(j.d(), len(j.additive)); len(p.q) < n {
		p.q = aligned(n)
	}
	if len(p.o) < width*j.dv() {
		p.o = aligned(width * j.dv())
	}
	if len(p.spans) < width {
		p.spans = make([]span, width)
		p.stats = aligned(6 * width)
	}
}

// use makes p a panel of kern's width that has seen no key.
func (p *panel) use(kern *panelKernels) {
	p.kern, p.packed, p.started, p.exact = kern, false, false, false
	if n := kern.lanes; len(p.max) != n {
		s := p.stats
		p.max, p.sum, p.blockMax = s[:n], s[n:2*n], s[2*n:3*n]
		p.blockSum, p.alpha, p.beta = s[3*n:4*n], s[4*n:5*n], s[5*n:6*n]
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
