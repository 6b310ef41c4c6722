package norm

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Gradients are the outputs of [RMSNormBackward] and [LayerNormBackward]. A gradient that is not
// set is not computed.
type Gradients struct {
	X            kernel.Tensor // with respect to x: a tensor like x
	Weight, Bias []float32     // with respect to the weight and the bias: D numbers
}

// BackwardOptions are the settings of one call of [RMSNormBackward] or [LayerNormBackward].
type BackwardOptions struct {
	kernel.Exec // changes no bit of the result

	// Direct, if set, is a tensor like x that is added to Gradients.X: with Options.Residual in the
	// forward pass, the gradient that the sum has got elsewhere. It is an error if Gradients.X is
	// not set.
	Direct kernel.Tensor

	// Accumulate adds the gradients of weight and bias to what is there: +0, if there are no rows.
	Accumulate bool
}

// RMSNormBackward computes the gradients of [RMSNorm] from dy, the gradient of its out. With
//
//	inv = 1/√(mean(x²) + eps), y = x·inv, g = dy·weight
//
// they are
//
//	X      = (g - y·mean(g·y))·inv + Direct
//	Weight = dy·y summed up over all rows
//
//	dy, x [B, H, L, D]  float32, not paged, and ragged only both in the same way
//	weight              D numbers, or nil for ones
//
// If the norm had a Residual, x is the sum that it wrote to Options.Sum. Then X is the gradient
// with respect to the sum, and thereby to both summands.
//
// X may be dy, x or Direct. Other memory is not shared. Gradients.Bias must not be set. The numeric
// contract, package contract, defines the bits. A NaN makes its row of X NaN, and Weight.
//
// In the steady state a call allocates nothing. An error is a [*kernel.Error], and leaves
// the gradients untouched.
func RMSNormBackward(g Gradients, dy, x kernel.Tensor, weight []float32, eps float32, opts BackwardOptions) error {
	return backward("norm.RMSNormBackward", &backwardCall{dy: view.Tensor(dy), x: view.Tensor(x), weight: weight, eps: eps}, &g, &opts)
}

// LayerNormBackward computes the gradients of [LayerNorm] from dy, the gradient of its out. With
//
//	inv = 1/√(variance(x) + eps), y = (x - mean(x))·inv, g = dy·weight
//
// they are
//
//	X      = (g - mean(g) - y·mean(g·y))·inv + Direct
//	Weight = dy·y summed up over all rows
//	Bias   = dy summed up over all rows
//
// All else is as with [RMSNormBackward].
func LayerNormBackward(g Gradients, dy, x kernel.Tensor, weight []float32, eps float32, opts BackwardOptions) error {
	return backward("norm.LayerNormBackward", &backwardCall{dy: view.Tensor(dy), x: view.Tensor(x), weight: weight, eps: eps, layer: true}, &g, &opts)
}

// A backwardCall holds the arguments of one call.
type backwardCall struct {
	dx, dy, x, direct view.Tensor
	dWeight, dBias    []float32
	weight            []float32
	eps               float32
	layer, accumulate bool
}

// backward checks a call and computes it.
func backward(function string, c *backwardCall, g *Gradients, opts *BackwardOptions) error {
	c.dx, c.dWeight, c.dBias = view.Tensor(g.X), g.Weight, g.Bias
	c.direct, c.accumulate = view.Tensor(opts.Direct), opts.Accumulate
	t, err := elementwise.Begin(function, &opts.Exec, c.check(opts.Threads))
	if err != nil {
		return err
	}
	if view.Races {
		c.announce()
	}
	j := backwardJobs.Get()
	j.backwardCall = *c
	j.run(t, opts)
	j.backwardCall = backwardCall{} // the caller's memory
	backwardJobs.Put(j)
	return nil
}

// check reports the first argument that does not fit.
func (c *backwardCall) check(threads int) *check.Failure {
	if f := c.x.CheckFloats("x"); f != nil {
		return f
	}
	d := c.x.Dim(3)
	if c.direct.IsSet() {
		if f := c.direct.CheckLike(directArg, &c.x, "x", d); f != nil {
			return f
		}
		if !c.dx.IsSet() {
			return &check.Failure{Where: directArg, Got: c.direct.Describe(), Want: "no tensor, as Gradients.X is not set"}
		}
	}
	if !c.layer && c.dBias != nil {
		return &check.Failure{Where: "Gradients.Bias", Got: fmt.Sprintf("%d numbers", len(c.dBias)), Want: "nil, as RMSNorm has no bias"}
	}
	if s := c.x.Shape(); min(s[0], s[1], s[2]) > 0 && ints.MulSat(ints.MulSat(s[0], s[1]), s[2]) == math.MaxInt {
		return &check.Failure{Where: "x", Got: c.x.Describe(), Want: "a number of rows that fits an int"}
	}
	inputs, dWeight, dBias := []string{"dy", "x", directArg}, view.MemoryOf(c.dWeight), view.MemoryOf(c.dBias)
	return cmp.Or(
		c.dy.CheckLike("dy", &c.x, "x", d), c.dx.CheckGradient("Gradients.X", &c.x, "x"),
		checkNumbers("weight", c.weight, d), checkEps(c.eps), checkNumbers("Gradients.Weight", c.dWeight, d), checkNumbers("Gradients.Bias", c.dBias, d),
		c.dx.CheckBeside("Gradients.X", inputs, &c.dy, &c.x, &c.direct),
		view.CheckApart(3, []string{"Gradients.X", "Gradients.Weight", "Gradients.Bias", "weight"}, c.dx.Memory(), dWeight, dBias, view.MemoryOf(c.weight)),
		view.CheckApart(2, []string{"Gradients.Weight", "Gradients.Bias", "dy", "x", directArg}, dWeight, dBias, c.dy.Memory(), c.x.Memory(), c.direct.Memory()),
		check.Threads("Options.Threads", threads),
	)
}

const directArg = "Options.Direct"

// announce announces to the race detector what the call reads and writes.
func (c *backwardCall) announce() {
	c.x.AnnounceAll(view.Read)
	c.dy.AnnounceAll(view.Read)
	c.direct.AnnounceAll(view.Read)
	c.dx.AnnounceAll(view.Write)
	view.Announce(view.Read, c.weight)
	view.Announce(view.Write, c.dWeight)
	view.Announce(view.Write, c.dBias)
}

// A backwardJob is the state of one call. Jobs are recycled, so that in the steady state a call
// allocates nothing.
//
// The rows are numbered as they are in [B, H, L], those beyond a length too. A task is some blocks
// of them. The gradients of weight and bias of each block wait in sums and are added up in order.
type backwardJob struct {
	backwardCall
	rows int
	tier *tier.Tier

	split      parallel.Split[gradientGroup, int]
	sums, bias []float32 // [blocks, D]
	sumsUsage  parallel.Usage
	biasUsage  parallel.Usage
	memory     parallel.Memory
}

// A gradientGroup is the memory of one goroutine, for some rows: x less its mean for LayerNorm, the
// numbers of the rows, and the chains of their sums.
type gradientGroup struct {
	y                  []float32 // and a row for the sums that nobody wants
	mean, rest         [groupRows]float32
	inv, center, slope [groupRows]float32
	chains             [contract.NormChains]float32
	sums, dots         [groupRows * doubleChains]float64
	usage              parallel.Usage
	memory             parallel.Memory
}

const (
	// blockRows is the number of rows whose gradients of weight and bias are summed up before they
	// are added to other blocks', and groupBlocks the number of blocks whose sums are summed up
	// before they are added.
	blockRows   = 32
	groupBlocks = 32

	// groupRows is the most rows that are computed at a time. They have groupElements at most, if
	// they are more than two, so that they are still in L2 when they are read again. Their number
	// is even, as kernels take two rows side by side.
	groupRows     = 8
	groupElements = 1 << 12

	// An element takes as long as gradientFMAs FMAs of a product.
	gradientFMAs = 60
)

var (
	backwardJobs = parallel.FreeList[backwardJob]{
		New: func() *backwardJob {
			j := new(backwardJob)
			j.split.Init(&gradientGroups, func(s *gradientGroup) { s.fit(j.x.Dim(3)) }, j.blocks, j.memory.Forget)
			return j
		},
		Memory: func(j *backwardJob) *parallel.Memory { return &j.memory },
	}
	gradientGroups = parallel.FreeList[gradientGroup]{Memory: func(s *gradientGroup) *parallel.Memory { return &s.memory }}
)

// groupOf returns how many rows of d elements are computed at a time.
func groupOf(d int) int { return min(max(groupElements/max(d, 1)&^1, 2), groupRows) }

func (s *gradientGroup) fit(d int) {
	parallel.Fit(&s.memory, &s.usage, &s.y, (groupOf(d)+1)*d, parallel.Make[float32])
}

// run computes the call.
func (j *backwardJob) run(t *tier.Tier, opts *BackwardOptions) {
	j.tier = t
	d := j.x.Dim(3)
	j.rows = 0
	if s := j.x.Shape(); min(s[0], s[1], s[2]) > 0 { // else the others may be any numbers
		j.rows = s[0] * s[1] * s[2]
		view.Fold(&j.dx, &j.dy, &j.x, &j.direct)
		if j.weight == nil {
			j.weight = rows.Ones(d)
		}
	}
	blocks := ints.CeilDiv(j.rows, blockRows)
	if j.dWeight != nil {
		parallel.Fit(&j.memory, &j.sumsUsage, &j.sums, blocks*d, parallel.Make[float32])
	}
	if j.dBias != nil {
		parallel.Fit(&j.memory, &j.biasUsage, &j.bias, blocks*d, parallel.Make[float32])
	}
	work := float64(j.rows) * float64(d) * gradientFMAs / float64(t.ThreadFMAs)
	j.split.Run(blocks, work, d, opts.Threads, opts.ParallelFor)
	j.addUp(j.dWeight, j.sums, blocks)
	j.addUp(j.dBias, j.bias, blocks)
}

// addUp adds the sums of the blocks to a gradient, if it is wanted: the sums of a group to its
// first block's, and then the sums of the groups.
func (j *backwardJob) addUp(gradient, sums []float32, blocks int) {
	if gradient == nil {
		return
	}
	rows.Start(gradient, j.accumulate)
	of := func(block int) []float32 { return sums[block*len(gradient):][:len(gradient)] }
	for group := 0; group < blocks; group += groupBlocks {
		first := of(group)
		for block := group + 1; block < min(group+groupBlocks, blocks); block++ {
			add(j.tier, first, first, of(block))
		}
		add(j.tier, gradient, gradient, first)
	}
}

// blocks computes the blocks lo to hi-1.
func (j *backwardJob) blocks(s *gradientGroup, lo, hi int) {
	heads, length, most := j.x.Dim(1), j.x.Dim(2), groupOf(j.x.Dim(3))
	for block := lo; block < hi; block++ {
		weight, bias := blockOf(j.dWeight, j.sums, block), blockOf(j.dBias, j.bias, block)
		end := min((block+1)*blockRows, j.rows)
		for r := block * blockRows; r < end; {
			b, h, l := r/length/heads, r/length%heads, r%length
			n := min(most, end-r, length-l)
			if valid := min(n, j.x.Length(b)-l); valid > 0 {
				s.rows(j, b, h, l, valid, weight, bias)
			}
			r += n
		}
	}
}

// blockOf returns the part of sums, now zeros, for the gradient of a block, or nil if that is not
// wanted.
func blockOf(gradient, sums []float32, block int) []float32 {
	if gradient == nil {
		return nil
	}
	part := sums[block*len(gradient):][:len(gradient)]
	clear(part)
	return part
}

// rows computes n rows of a head, and adds their parts to the gradients of weight and bias that are
// wanted. The gradient of x comes last, as it may take the place of x or dy.
func (s *gradientGroup) rows(j *backwardJob, b, h, l, n int, weight, bias []float32) {
	d := j.x.Dim(3)
	dy := matrix{j.dy.Rows(b, h, l, n), j.dy.Stride(2), d}
	y := s.sum(j, matrix{j.x.Rows(b, h, l, n), j.x.Stride(2), d}, dy, n)
	dx, unwanted := matrix{s.y, d, d}, s.y[groupOf(d)*d:][:d]
	if j.dx.IsSet() && !j.direct.IsSet() {
		dx = matrix{j.dx.Rows(b, h, l, n), j.dx.Stride(2), d}
	}
	if weight == nil {
		weight = unwanted
	}
	if bias == nil {
		bias = unwanted
	}
	for at, step := 0, partElements/n; at < d; at += step {
		end := min(at+step, d)
		j.tier.Rows().NormGradients(dx.x[at:], dx.ld, dy.x[at:], dy.ld, y.x[at:], y.ld, n, j.weight[at:end],
			weight[at:end], bias[at:end], s.center[:n], s.slope[:n], s.inv[:n])
	}
	if j.direct.IsSet() {
		for i := range n {
			add(j.tier, j.dx.Row(b, h, l+i), dx.row(i), j.direct.Row(b, h, l+i))
		}
	}
}

// A matrix has rows of d numbers.
type matrix struct {
	x     []float32
	ld, d int
}

func (m *matrix) row(i int) []float32 { return m.x[i*m.ld:][:m.d] }

// sum finds inv, center and slope of n rows, and returns x, for LayerNorm less its mean. A step is
// done for all rows before the next one, which then need not wait for its sums.
func (s *gradientGroup) sum(j *backwardJob, x, dy matrix, n int) (y matrix) {
	k, size := j.tier.Rows(), float64(x.d)
	to := matrix{s.y, 0, x.d} // a copy of x that nobody reads
	y = x
	clear(s.mean[:n])
	clear(s.rest[:n])
	if j.layer {
		to = matrix{s.y, x.d, x.d}
		x = s.means(j.tier, to, x, n)
		y = to
	}
	sums, dots := s.sums[:n*doubleChains], s.dots[:n*doubleChains]
	clear(sums)
	eachChained(x.d, n, func(at, row, first, end, steps int) {
		k.Squares(sums[first:end], to.x[row*to.ld+at:], to.ld, x.x[row*x.ld+at:], x.ld, steps, s.mean[row:], s.rest[row:])
	})
	for i := range n {
		s.inv[i] = float32(1 / math.Sqrt(sumOf(sums, i)/size+float64(j.eps)))
	}
	clear(sums)
	clear(dots)
	eachChained(x.d, n, func(at, row, first, end, steps int) {
		k.NormTerms(sums[first:end], dots[first:end], y.x[row*y.ld+at:], y.ld, dy.x[row*dy.ld+at:], dy.ld, j.weight[at:], steps, s.inv[row:])
	})
	for i := range n {
		s.center[i], s.slope[i] = 0, float32(sumOf(dots, i)/size)
		if j.layer {
			s.center[i] = float32(sumOf(sums, i) / size)
		}
	}
	return y
}

// doubleChains is the number of chains of a sum in binary64.
const doubleChains = 8

// sumOf returns the sum of the chains of row i.
func sumOf(chains []float64, i int) float64 {
	return scalar.SumOfHalves64((*[doubleChains]float64)(chains[i*doubleChains:]))
}

// eachChained calls f for steps that fill the chains of n rows of d elements, from element at on,
// and then for what is left of each row. The chains are those from first to end-1. Sums go on from
// one part of the rows to the next.
func eachChained(d, n int, f func(at, row, first, end, steps int)) {
	left, most := d%doubleChains, partElements/n/doubleChains
	for at := 0; at < d-left; at += most * doubleChains {
		f(at, 0, 0, n*doubleChains, min(most, (d-left-at)/doubleChains))
	}
	if left > 0 {
		for i := range n {
			f(d-left, i, i*doubleChains, i*doubleChains+left, 1)
		}
	}
}

// partElements is how many elements of a row one call of a kernel takes, in which the goroutine
// cannot be preempted.
const partElements = 1 << 15

// eachChain calls f for the elements of a row of d that fill all chains, n for each, and for those
// that are left. Sums go on from one part to the next. It is short enough for the compiler to write
// the loop in place of its calls.
func eachChain(d, chains int, f func(n, at, chains int)) {
	for at := 0; at < d; {
		n := min(d-at, partElements) / chains
		if n == 0 {
			n, chains = 1, d-at
		}
		f(n, at, chains)
		at += n * chains
	}
}

// add sets dst to x + y.
func add(t *tier.Tier, dst, x, y []float32) {
	eachChain(len(dst), 1, func(n, at, _ int) { t.Elementwise().Add(dst[at:][:n], x[at:], y[at:]) })
}

// means sets mean and rest of n rows: the mean, and the mean of what is left after it is
// subtracted. rest is 0 before the call. It returns the rows: x, or y with x less the means if rows
// are too long for a kernel that adds up whole ones.
func (s *gradientGroup) means(t *tier.Tier, y, x matrix, n int) matrix {
	k, size := t.Norms(), float32(x.d)
	if x.d > partElements {
		s.longMeans(t, y, x, n)
		return y
	}
	for at, step := 0, partElements/x.d; at < n; at += step {
		n := min(step, n-at)
		k.Means(s.mean[at:], x.x[at*x.ld:], x.ld, n, x.d, s.rest[at:], size) // less 0
		k.Means(s.rest[at:], x.x[at*x.ld:], x.ld, n, x.d, s.mean[at:], size)
	}
	return x
}

// longMeans sets y to x less the means of its rows, and mean to the means of y. It takes rows in
// parts.
func (s *gradientGroup) longMeans(t *tier.Tier, y, x matrix, n int) {
	const all = contract.NormChains
	mean := func(x []float32) float32 {
		sums := s.chains[:]
		clear(sums)
		eachChain(len(x), all, func(n, at, chains int) { t.Elementwise().AddRows(sums[:chains], x[at:], all, n) })
		return rows.SumOfHalves(t, sums) / float32(len(x))
	}
	for i := range n {
		s.mean[i] = mean(x.row(i))
		eachChained(x.d, 1, func(at, _, _, end, steps int) {
			t.Rows().Squares(s.sums[:end], y.row(i)[at:], 0, x.row(i)[at:], 0, steps, s.mean[i:], s.rest[i:])
		})
		s.mean[i] = mean(y.row(i))
	}
}
