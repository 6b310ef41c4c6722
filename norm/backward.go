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

	split      parallel.Split[gradientRow, gradientShape]
	sums, bias []float32 // [blocks, D]
	sumsUsage  parallel.Usage
	biasUsage  parallel.Usage
	memory     parallel.Memory
}

// A gradientRow is the memory of one goroutine: dy·weight and the normalised x of a row,
// and the chains of its sum.
type gradientRow struct {
	g, y   []float32
	chains [contract.NormChains]float32
	sums   [doubleChains]float64
	dots   [doubleChains]float64
	spare  []float32 // for gradients that are not wanted
	usage  [3]parallel.Usage
	memory parallel.Memory
}

const (
	// blockRows is the number of rows whose gradients of weight and bias are summed up before they
	// are added to other blocks', and groupBlocks the number of blocks whose sums are summed up
	// before they are added.
	blockRows   = 32
	groupBlocks = 32

	// An element takes as long as gradientFMAs FMAs of a product.
	gradientFMAs = 60
)

var (
	backwardJobs = parallel.FreeList[backwardJob]{
		New: func() *backwardJob {
			j := new(backwardJob)
			j.split.Init(&gradientRows, func(r *gradientRow) { r.fit(j.shape()) }, j.blocks, j.memory.Forget)
			return j
		},
		Memory: func(j *backwardJob) *parallel.Memory { return &j.memory },
	}
	gradientRows = parallel.FreeList[gradientRow]{Memory: func(r *gradientRow) *parallel.Memory { return &r.memory }}
)

// A gradientShape is what the size of a gradientRow depends on.
type gradientShape struct {
	d     int
	spare bool // a gradient is not wanted
}

func (j *backwardJob) shape() gradientShape {
	return gradientShape{j.x.Dim(3), j.dWeight == nil || j.dBias == nil}
}

func (r *gradientRow) fit(s gradientShape) {
	d := s.d
	parallel.Fit(&r.memory, &r.usage[0], &r.g, d, parallel.Make[float32])
	parallel.Fit(&r.memory, &r.usage[1], &r.y, d, parallel.Make[float32])
	if s.spare {
		parallel.Fit(&r.memory, &r.usage[2], &r.spare, d, parallel.Make[float32])
	}
}

// run computes the call.
func (j *backwardJob) run(t *tier.Tier, opts *BackwardOptions) {
	j.tier = t
	d := j.x.Dim(3)
	if s := j.x.Shape(); min(s[0], s[1], s[2]) > 0 { // else the others may be any numbers
		j.rows = s[0] * s[1] * s[2]
	} else {
		j.rows = 0
	}
	if j.weight == nil && j.rows > 0 {
		j.weight = rows.Ones(d)
	}
	blocks := ints.CeilDiv(j.rows, blockRows)
	if j.dWeight != nil {
		parallel.Fit(&j.memory, &j.sumsUsage, &j.sums, blocks*d, parallel.Make[float32])
	}
	if j.dBias != nil {
		parallel.Fit(&j.memory, &j.biasUsage, &j.bias, blocks*d, parallel.Make[float32])
	}
	work := float64(j.rows) * float64(d) * gradientFMAs / float64(t.ThreadFMAs)
	j.split.Run(blocks, work, j.shape(), opts.Threads, opts.ParallelFor)
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
func (j *backwardJob) blocks(s *gradientRow, lo, hi int) {
	heads, length, d := j.x.Dim(1), j.x.Dim(2), j.x.Dim(3)
	for block := lo; block < hi; block++ {
		weight, bias := s.spare, s.spare
		if j.dWeight != nil {
			weight = j.sums[block*d:][:d]
			clear(weight)
		}
		if j.dBias != nil {
			bias = j.bias[block*d:][:d]
			clear(bias)
		}
		for r := block * blockRows; r < min((block+1)*blockRows, j.rows); r++ {
			if b, h, l := r/length/heads, r/length%heads, r%length; l < j.x.Length(b) {
				s.row(j, b, h, l, weight, bias)
			}
		}
	}
}

// row computes a row, and adds its part to the gradients of weight and bias.
func (s *gradientRow) row(j *backwardJob, b, h, l int, weight, bias []float32) {
	x, dy := j.x.Row(b, h, l), j.dy.Row(b, h, l)
	d := len(x)
	g, y, k := s.g[:d], s.y[:d], j.tier.Rows()
	size, rest := float64(d), float32(0)
	if j.layer {
		rest = s.center(j.tier, y, x) // what rounding took from the mean
		x = y
	}
	sums, dots := s.sums[:], s.dots[:]
	clear(sums)
	eachChain(d, doubleChains, func(n, at, chains int) { k.Squares(sums[:chains], y[at:], x[at:], doubleChains, n, rest) })
	inv := float32(1 / math.Sqrt(scalar.SumOfHalves64(&s.sums)/size+float64(j.eps)))
	clear(sums)
	clear(dots)
	w := j.weight
	eachChain(d, doubleChains, func(n, at, chains int) {
		k.NormTerms(sums[:chains], dots[:chains], y[at:], g[at:], weight[at:], bias[at:], dy[at:], w[at:], doubleChains, n, inv)
	})
	if j.dx.IsSet() {
		center, slope := float32(0), float32(scalar.SumOfHalves64(&s.dots)/size)
		if j.layer {
			center = float32(scalar.SumOfHalves64(&s.sums) / size)
		}
		s.store(j, b, h, l, center, slope, inv)
	}
}

// doubleChains is the number of chains of a sum in binary64.
const doubleChains = 8

// partElements is how many elements of a row one call of a kernel takes, in which the goroutine
// cannot be preempted.
const partElements = 1 << 15

// eachChain calls f for the elements of a row of d that fill all chains, n for each, and for those
// that are left. Sums go on from one part to the next.
func eachChain(d, chains int, f func(n, at, chains int)) {
	at := 0
	for d-at >= chains {
		n := min(d-at, partElements) / chains
		f(n, at, chains)
		at += n * chains
	}
	if at < d {
		f(1, at, d-at)
	}
}

// add sets dst to x + y.
func add(t *tier.Tier, dst, x, y []float32) {
	eachChain(len(dst), 1, func(n, at, _ int) { t.Elementwise().Add(dst[at:][:n], x[at:], y[at:]) })
}

// store writes a row of the gradient of x.
func (s *gradientRow) store(j *backwardJob, b, h, l int, center, slope, inv float32) {
	dx := j.dx.Row(b, h, l)
	g, y, to := s.g[:len(dx)], s.y[:len(dx)], dx
	if j.direct.IsSet() {
		to = y
	}
	eachChain(len(to), 1, func(n, at, _ int) { j.tier.Rows().NormGradients(to[at:][:n], g[at:], y[at:], center, slope, inv) })
	if j.direct.IsSet() {
		add(j.tier, dx, y, j.direct.Row(b, h, l))
	}
}

// center is y = x - mean(x), with the mean of a LayerNorm. It returns the mean of y.
func (s *gradientRow) center(t *tier.Tier, y, x []float32) float32 {
	sums := s.chains[:]
	clear(sums)
	eachChain(len(x), len(sums), func(n, at, chains int) { t.Elementwise().AddRows(sums[:chains], x[at:], len(sums), n) })
	size := float32(len(x))
	mean := rows.SumOfHalves(t, sums) / size
	clear(sums)
	eachChain(len(x), len(sums), func(n, at, chains int) { t.Rows().Center(sums[:chains], y[at:], x[at:], len(sums), n, mean) })
	return rows.SumOfHalves(t, sums) / size
}
