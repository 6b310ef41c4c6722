package elementwise

import (
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Function computes outputs from inputs, row by row: a row of each depends on one row of the inputs
// alone. A row may be a single element.
type Function struct {
	// Name is what a caller knows it as: "activation.SiLU".
	Name string

	// Args are the names of the slices. The first ones, Outputs of them, are written, and so are Bytes.
	Args    []string
	Outputs int

	// All slices have the length of Args[Like], or a multiple of it: so many Times.
	Like  int
	Times [6]int

	// An output shares no memory with another one, but it may be an input, unless all are Apart.
	Apart bool

	// Size is the name of the argument that says how long a row of Args[Like] is, "" if each element is a row.
	Size string

	// ElementFMAs is how many FMAs of a product take as long as an element of the longest slice.
	ElementFMAs float64

	// Do computes the rows of c.
	Do func(c *Call)
}

// A Call has the arguments of a function, or some rows of them.
type Call struct {
	Tier    *tier.Tier
	All     int          // rows of the whole call, set by Run
	First   int          // row, counted in the whole call
	Rows    int          // number of rows, set by Run
	Size    int          // of a row of Args[Like], if the function has one
	Slices  [6][]float32 // each has the same number of elements in every row
	Bytes   []byte       // the same
	Ints    []int        // of the whole call
	Factors [7]float32   // the same
}

// Row returns row r of slice i.
func (c *Call) Row(i, r int) []float32 {
	return cut(c.Slices[i], c.Rows, r, 1)
}

// Tier returns the tier of a call of a function. The error is a [*kernel.Error] about exec.
func Tier(function string, exec *kernel.Exec) (*tier.Tier, error) {
	f := check.Threads("exec.Threads", exec.Threads)
	if f == nil {
		var t *tier.Tier
		if t, f = tier.Handle(exec.Tier).Tier(); f == nil {
			return t, nil
		}
	}
	return nil, (*kernel.Error)(f.In(function))
}

// Run checks the slices of a call, and computes it. The error is a [*kernel.Error].
func (f *Function) Run(exec *kernel.Exec, c *Call) error {
	if bad := f.check(c); bad != nil {
		return (*kernel.Error)(bad.In(f.Name))
	}
	t, err := Tier(f.Name, exec)
	if err != nil {
		return err
	}
	f.RunOn(t, exec, c)
	return nil
}

// RunOn computes a call that has passed all checks, on the tier that Tier has returned. Rows is set.
func (f *Function) RunOn(t *tier.Tier, exec *kernel.Exec, c *Call) {
	if c.Rows == 0 {
		return
	}
	if view.Races {
		f.announce(c)
	}
	j := jobs.Get()
	j.function, j.call = f, *c
	j.call.Tier, j.call.All = t, c.Rows
	elements := c.longest()
	j.most = max(1, int(callFMAs/f.ElementFMAs)/(elements/c.Rows))
	work := float64(elements) * f.ElementFMAs / float64(t.ThreadFMAs)
	switch one := exec.ParallelFor == nil && (exec.Threads == 1 || work*parallel.WarmGain < 1); {
	case one && c.Rows <= j.most:
		f.Do(&j.call)
	case one: // not worth a second thread
		j.task(&j.part, 0, c.Rows)
	default:
		j.split.Run(c.Rows, work, struct{}{}, exec.Threads, exec.ParallelFor)
	}
	j.function, j.call = nil, Call{} // the caller's memory
	jobs.Put(j)
}

// announce tells the race detector what a call reads and writes.
func (f *Function) announce(c *Call) {
	for i, s := range c.Slices {
		access := view.Read
		if i < f.Outputs {
			access = view.Write
		}
		view.Announce(access, s)
	}
	view.Announce(view.Write, c.Bytes)
}

// longest returns the length of the longest slice.
func (c *Call) longest() (n int) {
	for _, s := range c.Slices {
		n = max(n, len(s))
	}
	return n
}

// A job is one call. Jobs are recycled, so that in the steady state a call allocates nothing.
type job struct {
	function *Function
	call     Call
	most     int  // rows of a call of Do
	part     Call // of calls on one goroutine
	split    parallel.Split[Call, struct{}]
}

var (
	jobs  = parallel.FreeList[job]{New: newJob}
	parts = parallel.FreeList[Call]{New: func() *Call { return new(Call) }}
)

func newJob() *job {
	j := new(job)
	j.split.Init(&parts, nil, j.task, nil)
	return j
}

// callFMAs is how many FMAs of a product take as long as one call of a kernel, if a row is no longer: less than 50 µs, in
// which the goroutine cannot be preempted.
const callFMAs = 100 << 14

// task computes the rows lo to hi-1.
func (j *job) task(part *Call, lo, hi int) {
	c := &j.call
	for ; lo < hi; lo += part.Rows {
		n := min(j.most, hi-lo)
		part.Tier, part.All, part.First, part.Rows, part.Ints = c.Tier, c.All, lo, n, c.Ints
		part.Factors = c.Factors
		for i, s := range c.Slices {
			part.Slices[i] = cut(s, c.Rows, lo, n)
		}
		part.Bytes = cut(c.Bytes, c.Rows, lo, n)
		j.function.Do(part)
	}
	*part = Call{} // the caller's memory
}

// cut returns n rows of s, from row lo on.
func cut[E any](s []E, rows, lo, n int) []E {
	width := len(s) / rows
	return s[lo*width : (lo+n)*width]
}
