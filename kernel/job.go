package kernel

import "sync"

// A unit of a problem is key head h of batch row b with all query rows that use
// it: group query heads × Lq queries. Row r of a unit is query r/group of the
// head r%group in the group, so that neighbours see nearly the same keys under a
// causal mask.
type unit struct{ b, h int }

func (p *problem) units() int { return p.k.shape[0] * p.k.shape[1] }

// unit returns unit i: those of a batch row are neighbours.
func (p *problem) unit(i int) unit { return unit{i / p.k.shape[1], i % p.k.shape[1]} }

// next returns the unit after u.
func (p *problem) next(u unit) unit {
	if u.h++; u.h == p.k.shape[1] {
		return unit{u.b + 1, 0}
	}
	return u
}

// rows is the number of query rows of a unit of the longest batch row.
func (p *problem) rows() int { return p.group * p.q.shape[2] }

// rowsOf is the number of query rows of a unit of batch row b.
func (p *problem) rowsOf(b int) int { return p.group * p.q.length(b) }

// keys is the number of keys of the longest batch row.
func (p *problem) keys() int { return p.k.shape[2] }

func (p *problem) d() int  { return p.q.shape[3] }
func (p *problem) dv() int { return p.v.shape[3] }

// A job is a problem on its way: cut into tasks for a crew. Jobs are recycled with
// all they need, so that a call allocates nothing.
type job struct {
	problem
	schedule

	crew  crew[workspace]
	relay relay

	// One for each thread, ready before the first starts: which of them get to
	// work is up to the scheduler, and what a call allocates must not be.
	workspaces []*workspace

	weightsMemory []float32 // of problem.additive
}

func newJob() *job {
	j := new(job)
	j.relay.moved.L = &j.relay.mu
	j.crew.staff(j.workspace, func(w *workspace, i int) { w.task(j, i) })
	return j
}

// workspace returns the scratch memory of worker n.
func (j *job) workspace(n int) *workspace {
	if n < len(j.workspaces) {
		return j.workspaces[n]
	}
	w := new(workspace)
	w.fit(j)
	return w
}

// run has all tasks done, by goroutines of its own or by the caller's
// parallel-for.
func (j *job) run(parallel func(n int, task func(i int))) {
	for range j.threads {
		w := workspaces.get()
		w.fit(j)
		j.workspaces = append(j.workspaces, w)
	}
	j.crew.run(j.tasks, j.threads, parallel)
	for _, w := range j.workspaces {
		workspaces.put(w)
	}
	j.workspaces = j.workspaces[:0]
}

// A freeList recycles values across calls. Unlike a sync.Pool it is not emptied
// by the garbage collector, so that a warm program allocates nothing; it keeps as
// many as were ever in use at once.
type freeList[T any] struct {
	mu   sync.Mutex
	free []*T
	make func() *T
}

var (
	jobs       = freeList[job]{make: newJob}
	workspaces = freeList[workspace]{make: func() *workspace { return new(workspace) }}
)

func (l *freeList[T]) get() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return l.make()
	}
	x := l.free[n-1]
	l.free = l.free[:n-1]
	return x
}

func (l *freeList[T]) put(x *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, x)
}

// solve does the problem that has been set, and gives j back.
func (j *job) solve(t *tier, opts *Options) {
	j.plan(t, opts.Threads)
	j.run(opts.Run)
	j.problem = problem{} // the caller's memory is the caller's again
	jobs.put(j)
}
