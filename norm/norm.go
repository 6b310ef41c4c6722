// Package norm normalises rows by [RMSNorm] or [LayerNorm], and adds a residual before, if there is
// one:
//
//	x := kernel.BHLD(data, 1, 1, tokens, width)
//	err := norm.RMSNorm(x, x, weight, 1e-6, norm.Options{}) // in place
//
// [RMSNormBackward] and [LayerNormBackward] compute the gradients.
//
// As in package kernel, a result has the same bits on every CPU, with any number
// of threads, and whatever other rows are in the call.
package norm

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Options are the settings of one call. The zero value has no residual. Exec changes no bit
// of the result.
type Options struct {
	kernel.Exec

	// Residual, if set, is added to x before the norm: a tensor like x. Each sum is rounded, as by
	// a separate addition; a NaN is 0x7FC00000.
	Residual kernel.Tensor

	// Sum, if set, receives x + Residual. It needs a Residual, and may be x or Residual itself,
	// but not out.
	Sum kernel.Tensor
}

// RMSNorm divides every row of x by the root of the mean of its squares, and multiplies it by
// weight (Zhang, Sennrich: "Root Mean Square Layer Normalization"):
//
//	out = (x/√(mean(x²) + eps))·weight
//
//	x, out [B, H, L, D]  float32, not paged, and ragged only both in the same way
//	weight               D numbers, or nil for ones
//	eps                  0 or more, finite
//
// A row is the D elements of a token, or of one head of it if there are H heads. out may be x or
// the residual. The numeric contract, package contract, defines the bits. A NaN makes its row NaN.
// Infinite elements, and squares beyond float32, give zeros and NaN, as the formula says.
//
// In the steady state a call allocates nothing, see [kernel.ReleaseMemory]. Calls that share no
// row may run at once. An error is a [*kernel.Error], and
// leaves out and Sum untouched.
func RMSNorm(out, x kernel.Tensor, weight []float32, eps float32, opts Options) error {
	return apply("norm.RMSNorm", &call{out: view.Tensor(out), x: view.Tensor(x), weight: weight, eps: eps}, &opts)
}

// LayerNorm gives every row of x mean 0 and variance 1, multiplies it by weight and adds bias (Ba,
// Kiros, Hinton: "Layer Normalization"):
//
//	out = (x - mean(x))/√(variance(x) + eps)·weight + bias
//
// The variance is the mean of (x - mean)². bias is D numbers, or nil for none. All else is as
// with [RMSNorm].
func LayerNorm(out, x kernel.Tensor, weight, bias []float32, eps float32, opts Options) error {
	return apply("norm.LayerNorm", &call{out: view.Tensor(out), x: view.Tensor(x), weight: weight, bias: bias, eps: eps, layer: true}, &opts)
}

// apply checks a call and computes it.
func apply(function string, c *call, opts *Options) error {
	c.residual, c.sum = view.Tensor(opts.Residual), view.Tensor(opts.Sum)
	t, err := elementwise.Begin(function, &opts.Exec, c.check(opts.Threads))
	if err != nil {
		return err
	}
	if s := c.x.Shape(); min(s[0], s[1], s[2], s[3]) == 0 {
		return nil // the other dimensions may be any numbers
	}
	if view.Races {
		c.announce()
	}
	c.tier = t
	c.run(opts)
	return nil
}

// A call holds the arguments of one call.
type call struct {
	tier                  *tier.Tier
	out, x, residual, sum view.Tensor
	weight, bias          []float32
	eps                   float32
	layer                 bool
}

const (
	residualArg = "Options.Residual"
	sumArg      = "Options.Sum"
)

// check reports the first argument that does not fit.
func (c *call) check(threads int) *check.Failure {
	if f := c.x.CheckFloats("x"); f != nil {
		return f
	}
	if f := checkOutput("out", &c.out, &c.x); f != nil {
		return f
	}
	if c.residual.IsSet() {
		if f := c.residual.CheckLike(residualArg, &c.x, "x", c.x.Dim(3)); f != nil {
			return f
		}
	}
	if c.sum.IsSet() {
		if !c.residual.IsSet() {
			return &check.Failure{Where: sumArg, Got: c.sum.Describe(), Want: "no tensor, as there is no " + residualArg}
		}
		if f := checkOutput(sumArg, &c.sum, &c.x); f != nil {
			return f
		}
	}
	d, inputs := c.x.Dim(3), []string{"x", residualArg}
	return cmp.Or(
		checkNumbers("weight", c.weight, d), checkNumbers("bias", c.bias, d), checkEps(c.eps),
		c.out.CheckBeside("out", inputs, &c.x, &c.residual), c.sum.CheckBeside(sumArg, inputs, &c.x, &c.residual),
		view.CheckApart(2, []string{sumArg, "out", "weight", "bias"}, c.sum.Memory(), c.out.Memory(), view.MemoryOf(c.weight), view.MemoryOf(c.bias)),
		check.Threads("Options.Threads", threads),
	)
}

// checkOutput reports an output that is not like x, or two of whose elements share an address.
func checkOutput(arg string, t, x *view.Tensor) *check.Failure {
	return cmp.Or(t.CheckLike(arg, x, "x", x.Dim(3)), t.CheckDistinct(arg))
}

// checkNumbers reports numbers for the elements of a row, if there are some, of another length than
// d.
func checkNumbers(arg string, s []float32, d int) *check.Failure {
	if s != nil && len(s) != d {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d numbers", len(s)), Want: fmt.Sprintf("%d, one for each element of a row of x, or nil", d)}
	}
	return nil
}

func checkEps(eps float32) *check.Failure {
	if !(eps >= 0 && eps <= math.MaxFloat32) {
		return &check.Failure{Where: "eps", Got: fmt.Sprint(eps), Want: "0 or more, finite"}
	}
	return nil
}

// announce announces to the race detector what the call reads and writes.
func (c *call) announce() {
	c.x.AnnounceAll(view.Read)
	c.residual.AnnounceAll(view.Read)
	c.sum.AnnounceAll(view.Write)
	c.out.AnnounceAll(view.Write)
	view.Announce(view.Read, c.weight)
	view.Announce(view.Read, c.bias)
}

// A scratch is the memory of one goroutine of a call: a row of sums, if the call does not want
// them.
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
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func (c *call) fit(s *scratch) {
	if c.residual.IsSet() && !c.sum.IsSet() {
		parallel.Fit(&s.memory, &s.usage, &s.row, c.x.Dim(3), parallel.Make[float32])
	}
}

// run computes the call, with a weight of ones and a bias of -0 where it has none.
func (c *call) run(opts *Options) {
	n, d := c.x.Dim(0)*c.x.Dim(1)*c.x.Dim(2), c.x.Dim(3)
	if n > c.x.Dim(2) { // a call for one head need not try
		view.Fold(&c.out, &c.x, &c.residual, &c.sum)
	}
	if c.weight == nil {
		c.weight = rows.Ones(d)
	}
	if c.layer && c.bias == nil {
		c.bias = rows.NegativeZeros(d)
	}
	work := float64(n) * float64(d) * elementFMAs / float64(c.tier.ThreadFMAs)
	calls.Run(c, n, work, d, opts.Threads, opts.ParallelFor)
}

// task normalises the rows lo to hi-1, run by run: rows of a head follow each other. They are
// numbered as they are in [B, H, L], those beyond a length too.
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
