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
var NoScratch = FreeList[struct{}]{New: func() *struct{} { return new(struct{}) }}

// splitTasks is how many ranges a thread should find at least, so that no thread waits long for
// the last ones.
const splitTasks = 4

// Init sets up a new Split, once. fit, if not nil, prepares scratch memory for the current call,
// and onDrop, if not nil, is called when Run ends with a panic.
func (s *Split[W, S]) Init(scratch *FreeList[W], fit func(w *W), do func(w *W, lo, hi int), onDrop func()) {
	if fit == nil {
		fit = func(*W) {}
	}
	s.group.Init(scratch, fit, func(w *W, i int) { do(w, i*s.chunk, min((i+1)*s.chunk, s.n)) })
	s.group.OnDrop, s.group.Independent = onDrop, true
}

// Run calls the function for ranges that together are 0 to n-1. work is that of all in units
// that are worth waking a thread for. threads and parallelFor are options of the call.
func (s *Split[W, S]) Run(n int, work float64, shape S, threads int, parallelFor func(n int, task func(i int))) {
	if n == 0 {
		return
	}
	warm := 1 + WarmGain*work
	t, most, _ := Threads(LimitFor(threads, warm), 1+work, warm)
	s.n, s.chunk = n, n
	if t > 1 {
		s.chunk = (n + splitTasks*t - 1) / (splitTasks * t)
	}
	tasks := (n + s.chunk - 1) / s.chunk
	s.group.Run(tasks, min(t, tasks), Reserve[S]{Threads: min(most, n), Shape: shape}, parallelFor)
}
