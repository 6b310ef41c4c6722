package norm

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
)

// The rows are numbered as they are in [B, H, L], those beyond a length too. A task is a range
// of them.

// A scratch is the memory of one goroutine of a call: a row of sums, if the call does not want them.
type scratch struct {
	row    []float32
	usage  parallel.Usage
	memory parallel.Memory
}

const (
	// maxElements is the most elements of one call of a kernel, if a row has no more: 30 µs if
	// they come from memory. A longer row is one call, as its sums cannot be cut.
	maxElements = 64 << 10

	// An element takes as long as elementFMAs FMAs of a product: it comes from L2 or from memory.
	elementFMAs = 12
)

var (
	calls     = parallel.Loop[call, scratch]{Scratch: &scratches, Fit: (*call).fit, Do: (*call).task}
	scratches = parallel.FreeList[scratch]{
		New:    func() *scratch { return new(scratch) },
		Memory: func(s *scratch) *parallel.Memory { return &s.memory },
	}
)

func (c *call) fit(s *scratch) {
	if c.residual.IsSet() && !c.sum.IsSet() {
		parallel.Fit(&s.memory, &s.usage, &s.row, c.x.Dim(3), parallel.Make[float32])
	}
}

// run computes the call, with a weight of ones and a bias of -0 where it has none.
func (c *call) run(opts *Options) {
	n, d := c.x.Dim(0)*c.x.Dim(1)*c.x.Dim(2), c.x.Dim(3)
	if c.weight == nil {
		c.weight = rows.Ones(d)
	}
	if c.layer && c.bias == nil {
		c.bias = rows.NegativeZeros(d)
	}
	work := float64(n) * float64(d) * elementFMAs / float64(c.tier.ThreadFMAs)
	calls.Run(c, n, work, d, opts.Threads, opts.ParallelFor)
}

// task normalises the rows lo to hi-1, run by run: rows of a head follow each other.
func (c *call) task(s *scratch, lo, hi int) {
	heads, length := c.x.Dim(1), c.x.Dim(2)
	for r := lo; r < hi; {
		head, l := r/length, r%length
		n := min(length-l, hi-r)
		b, h := head/heads, head%heads
		c.rows(s, b, h, l, min(n, c.x.Length(b)-l))
		r += n
	}
}

// rows normalises n rows of a head. There may be none.
func (c *call) rows(s *scratch, b, h, l, n int) {
	d := c.x.Dim(3)
	for most := max(1, maxElements/d); n > 0; {
		m := 1
		if !c.residual.IsSet() {
			m = min(n, most)
			c.norm(c.out.Rows(b, h, l, m), c.out.Stride(2), c.x.Rows(b, h, l, m), c.x.Stride(2), m)
		} else {
			row := s.row
			if c.sum.IsSet() {
				row = c.sum.Row(b, h, l)
			}
			c.tier.Elementwise().Add(row[:d], c.x.Row(b, h, l), c.residual.Row(b, h, l))
			c.norm(c.out.Row(b, h, l), 0, row[:d], 0, 1)
		}
		l, n = l+m, n-m
	}
}

// norm calls the kernel.
func (c *call) norm(out []float32, ldd int, x []float32, lds, n int) {
	size := float32(c.x.Dim(3))
	if c.layer {
		c.tier.Norms().LayerNorm(out, ldd, x, lds, n, c.weight, c.bias, size, c.eps)
	} else {
		c.tier.Norms().RMSNorm(out, ldd, x, lds, n, c.weight, size, c.eps)
	}
}
