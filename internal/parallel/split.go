package parallel

// A Split runs a function over ranges of numbered things, such as rows, on several goroutines.
// Where the ranges end is chosen by speed alone: the function must give the same results for
// any ranges. W is scratch memory, one for each goroutine; S says what a call needs of it, as in a
// Group. A Split is part of a recycled job; in the steady state it allocates nothing.
type Split[W any, S comparable] struct {
	group Group[W, S]

	n, chunk int
}

// NoScratch is for a Split that needs no scratch memory.
var NoScratch = FreeList[struct{}]{}

// splitTasks is how many ranges a thread should find at least, so that no thread waits long for
// the last ones.
const splitTasks = 4

// Init sets up a new Split, once. fit, if not nil, prepares scratch memory for the current call,
// and onDrop, if not nil, is called when Run ends with a panic.
func (s *Split[W, S]) Init(scratch *FreeList[W], fit func(w *W), do func(w *W, lo, hi int), onDrop func()) {
	if fit == nil {
		fit = func(*W) {}
	}
	s.group.Init(scratch, fit, func(w *W, i int) { lo := i * s.chunk; do(w, lo, lo+min(s.chunk, s.n-lo)) })
	s.group.OnDrop, s.group.Independent = onDrop, true
}

// Run calls the function for ranges that together are 0 to n-1. work is all the work, in units that
// are worth waking a thread for. threads and parallelFor are options of the call.
func (s *Split[W, S]) Run(n int, work float64, shape S, threads int, parallelFor func(n int, task func(i int))) {
	if n == 0 {
		return
	}
	warm := 1 + WarmGain*work
	t, most, _ := Threads(LimitFor(threads, warm), 1+work, warm)
	s.n, s.chunk = n, n
	if t > 1 {
		s.chunk = 1 + (n-1)/(splitTasks*t)
	}
	tasks := 1 + (n-1)/s.chunk
	s.group.Run(tasks, min(t, tasks), Reserve[S]{Threads: min(most, n), Shape: shape}, parallelFor)
}

// A Loop computes ranges of numbered things on several goroutines, as a Split does, for calls that
// are given an A each. It copies that to a recycled job: in the steady state a call allocates
// nothing. Do gives the same results for any ranges. The zero Loop is ready for use once the
// exported fields are set.
type Loop[A, W any] struct {
	Scratch *FreeList[W]
	Fit     func(a *A, w *W) // prepares scratch memory for a call; nil if nothing is to be done
	Do      func(a *A, w *W, lo, hi int)

	jobs FreeList[loopJob[A, W]]
}

// A loopJob is one call of a Loop.
type loopJob[A, W any] struct {
	args  A
	split Split[W, int]
	ready bool // split is
}

// Run computes the things 0 to n-1 of a call. The other arguments are as in [Split.Run].
func (l *Loop[A, W]) Run(a *A, n int, work float64, shape, threads int, parallelFor func(n int, task func(i int))) {
	j := l.jobs.Get()
	if !j.ready {
		l.init(j)
	}
	j.args = *a
	switch {
	case n == 0:
	case Alone(work, threads, parallelFor):
		w := l.Scratch.Get()
		if l.Fit != nil {
			l.Fit(&j.args, w)
		}
		l.Do(&j.args, w, 0, n)
		l.Scratch.Put(w)
	default:
		j.split.Run(n, work, shape, threads, parallelFor)
	}
	j.args = *new(A) // the caller's memory
	l.jobs.Put(j)
}

// Alone reports whether a call runs on the goroutine of its caller, since it is not worth a second
// thread. The arguments are as in [Split.Run].
func Alone(work float64, threads int, parallelFor func(n int, task func(i int))) bool {
	return parallelFor == nil && (threads == 1 || work*WarmGain < 1)
}

func (l *Loop[A, W]) init(j *loopJob[A, W]) {
	var fit func(w *W)
	if l.Fit != nil {
		fit = func(w *W) { l.Fit(&j.args, w) }
	}
	j.split.Init(l.Scratch, fit, func(w *W, lo, hi int) { l.Do(&j.args, w, lo, hi) }, nil)
	j.ready = true
}
