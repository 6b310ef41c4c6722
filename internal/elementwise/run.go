// Package elementwise runs micro-kernels over slices of float32, for the public functions over
// slices.
package elementwise

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Function computes outputs from inputs, row by row: a row of each depends on one row of the
// inputs alone. A row may be a single element.
type Function struct {
	// Name is what a caller knows it as: "activation.SiLU".
	Name string

	// Args are the names of the slices. The first ones, Outputs of them, are written, and so are
	// Bytes.
	Args    []string
	Outputs int

	// All slices have the length of Args[Like], or a multiple of it: so many Times.
	Like  int
	Times [6]int

	// An output shares no memory with another one, but it may be an input, unless all are Apart.
	Apart bool

	// Size is the name of the argument that says how long a row of Args[Like] is, "" if each
	// element is a row.
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

// Begin returns the tier of a call of a function, whose arguments a check has found to fit if f is
// nil. The error is a [*kernel.Error] about them or about exec.
func Begin(function string, exec *kernel.Exec, f *check.Failure) (*tier.Tier, error) {
	if f = cmp.Or(f, check.Threads("exec.Threads", exec.Threads)); f == nil {
		var t *tier.Tier
		if t, f = tier.Handle(exec.Tier).Tier(); f == nil {
			return t, nil
		}
	}
	return nil, (*kernel.Error)(f.In(function))
}

// Run checks the slices of a call, and computes it. The error is a [*kernel.Error].
func (f *Function) Run(exec *kernel.Exec, c *Call) error {
	t, err := Begin(f.Name, exec, f.check(c))
	if err != nil {
		return err
	}
	f.RunOn(t, exec, c)
	return nil
}

// RunOn computes a call that has passed all checks, on the tier that Begin has returned. Rows is
// set.
func (f *Function) RunOn(t *tier.Tier, exec *kernel.Exec, c *Call) {
	if c.Rows == 0 {
		return
	}
	if view.Races {
		f.announce(c)
	}
	elements := c.longest()
	run := run{f, *c, max(1, min(callElements, int(callFMAs/f.ElementFMAs))/(elements/c.Rows))}
	run.call.Tier, run.call.All = t, c.Rows
	work := float64(elements) * f.ElementFMAs / float64(t.ThreadFMAs)
	if parallel.Alone(work, exec.Threads, exec.ParallelFor) { // as Loop.Run, without a run on the heap
		part := parts.Get()
		run.rows(part, 0, c.Rows)
		parts.Put(part)
		return
	}
	runs.Run(&run, c.Rows, work, 0, exec.Threads, exec.ParallelFor)
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

// A run is one call.
type run struct {
	function *Function
	call     Call
	most     int // rows of a call of Do
}

var (
	runs  = parallel.Loop[run, Call]{Scratch: &parts, Do: (*run).rows}
	parts = parallel.FreeList[Call]{}
)

// One call of a kernel, in which the goroutine cannot be preempted, takes less than 50 µs if a row
// is no longer: as long as callFMAs FMAs of a product, and, for functions that memory bounds, as
// some elements take that come from there.
const (
	callFMAs     = 100 << 14
	callElements = 1 << 15
)

// rows computes the rows lo to hi-1.
func (r *run) rows(part *Call, lo, hi int) {
	for ; lo < hi; lo += part.Rows {
		*part = r.call
		part.First, part.Rows = lo, min(r.most, hi-lo)
		if all := r.call.Rows; part.Rows < all {
			for i, s := range part.Slices {
				part.Slices[i] = cut(s, all, lo, part.Rows)
			}
			part.Bytes = cut(part.Bytes, all, lo, part.Rows)
		}
		r.function.Do(part)
	}
	*part = Call{} // the caller's memory
}

// cut returns n rows of s, from row lo on.
func cut[E any](s []E, rows, lo, n int) []E {
	width := len(s) / rows
	return s[lo*width : (lo+n)*width]
}

// check reports the first argument that does not fit the function. It sets the number of rows.
func (f *Function) check(c *Call) *check.Failure {
	like, name := c.Slices[f.Like], f.Args[f.Like]
	if f.Size == "" {
		c.Size = 1
	}
	if c.Size < 1 {
		return &check.Failure{Where: f.Size, Got: fmt.Sprint(c.Size), Want: "at least 1"}
	}
	if len(like)%c.Size != 0 {
		return &check.Failure{Where: name, Got: fmt.Sprintf("length %d", len(like)), Want: fmt.Sprintf("a multiple of %s, %d", f.Size, c.Size)}
	}
	c.Rows = len(like) / c.Size
	for i, arg := range f.Args {
		x, n, times := c.Slices[i], len(like), ""
		if f.Times[i] > 1 {
			n, times = n*f.Times[i], fmt.Sprintf("%d times ", f.Times[i])
		}
		if len(x) != n {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d, %sthat of %s", n, times, name)}
		}
	}
	for i := range f.Outputs {
		if bad := f.checkMemory(c, i); bad != nil {
			return bad
		}
	}
	return nil
}

// checkMemory reports output i if it shares memory with another one, or with an input that it must
// not be or is in part.
func (f *Function) checkMemory(c *Call, i int) *check.Failure {
	m := view.MemoryOf(c.Slices[i])
	for k, arg := range f.Args {
		other := view.MemoryOf(c.Slices[k])
		place := k >= f.Outputs && !f.Apart
		switch {
		case k == i || !m.Overlaps(other) || place && m == other:
		case place:
			return &check.Failure{Where: f.Args[i], Got: "memory that overlaps a part of " + arg, Want: arg + " itself, or memory of its own"}
		default:
			return &check.Failure{Where: f.Args[i], Got: "memory that overlaps " + arg, Want: "memory of its own"}
		}
	}
	return nil
}
