package elementwise

import (
	"cmp"

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

	// Outputs is how many of the slices are written. They come first. Bytes are an output, too.
	Outputs int

	// ElementFMAs is how many FMAs of a product take as long as an element of the longest slice.
	ElementFMAs float64

	// Do computes the rows of c.
	Do func(c *Call)
}

// A Call has the arguments of a function, or some rows of them.
type Call struct {
	Tier   *tier.Tier
	All    int          // rows of the whole call, set by Run
	First  int          // row, counted in the whole call
	Rows   int          // number of rows
	Slices [6][]float32 // each has the same number of elements in every row
	Bytes  []byte       // the same
	Ints   []int        // of the whole call
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

// Run computes a call whose slices have passed all checks. The errors are those of Tier.
func (f *Function) Run(exec *kernel.Exec, c Call) error {
	t, err := Tier(f.Name, exec)
	if err != nil {
		return err
	}
	f.RunOn(t, exec, c)
	return nil
}

// RunOn is Run on the tier that Tier has returned.
func (f *Function) RunOn(t *tier.Tier, exec *kernel.Exec, c Call) {
	if c.Rows == 0 {
		return
	}
	if view.Races {
		f.announce(&c)
	}
	c.Tier, c.All = t, c.Rows
	j := jobs.Get()
	j.function, j.call = f, c
	work := float64(c.longest()) * f.ElementFMAs / float64(t.ThreadFMAs)
	if exec.ParallelFor == nil && (exec.Threads == 1 || work*parallel.WarmGain < 1) { // not worth a second thread
		j.task(&j.part, 0, c.Rows)
	} else {
		j.split.Run(c.Rows, work, struct{}{}, exec.Threads, exec.ParallelFor)
	}
	j.function, j.call = nil, Call{} // the caller's memory
	jobs.Put(j)
}

// Slice computes dst from src, a slice of the same length that dst may be.
func (f *Function) Slice(dst, src []float32, exec *kernel.Exec) error {
	if failure := cmp.Or(CheckLength("dst", dst, "src", src), CheckPlace(dst, "src", src)); failure != nil {
		return (*kernel.Error)(failure.In(f.Name))
	}
	return f.Run(exec, Call{Rows: len(dst), Slices: [6][]float32{dst, src}})
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

// callElements is the number of elements that one call of a kernel computes, if a row has no more. That
// takes less than 50 µs, in which the goroutine cannot be preempted.
const callElements = 1 << 13

// task computes the rows lo to hi-1.
func (j *job) task(part *Call, lo, hi int) {
	c := &j.call
	for most := max(1, callElements/(c.longest()/c.Rows)); lo < hi; lo += part.Rows {
		n := min(most, hi-lo)
		part.Tier, part.All, part.First, part.Rows, part.Ints = c.Tier, c.All, lo, n, c.Ints
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
