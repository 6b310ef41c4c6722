package kernel

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sort"
)

// A schedule cuts a problem into panels, and these into tasks of about the same work. It
// decides about speed alone: no cut changes a bit.
type schedule struct {
	tier      *tier
	width     int       // lanes of a full panel; the last of a unit may be narrower
	stretches []stretch // by their tasks
	most      int       // panels in a task
	shared    bool      // panels of a unit share its keys
	tasks     int
	threads   int
}

// A stretch is neighbouring units with as many rows, and keys, each. A task of it is
// some panels of one unit that share each key block; or, where units are small, all
// panels of several units, so that the processor finds independent work while it
// waits for the chains of one; or, where not even panels are small enough, one block of
// keys of a panel, see split.go.
type stretch struct {
	unit, units int // first, number
	rows, keys  int // of a unit
	panels      int // of a unit
	groups      int // tasks of a unit, if not several units share one
	together    int // units of a task, if groups is 1
	blocks      int // tasks of a panel that is split, or 0
	task, tasks int // first, number
}

const (
	// groupPanels panels share a key block, so that K and V come from L2 for
	// all but the first.
	groupPanels = 8

	// groupFloats bounds the Q̂ᵀ and Oᵀ panels of a group (512 KiB), so that
	// they stay in L2 beside a block of K, V and S.
	groupFloats = 128 << 10

	// tasksPerThread is how many tasks a thread should find at least, so that
	// no thread waits long for the last ones.
	tasksPerThread = 4

	// leastRows is how many rows take no longer than one: fewer wait for the memory
	// that keys and values come from.
	leastRows = 8
)

func (j *job) plan(t *tier, threads int) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	s := &j.schedule
	*s = schedule{tier: t, width: j.lanes(t), stretches: s.stretches[:0]}
	j.findStretches(threads > 1)
	all, wanted := j.work(), 1
	if threads > 1 {
		work := all / float64(t.threadFMAs)
		threads = team(threads, 1+work, 1+readyGain*work)
		if threads > 1 {
			wanted = tasksPerThread * threads
		}
	}
	for x := range s.stretches {
		j.cut(&s.stretches[x], all, wanted, threads)
	}
	if len(s.stretches) > 1 {
		slices.SortStableFunc(s.stretches, largestTasksFirst)
	}
	for x := range s.stretches {
		y := &s.stretches[x]
		y.task = s.tasks
		s.tasks += y.tasks
		s.shared = s.shared || y.panels > 1
		s.most = max(s.most, ceilDiv(y.panels*y.together, y.groups))
	}
	s.threads = min(threads, s.tasks)
	if len(s.stretches) > 0 && s.stretches[0].blocks > 0 {
		j.relay.fit(j)
	}
}

// findStretches lists the units. On one thread, only different numbers of rows make
// different stretches.
func (j *job) findStretches(balanced bool) {
	if !j.q.isRagged() && !(balanced && (j.k.isRagged() || j.k.isPaged() || j.mask.hasLengths())) {
		j.addStretch(0, j.units(), j.rows(), j.visible(0))
		return
	}
	heads, last := j.k.shape[1], -1
	for b := range j.k.shape[0] {
		rows, keys := j.rowsOf(b), j.visible(b)
		if rows == 0 {
			continue
		}
		if y := j.stretches; last == b-1 && len(y) > 0 && y[len(y)-1].rows == rows && (!balanced || y[len(y)-1].keys == keys) {
			y[len(y)-1].units += heads
		} else {
			j.addStretch(b*heads, heads, rows, keys)
		}
		last = b
	}
}

func (j *job) addStretch(unit, units, rows, keys int) {
	j.stretches = append(j.stretches, stretch{unit: unit, units: units, rows: rows, keys: keys, panels: ceilDiv(rows, j.width)})
}

// visible returns the most keys that a row of batch row b sees, but for masks that
// depend on the row.
func (p *problem) visible(b int) int {
	return max(1, min(p.mask.length(b, p.k.length(b)), p.mask.window(), p.window.len()))
}

// work is the number of fmas of all stretches, or of those that take as long. A float64
// holds the product of any sizes that fit memory.
func (j *job) work() float64 {
	all := 0.0
	for x := range j.stretches {
		all += float64(j.stretches[x].units) * j.unitWork(&j.stretches[x])
	}
	return all
}

func (j *job) unitWork(y *stretch) float64 {
	return y.pairs() * float64(j.d()+j.dv())
}

// cut cuts a stretch into tasks, so that of all work there are at least as many as
// wanted.
func (j *job) cut(y *stretch, all float64, wanted, threads int) {
	unit := j.unitWork(y) * float64(wanted)
	parts := unit / all // that a unit should have
	share := min(groupPanels, max(1, groupFloats/(j.width*(j.d()+j.dv()))))
	y.together = 1
	y.groups = max(ceilDiv(y.panels, share), int(math.Ceil(min(parts, float64(y.panels)))))
	if y.groups == 1 {
		y.together = max(1, min(share/y.panels, int(min(all/unit, float64(y.units)))))
	}
	y.tasks = ceilDiv(y.units, y.together) * y.groups
	if threads > 1 && j.splits(y, parts, threads) {
		j.split(y)
	}
}

// splits tells whether the panels of a stretch, of which a unit should have so many parts, are
// to be cut into blocks of keys. Few rows cost next to nothing to cut, and their calls are
// so short that it matters how late other threads begin: some 50 µs. So these get smaller
// parts, even if there is a panel for every thread.
func (j *job) splits(y *stretch, parts float64, threads int) bool {
	if j.few(y.rows) {
		return 2*parts > float64(y.panels)
	}
	even := len(j.stretches) == 1 && y.units*y.panels%threads == 0
	return parts > float64(y.panels) && !even
}

// largestTasksFirst orders stretches so that the last tasks, which other threads may have to
// wait for, are small. Those of split panels come before all others.
func largestTasksFirst(a, b stretch) int {
	return cmp.Or(-cmp.Compare(min(a.blocks, 1), min(b.blocks, 1)), -cmp.Compare(a.weight(), b.weight()))
}

// pairs is what the work of a unit is proportional to: rows times keys.
func (y *stretch) pairs() float64 { return float64(max(y.rows, leastRows)) * float64(y.keys) }

// weight is what the work of a task is proportional to.
func (y *stretch) weight() float64 {
	return y.pairs() * float64(y.together) / float64(y.groups)
}

// lanes returns how many lanes a full panel has: more than usual where one such panel holds
// all rows, and its keys and values are read once. A panel computes the scores of all
// keys that any of its rows sees: under a sliding window of n keys, n more than
// lanes/n of them for nothing. So narrow windows get narrower panels, although their
// tiles are slower.
func (p *problem) lanes(t *tier) int {
	width := t.main()
	if one := t.kernels(p.rows()).lanes; p.rows() <= one {
		width = max(width, one)
	}
	most := max(t.panels[0].lanes, p.mask.window()/windowLanes*p.group)
	for i := range t.panels {
		if lanes := t.panels[i].lanes; lanes <= most && lanes < width && (i+1 == len(t.panels) || t.panels[i+1].lanes > most) {
			width = lanes
		}
	}
	return width
}

// windowLanes is how many keys of a window there should be for every query of a panel.
const windowLanes = 8

// stretch returns the stretch that task i belongs to.
func (s *schedule) stretch(i int) *stretch {
	if len(s.stretches) == 1 {
		return &s.stretches[0]
	}
	return &s.stretches[sort.Search(len(s.stretches), func(x int) bool { return s.stretches[x].task > i })-1]
}

// part returns the panels of task i of a stretch that is not split: the unit of the first,
// its number there, and how many. Tasks of a unit come in descending order: under a
// causal mask the last rows see most.
func (y *stretch) part(i int) (unit, first, n int) {
	i -= y.task
	if y.groups == 1 {
		i *= y.together
		return y.unit + i, 0, min(y.together, y.units-i) * y.panels
	}
	u, g := i/y.groups, y.groups-1-i%y.groups
	first = g * y.panels / y.groups
	return y.unit + u, first, (g+1)*y.panels/y.groups - first
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
