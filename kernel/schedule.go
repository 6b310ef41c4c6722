package kernel

import "runtime"

// A schedule cuts a problem into panels, and these into tasks. It decides about
// speed alone: no cut changes a bit.
type schedule struct {
	tier    *tier
	width   int // lanes of a full panel; the last of a unit may be narrower
	panels  int // panels in a unit
	groups  int // tasks in a unit: groups of panels that share each key block
	tasks   int
	threads int
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

	// threadFMAs is the work below which one more thread costs more than it
	// gains: about 20 µs.
	threadFMAs = 1 << 20
)

func (j *job) plan(t *tier, threads int) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	s := schedule{tier: t, width: t.main()}
	s.panels = ceilDiv(j.rows(), s.width)
	share := min(groupPanels, max(1, groupFloats/(s.width*(j.d()+j.dv()))))
	s.groups = ceilDiv(s.panels, share)

	// float64 holds the product of any sizes that fit memory.
	fmas := float64(j.units()) * float64(j.rows()) * float64(j.keys()) * float64(j.d()+j.dv())
	threads = min(threads, 1+int(min(fmas/threadFMAs, 1<<16)))
	if threads > 1 {
		s.groups = min(s.panels, max(s.groups, ceilDiv(tasksPerThread*threads, j.units())))
	}
	s.tasks = s.groups * j.units()
	s.threads = min(threads, s.tasks)
	j.schedule = s
}

// maxGroup is the largest number of panels in a task.
func (s *schedule) maxGroup() int { return ceilDiv(s.panels, s.groups) }

// part returns the unit of task i and its range of panels. Tasks of a unit
// come in descending order: under a causal mask the last rows see most.
func (s *schedule) part(i int) (unit, first, end int) {
	unit, g := i/s.groups, s.groups-1-i%s.groups
	return unit, g * s.panels / s.groups, (g + 1) * s.panels / s.groups
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
