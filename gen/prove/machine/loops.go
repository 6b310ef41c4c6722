package machine

import (
	"fmt"
	"slices"
	"strings"
)

// A Loop is what the executions of a function have shown of a loop. Its trips are the same if they
// execute the same instructions, and every access lies in the same memory, as far on for each trip
// between them as it was before. Then what a trip makes of registers and of what it loads is the
// same function, up to addresses, and a trip more is a step more of that kind.
type Loop struct {
	Function string
	First    int    // line of the first instruction
	Line     int    // of the jump back to it
	Most     int    // trips in one execution
	Kinds    int    // of trips in one execution
	Same     bool   // whether a trip was compared with two before it
	Differs  string // an access that does not keep its distance
	Steps    [len(periods)]Step
	Insts    int  // of a trip, most; one trip of each kind counts of the loops in it
	Bytes    int  // from an access to the same access in the trip before, most
	Still    bool // whether no access of a trip lies further on than in the trip before
	Accesses bool // whether a trip loads or stores
	Hints    bool // whether a trip prefetches: these are no accesses
}

// A Bound is what bounds the trips of a loop by the sizes of a call.
type Bound int

const (
	Unknown  Bound = iota // the trips are not known to be the same
	Slices                // each trip lies further on in a slice than the one before
	Prefetch              // none is known, but a trip does nothing to memory but prefetch
	Few                   // none is known, but there have been few, as where a vector is halved
	Once                  // no execution has jumped back, within the lines of the loop
	Rest                  // no execution had three trips of a kind, as over what others leave
	Endless               // nothing: all trips access the same memory, or none
)

func (b Bound) String() string {
	return [...]string{"with trips that differ", "bounded by a slice", "of prefetches alone", "of few trips at the same place",
		"of one trip", "of less than three trips of a kind in all sizes", "not bounded"}[b]
}

// Name tells the loop from all others.
func (l *Loop) Name() string {
	return fmt.Sprintf("%s, lines %d to %d", l.Function, l.First%FileLines, l.Line%FileLines)
}

func (l *Loop) String() string {
	text := fmt.Sprintf("%s: up to %d trips", l.Name(), l.Most)
	switch {
	case l.Bound() == Endless:
		return text + ", whose number nothing bounds: all access the same memory"
	case l.Bound() == Unknown:
		return text + ", that differ: " + l.Differs
	case l.Kinds > 1:
		return fmt.Sprintf("%s of %d kinds", text, l.Kinds)
	}
	return text
}

// The periods are how many trips may make one step of a loop whose trips differ: around a ring of
// two or four, or over segments of four blocks. Then each is the same as that so many trips before.
var periods = [...]int{2, 4}

// A Step is what executions have shown of trips that are a period apart.
type Step struct {
	Phases  int  // of the period that were compared, a bit each
	Differs bool // whether an access does not keep its distance, or none moves on
}

// Inductive reports whether the trips were compared, and are the same, or those a period apart.
func (l *Loop) Inductive() bool { return l.Same && l.Differs == "" || l.even() }

func (l *Loop) even() bool {
	for i, s := range l.Steps {
		if !s.Differs && s.Phases == 1<<periods[i]-1 {
			return true
		}
	}
	return false
}

// Join adds what another execution has shown.
func (l *Loop) Join(m *Loop) {
	l.Most, l.Kinds, l.Same = max(l.Most, m.Most), max(l.Kinds, m.Kinds), l.Same || m.Same
	l.Insts, l.Bytes = max(l.Insts, m.Insts), max(l.Bytes, m.Bytes)
	l.Still, l.Accesses, l.Hints = l.Still || m.Still, l.Accesses || m.Accesses, l.Hints || m.Hints
	for i, s := range m.Steps {
		l.Steps[i] = Step{l.Steps[i].Phases | s.Phases, l.Steps[i].Differs || s.Differs}
	}
	if l.Differs == "" {
		l.Differs = m.Differs
	}
}

// Bound returns what bounds the trips of a loop. If each trip of an inductive loop lies further on
// in a slice, and its accesses lie within, then the loop has at most length/distance + 1 trips. Of
// other loops, only the executed trips are known.
func (l *Loop) Bound() Bound {
	const few = 8
	switch {
	case l.Differs != "" && !l.even():
		return Unknown
	case l.Most == 1:
		return Once
	case !l.Inductive():
		return Rest
	case !l.Still:
		return Slices
	case l.Hints && !l.Accesses:
		return Prefetch
	case l.Most <= few:
		return Few
	}
	return Endless
}

// loops returns the jumps backwards of a function, by their targets, the last one first. Each makes
// a loop from its target on; jumps before it to the same target make loops within.
func (f *Function) loops() map[int][]int {
	ends := map[int][]int{}
	for i := len(f.Insts) - 1; i >= 0; i-- {
		if to := f.Insts[i].Target; to >= 0 && to <= i {
			ends[to] = append(ends[to], i)
		}
	}
	return ends
}

// An access is a load or a store of a trip.
type access struct {
	line, off int
	r         *Region
}

// A trip is what one trip of a loop executes.
type trip struct {
	number   int
	insts    int
	trace    uint64
	accesses []access
}

func (t *trip) step(line int) {
	t.insts++
	t.mix(line)
}

func (t *trip) mix(n int) { t.trace = (t.trace ^ uint64(n)) * 0x9e3779b97f4a7c15 >> 1 }

// A watch follows a loop that is being executed.
type watch struct {
	f           *Function
	first, last int
	loop        *Loop
	trips       int
	now         trip
	before      map[uint64][]trip // the last two trips of each kind
	latest      [8]trip           // the last ones of all kinds, for two of the longest periods
	outer       []trip            // what the loops around have done when this trip began
}

// watch follows the loops that an instruction is part of.
func (r *Run) watch(f *Function, pc int) {
	for n := len(r.watches); n > 0; n-- {
		if w := r.watches[n-1]; w.f == f && (pc < w.first || pc > w.last) {
			if r.last == w.last {
				w.finish() // it left where others go on
			}
			r.watches = r.watches[:n-1]
		}
	}
	ends, ok := r.ends[f]
	if !ok {
		ends = f.loops()
		r.ends[f] = ends
	}
	for _, last := range ends[pc] {
		r.arrive(f, pc, last)
	}
	in := &f.Insts[pc]
	for _, w := range r.watches {
		w.now.step(in.Line)
		w.loop.Hints = w.loop.Hints || strings.HasPrefix(in.Op, "PREFETCH") || in.Op == "PRFM"
	}
	r.last = pc
}

// arrive begins a loop, or its next trip if the jump was its own.
func (r *Run) arrive(f *Function, first, last int) {
	at := slices.IndexFunc(r.watches, func(w *watch) bool { return w.f == f && w.first == first && w.last == last })
	if at >= 0 && r.last < last {
		return // a trip of a loop within
	}
	if at < 0 {
		line := f.Insts[last].Line
		if r.Loops[line] == nil {
			r.Loops[line] = &Loop{Function: f.Name, First: f.Insts[first].Line, Line: line}
		}
		at = len(r.watches)
		r.watches = append(r.watches, &watch{f: f, first: first, last: last, loop: r.Loops[line], before: map[uint64][]trip{}})
	} else if w := r.watches[at]; w.finish() {
		for i, o := range w.outer { // a trip more of the same kind is none to the loops around
			u := r.watches[i]
			u.now = trip{o.number, o.insts, o.trace, u.now.accesses[:len(o.accesses)]}
		}
	}
	w := r.watches[at]
	w.loop.Most = max(w.loop.Most, w.trips+1)
	r.watches = r.watches[:at+1]
	w.now, w.outer = trip{number: w.trips}, w.outer[:0]
	for _, u := range r.watches[:at] {
		w.outer = append(w.outer, u.now)
	}
}

// finish compares a trip with earlier trips of its kind, and reports whether there were two and it
// equals them.
func (w *watch) finish() bool {
	w.trips++
	w.compare()
	old := w.before[w.now.trace]
	w.before[w.now.trace] = append(old[max(len(old)-1, 0):], w.now)
	w.loop.Kinds = max(w.loop.Kinds, len(w.before))
	if len(old) < 2 {
		return false
	}
	w.loop.Same = true
	w.loop.Insts = max(w.loop.Insts, w.now.insts)
	moved, differs := w.loop.distances(old[0], old[1], w.now)
	if differs != "" {
		if w.loop.Differs == "" {
			w.loop.Differs = differs
		}
		return false
	}
	w.loop.Still = w.loop.Still || !moved
	return true
}

// compare compares a trip with those one and two periods before.
func (w *watch) compare() {
	n := w.now.number
	before := func(trips int) *trip { return &w.latest[(n+len(w.latest)-trips)%len(w.latest)] }
	for i, p := range periods {
		if b, c := before(p), before(2*p); n >= 2*p && w.now.trace == b.trace && b.trace == c.trace {
			moved, differs := w.loop.distances(*c, *b, w.now)
			w.loop.Steps[i].Phases |= 1 << (n % p)
			w.loop.Steps[i].Differs = w.loop.Steps[i].Differs || differs != "" || !moved
		}
	}
	*before(0) = w.now
}

// distances reports whether accesses of three trips of a kind move on, and which one does not move
// by as much from the second to the third as it did before.
func (l *Loop) distances(first, second, third trip) (moved bool, differs string) {
	for i, a := range third.accesses {
		b, c := second.accesses[i], first.accesses[i]
		if a.r != b.r || b.r != c.r || (a.off-b.off)*(second.number-first.number) != (b.off-c.off)*(third.number-second.number) {
			return false, fmt.Sprintf("line %d, bytes %d of %s after %d of %s and %d of %s", a.line%FileLines, a.off, a.r.Name, b.off, b.r.Name, c.off, c.r.Name)
		}
		l.Bytes = max(l.Bytes, max(a.off-b.off, b.off-a.off)/(third.number-second.number))
		moved = moved || a.off != b.off
	}
	return moved, ""
}

// accessed notes an access. What it takes is part of what makes a kind of trip: the last trip over
// vectors of RISC-V takes less.
func (r *Run) accessed(m *Region, off, size int) {
	for _, w := range r.watches {
		w.loop.Accesses = true
		w.now.mix(size)
		w.now.accesses = append(w.now.accesses, access{r.State.Now.Line, off, m})
	}
}
