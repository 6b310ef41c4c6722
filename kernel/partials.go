package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// Partials hold what blocks of 256 keys contribute to the rows of a call, before the blocks are
// merged into a result: what threads, processes or machines that share a sequence exchange. All
// slices are contiguous and blocks come first, so the Partials of two shards can be appended to
// each other.
//
//	Max, Sum [Blocks, Batch, Heads, Queries]            m and l of the numeric contract
//	Out      [Blocks, Batch, Heads, Queries, HeadSize]  o; HeadSize is the values'
//
// A row that sees no key of a block has Max -Inf, Sum 0 and Out 0. Maxima are in the contract's
// unit: base-2 exponentials.
type Partials struct {
	Blocks, Batch, Heads, Queries, HeadSize int

	Max, Sum, Out []float32
}

// NewPartials allocates Partials of rows that have seen no key. No dimension is negative, and
// headSize is at least 1. The error is an [*Error], of the kind [ErrMemory] if the Partials do not
// fit memory or the memory limit of the program.
func NewPartials(blocks, batch, heads, queries, headSize int) (*Partials, error) {
	p := &Partials{Blocks: blocks, Batch: batch, Heads: heads, Queries: queries, HeadSize: headSize}
	if f := p.checkDims(); f != nil {
		return nil, (*Error)(f.In("kernel.NewPartials"))
	}
	rows := p.rows()
	numbers := ints.MulSat(rows, headSize)
	if !hugepages.Fits(ints.AddSat(ints.MulSat(rows, 2), numbers), 4) {
		f := check.TooLarge("blocks", fmt.Sprintf("%d blocks of [%d %d %d %d]", blocks, batch, heads, queries, headSize))
		return nil, (*Error)(f.In("kernel.NewPartials"))
	}
	p.Max = make([]float32, rows)
	p.Sum = make([]float32, rows)
	p.Out = make([]float32, numbers)
	p.Reset()
	return p, nil
}

// checkDims reports the first dimension that no Partials have.
func (p *Partials) checkDims() *check.Failure {
	names := [...]string{"blocks", "batch", "heads", "queries", "headSize"}
	for i, n := range [...]int{p.Blocks, p.Batch, p.Heads, p.Queries, p.HeadSize} {
		if f := check.Least(names[i], n, i/4); f != nil {
			return f
		}
	}
	return nil
}

// Reset sets all rows to rows that have seen no key.
func (p *Partials) Reset() {
	for i := range p.Max {
		p.Max[i] = scalar.NegInf
	}
	clear(p.Sum)
	clear(p.Out)
}

func (p *Partials) rows() int {
	return ints.MulSat(p.Blocks, ints.MulSat(p.Batch, ints.MulSat(p.Heads, p.Queries)))
}

// PartialOptions are the settings of one call of [AttentionPartials] or [AccumulatePartials], with
// the meaning that they have in [Options]. KeyStart is a multiple of 256, the same for all batch
// rows. Sinks, which concern all keys, must be nil: they are in [MergeOptions], as LSE is.
type PartialOptions struct {
	Exec
	Scoring
}

// AttentionPartials is [Attention] without the last step: it computes what the blocks
// of k contribute and leaves it to [MergePartials] to merge them. k and v are a shard
// of a longer sequence. opts.KeyStart says where it begins, for all batch rows
// alike and at a multiple of 256, and dst has one block for every 256 keys from there
// on.
func AttentionPartials(dst *Partials, q, k, v Tensor, opts *PartialOptions) error {
	return partials("kernel.AttentionPartials", dst, &q, &k, &v, cmp.Or(opts, &partialDefaults), false)
}

// AccumulatePartials is [AttentionPartials] with one block for all keys so far: it
// merges the blocks of k into state, which holds those before. A program calls it for one
// chunk of keys after the other, in the order of their positions. Every chunk but the last
// has a multiple of 256 keys. Then state has the bits of one call with all keys.
// [MergePartials] turns it into a result.
func AccumulatePartials(state *Partials, q, k, v Tensor, opts *PartialOptions) error {
	return partials("kernel.AccumulatePartials", state, &q, &k, &v, cmp.Or(opts, &partialDefaults), true)
}

func partials(function string, dst *Partials, q, k, v *Tensor, opts *PartialOptions, accumulate bool) error {
	t, err := selectTier(function, &opts.Exec)
	if err != nil {
		return err
	}
	blocks := 1
	if !accumulate {
		blocks = ints.CeilDiv(max(k.view().Dim(2), 1), engine.BlockKeys)
	}
	c := newCall(scoring.Partials, nil, q, k, v, &opts.Exec, &opts.Scoring, &noOutputs)
	if f := c.checkPartials(dst, blocks); f != nil {
		return (*Error)(f.In(function))
	}
	if dst.rows() == 0 {
		return nil
	}
	if view.Races {
		c.announce()
		dst.announce(view.Write)
	}
	var out view.Tensor
	c.out = &out
	for x := range blocks {
		out = dst.out(x)
		j := engine.New()
		c.resolve(&j.Call)
		j.Call.Partial = dst.statistics(x)
		j.Call.Partial.Resume = accumulate
		j.Run(t, opts.Threads, opts.ParallelFor)
		j.Release()
	}
	return nil
}

// out returns the outputs of block x as a tensor.
func (p *Partials) out(x int) view.Tensor { return p.tensor(p.Out, x, p.HeadSize) }

// statistics returns where the engine leaves the statistics of block x.
func (p *Partials) statistics(x int) engine.Partial {
	return engine.Partial{Max: p.tensor(p.Max, x, 1), Sum: p.tensor(p.Sum, x, 1), Block: x}
}

// tensor returns block x of a slice with d numbers per row.
func (p *Partials) tensor(s []float32, x, d int) view.Tensor {
	shape := [4]int{p.Batch, p.Heads, p.Queries, d}
	n := p.Batch * p.Heads * p.Queries * d
	return view.Floats(s[x*n:(x+1)*n], shape, view.Contiguous(shape))
}

// checkPartials reports the first argument that does not fit. It replaces c.out by block
// 0 of dst.
func (c call) checkPartials(dst *Partials, blocks int) *check.Failure {
	if f := dst.check("dst", blocks); f != nil {
		return f
	}
	outputs := [...]view.Memory{view.MemoryOf(dst.Out), view.MemoryOf(dst.Max), view.MemoryOf(dst.Sum)}
	for i, written := range outputs {
		if f := c.checkOverlap("dst", written, outputs[:i]); f != nil {
			return f
		}
	}
	out := dst.out(0)
	c.out = &out
	if f := c.check(); f != nil {
		return f
	}
	starts := c.scoring.KeyStart
	for _, start := range starts {
		if start != starts[0] || start%engine.BlockKeys != 0 {
			return &check.Failure{Where: "Options.KeyStart", Got: fmt.Sprint(start), Want: fmt.Sprintf("a multiple of %d, the same for all batch rows", engine.BlockKeys)}
		}
	}
	return nil
}

// check reports Partials that do not hold together or have another number of blocks.
func (p *Partials) check(arg string, blocks int) *check.Failure {
	if p == nil {
		return &check.Failure{Where: arg, Got: "nil", Want: "Partials"}
	}
	wrong := func(want string) *check.Failure {
		got := fmt.Sprintf("%d blocks of [%d %d %d %d] with %d maxima, %d sums and %d outputs",
			p.Blocks, p.Batch, p.Heads, p.Queries, p.HeadSize, len(p.Max), len(p.Sum), len(p.Out))
		return &check.Failure{Where: arg, Got: got, Want: want}
	}
	if p.Blocks != blocks {
		return wrong(fmt.Sprintf("%d blocks", blocks))
	}
	if p.checkDims() != nil {
		return wrong("no negative dimension, and a head size of at least 1")
	}
	if n := p.rows(); len(p.Max) != n || len(p.Sum) != n || len(p.Out) != ints.MulSat(n, p.HeadSize) {
		return wrong(fmt.Sprintf("%d maxima and sums and %d outputs", n, ints.MulSat(n, p.HeadSize)))
	}
	return nil
}
