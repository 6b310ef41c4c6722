package kernel

import "runtime"

// A schedule cuts a problem into panels, and these into tasks. It decides about
// speed alone: no cut changes a bit.
//
// The panels of all units are numbered through. A task is a range of them: some
// panels of one unit that share each key block, or, where units are small, all
// panels of several units, so that the processor finds independent work while it
// waits for the chains of one.
type schedule struct {
	tier     *tier
	width    int // lanes of a full panel; the last of a unit may be narrower
	panels   int // panels in a unit
	groups   int // tasks in a unit, if not several units share one
	together int // units in a task, if groups is 1
	tasks    int
	threads  int
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
)

func (j *job) plan(t *tier, threads int) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	wanted := 1 // tasks
	if threads > 1 {
		// float64 holds the product of any sizes that fit memory.
		fmas := float64(j.units()) * float64(j.rows()) * float64(j.keys()) * float64(j.d()+j.dv())
		threads = min(threads, 1+int(min(fmas/float64(t.threadFMAs), 1<<16)))
		wanted = tasksPerThread * threads
	}

	s := schedule{tier: t, width: j.lanes(t), together: 1}
	s.panels = ceilDiv(j.rows(), s.width)
	share := min(groupPanels, max(1, groupFloats/(s.width*(j.d()+j.dv()))))
	s.groups = min(s.panels, max(ceilDiv(s.panels, share), ceilDiv(wanted, j.units())))
	if s.groups == 1 {
		s.together = max(1, min(share/s.panels, j.units()/wanted))
	}
	s.tasks = ceilDiv(j.units(), s.together) * s.groups
	s.threads = min(threads, s.tasks)
	j.schedule = s
}

// lanes returns how many lanes a full panel has. A panel computes the scores of all
// keys that any of its rows sees: under a sliding window of n keys, n more than
// lanes/n of them for nothing. So narrow windows get narrower panels, although their
// tiles are slower.
func (p *problem) lanes(t *tier) int {
	width := t.main()
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

// maxGroup is the largest number of panels in a task.
func (s *schedule) maxGroup() int { return ceilDiv(s.panels*s.together, s.groups) }

// part returns the range of panels of task i, for a problem of so many units.
// Tasks of a unit come in descending order: under a causal mask the last rows
// see most.
func (s *schedule) part(i, units int) (first, end int) {
	if s.groups == 1 {
		return i * s.together * s.panels, min((i+1)*s.together, units) * s.panels
	}
	u, g := i/s.groups, s.groups-1-i%s.groups
	return u*s.panels + g*s.panels/s.groups, u*s.panels + (g+1)*s.panels/s.groups
}

// kernels returns the narrowest panel kernels for n rows.
func (s *schedule) kernels(n int) *panelKernels {
	ps := s.tier.panels
	for i := range ps {
		if ps[i].lanes >= n {
			return &ps[i]
		}
	}
	return &ps[len(ps)-1]
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
