package parallel

// A Loop computes ranges of numbered things on several goroutines, as a Split does, for calls that are given
// an A each. It copies that to a recycled job: in the steady state a call allocates nothing. Do gives the
// same results for any ranges. The zero Loop is ready for use once the exported fields are set.
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
}

// Run computes the things 0 to n-1 of a call. The other arguments are those of [Split.Run].
func (l *Loop[A, W]) Run(a *A, n int, work float64, shape, threads int, parallelFor func(n int, task func(i int))) {
	j := l.jobs.take()
	if j == nil {
		j = l.newJob()
	}
	j.args = *a
	j.split.Run(n, work, shape, threads, parallelFor)
	j.args = *new(A) // the caller's memory
	l.jobs.Put(j)
}

func (l *Loop[A, W]) newJob() *loopJob[A, W] {
	j := new(loopJob[A, W])
	var fit func(w *W)
	if l.Fit != nil {
		fit = func(w *W) { l.Fit(&j.args, w) }
	}
	j.split.Init(l.Scratch, fit, func(w *W, lo, hi int) { l.Do(&j.args, w, lo, hi) }, nil)
	return j
}
