package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/fallback"
)

// An alibiCase is a call of alibi.
type alibiCase struct {
	n, j0, gap int
	pos        positionKind
	values     values
}

// A positionKind says where queries are.
type positionKind int

const (
	anyPositions positionKind = iota
	nearPositions
	pastKeys   // behind all keys
	futureKeys // before all keys
	positionKinds
)

func (c alibiCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d positions=%d of %v", c.n, c.j0, c.gap, c.pos, c.values)
}

func alibiCases(int) (list []microCase) {
	for pos := range positionKinds {
		for _, j0 := range []int{0, 3, 1<<24 - 10, math.MaxInt32 - 255} {
			for _, gap := range []int{0, 3} {
				for _, n := range upTo(20, 256) {
					list = append(list, alibiCase{n, j0, gap, pos, kindOf(len(list))})
				}
			}
		}
	}
	return list
}

func (c alibiCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	slopes, pos := a.vector("slopes", w, 0), a.int32s("pos", w)
	c.values.fill(r, slopes, 1, w, w)
	for lane := range pos {
		pos[lane] = c.position(r)
	}
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.alibi(s, ld, c.j0, c.n, slopes, pos, top) }
}

func (c alibiCase) position(r *rng) int32 {
	const all = uint64(1) << 31
	first, end := uint64(c.j0), min(uint64(c.j0)+uint64(c.n), all-1)
	x := r.next()
	switch c.pos {
	case nearPositions:
		return int32(first + x%(end-first+1))
	case pastKeys:
		return int32(end + x%(all-end))
	case futureKeys:
		return int32(x % (first + 1))
	}
	return int32(x >> (33 + r.intn(31)))
}

// A biasCase is a call of bias.
type biasCase struct {
	n, gap int
	rows   rowKind
	values values
}

// A rowKind says how lanes share rows.
type rowKind int

const (
	ownRows rowKind = iota
	someRows
	oneRow
	rowKinds
)

func (c biasCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d rows=%d of %v", c.n, c.gap, c.rows, c.values)
}

// scoreRows are the numbers of rows that transposing kernels may do apart: all
// remainders of 16, and more than one turn.
var scoreRows = upTo(2*16+1, 63, 255, 256)

func biasCases(int) (list []microCase) {
	for rows := range rowKinds {
		for v := range valueKinds {
			for _, n := range scoreRows {
				list = append(list, biasCase{n, len(list) & 1 * 3, rows, v})
			}
		}
	}
	return list
}

func (c biasCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	if c.values == nonfinite {
		sprinkle(r, s, c.n, w, ld, nan32, inf32, -inf32)
	}
	off := a.ints("off", w)
	src := a.vector("src", c.rows.offsets(r, off, c.n), nan32)
	for _, o := range off {
		c.values.fill(r, src[o:], 1, c.n, c.n)
		sprinkle(r, src[o:], 1, c.n, c.n, -inf32)
	}
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.bias(s, ld, c.n, src, off, top) }
}

// sprinkle makes one element of eight one of some.
func sprinkle(r *rng, s []float32, rows, w, ld int, some ...float32) {
	for i := range rows {
		for lane := range w {
			if r.intn(8) == 0 {
				s[i*ld+lane] = some[r.intn(len(some))]
			}
		}
	}
}

// offsets puts the rows of the lanes, n elements each, anywhere and returns where
// the last one ends.
func (k rowKind) offsets(r *rng, off []int, n int) int {
	rows := len(off)
	switch k {
	case someRows:
		rows = 1 + r.intn(rows)
	case oneRow:
		rows = 1
	}
	return rowOffsets(r, off, rows, n)
}

// A hideCase is a call of hide.
type hideCase struct {
	n, gap int
	rows   rowKind
	hidden bool
	odds   int // of 4 keys so many take part, on average
	values values
}

func (c hideCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d rows=%d hidden=%v true=%d/4 of %v", c.n, c.gap, c.rows, c.hidden, c.odds, c.values)
}

func hideCases(int) (list []microCase) {
	for rows := range rowKinds {
		for _, hidden := range []bool{false, true} {
			for _, odds := range []int{0, 1, 3, 4} {
				for _, n := range scoreRows {
					list = append(list, hideCase{n, len(list) & 1 * 3, rows, hidden, odds, kindOf(len(list))})
				}
			}
		}
	}
	return list
}

func (c hideCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	off := a.ints("off", w)
	size := c.rows.offsets(r, off, c.n)
	keep := typed[bool](a.take("keep", size, 1).data)
	for i := range keep {
		keep[i] = r.intn(4) < c.odds
	}
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.hide(s, ld, c.n, keep, off, c.hidden, top) }
}

// A dropoutCase is a call of dropout.
type dropoutCase struct {
	n, j0, gap int
	threshold  uint32
	values     values
}

func (c dropoutCase) String() string {
	return fmt.Sprintf("n=%d j0=%d ld=lanes+%d threshold=%08x of %v", c.n, c.j0, c.gap, c.threshold, c.values)
}

func dropoutCases(int) (list []microCase) {
	for _, threshold := range []uint32{0, 1, 1 << 28, 1<<31 - 1, 1 << 31, 7 << 29, math.MaxUint32} {
		for _, j0 := range []int{0, 1, 2, 3, 254, math.MaxInt32 - 255} {
			for _, n := range upTo(13, 256) {
				list = append(list, dropoutCase{n, j0, len(list) & 1 * 3, threshold, kindOf(len(list))})
			}
		}
	}
	return list
}

func (c dropoutCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	keys := a.uint32s("keys", 2*fallback.PhiloxRounds)
	philox := fallback.PhiloxKeys(r.next())
	copy(keys, philox[:])
	sequence, head, pos := uint32(r.next()), a.uint32s("head", w), a.uint32s("pos", w)
	for lane := range pos {
		head[lane], pos[lane] = uint32(r.next()), uint32(r.next())
	}
	return func(p *panelKernels) {
		p.dropout(s, ld, c.j0, c.n, keys, sequence, head, pos, c.threshold, 1.25)
	}
}
