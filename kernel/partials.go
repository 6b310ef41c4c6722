package kernel

import (
	"fmt"
	"math/bits"
)

// Partials hold what blocks of 256 keys contribute to the rows of a call, before
// the blocks are folded into a result: what threads, processes or machines exchange
// that share a sequence. All slices are contiguous, and blocks come
// first: the Partials of two shards one after the other are those of both.
//
//	Max, Sum [Blocks, Batch, Heads, Queries]            m and l of the package documentation
//	Out      [Blocks, Batch, Heads, Queries, HeadSize]  o; HeadSize is that of the values
//
// A row that sees no key of a block has Max -Inf, Sum 0 and Out 0. Maxima are in
// the contract's unit, that of base-2 exponentials.
type Partials struct {
	Blocks, Batch, Heads, Queries, HeadSize int

	Max, Sum, Out []float32
}

// NewPartials allocates Partials of rows that have seen no key. The calls that
// use them report a negative dimension.
func NewPartials(blocks, batch, heads, queries, headSize int) *Partials {
	p := &Partials{Blocks: blocks, Batch: batch, Heads: heads, Queries: queries, HeadSize: headSize}
	rows := max(p.rows(), 0)
	p.Max = make([]float32, rows)
	p.Sum = make([]float32, rows)
	p.Out = make([]float32, max(mulSat(rows, headSize), 0))
	p.Reset()
	return p
}

// Reset makes all rows rows that have seen no key.
func (p *Partials) Reset() {
	fill(p.Max, negInf[0])
	clear(p.Sum)
	clear(p.Out)
}

func (p *Partials) rows() int {
	return mulSat(p.Blocks, mulSat(p.Batch, mulSat(p.Heads, p.Queries)))
}

// AttentionPartials is [Attention] without the end: it computes what the blocks
// of k contribute and leaves it to [Merge] to fold them. k and v are a shard of a
// longer sequence: Options.KeyStart tells where it begins, for all batch
// rows alike and at a multiple of 256, and dst has a block for every 256 keys
// from there on.
//
// Options.Sinks, LSE, Weights and Scores do not belong here: they get an error. (Merge
// has the first two.)
func AttentionPartials(dst *Partials, q, k, v Tensor, opts Options) error {
	return partials(dst, &q, &k, &v, &opts, false)
}

// Accumulate is [AttentionPartials] with one block for all keys so far: it folds
// the blocks of k into state, which holds those before. Chunk by chunk in the
// order of their positions, each but the last a multiple of 256 keys
// long, the outcome is that of one call with all keys, to the bit. [Merge] makes
// it a result.
func Accumulate(state *Partials, q, k, v Tensor, opts Options) error {
	return partials(state, &q, &k, &v, &opts, true)
}

func partials(dst *Partials, q, k, v *Tensor, opts *Options, accumulate bool) error {
	t, err := tierFor(opts.Tier)
	if err != nil {
		return err
	}
	blocks := 1
	if !accumulate {
		blocks = ceilDiv(max(k.shape[2], 1), blockKeys)
	}
	if err := validatePartials(dst, blocks, q, k, v, opts); err != nil {
		return err
	}
	if dst.rows() == 0 {
		return nil
	}
	j := jobs.get()
	for x := range blocks {
		out := dst.block(x)
		j.problem = problem{}
		j.problem.set(&out, q, k, v, opts)
		j.state = dst.state(x)
		j.state.resume = accumulate
		if !accumulate {
			j.window = span{x * blockKeys, (x + 1) * blockKeys}
		}
		j.plan(t, opts.Threads)
		j.run(opts.Run)
	}
	j.problem = problem{}
	jobs.put(j)
	return nil
}

// validatePartials reports the first argument that does not fit.
func validatePartials(dst *Partials, blocks int, q, k, v *Tensor, opts *Options) error {
	if err := dst.check("dst", blocks); err != nil {
		return err
	}
	outputs := [...]memory{memoryOf(dst.Out), memoryOf(dst.Max), memoryOf(dst.Sum)}
	for i, written := range outputs {
		if err := checkOverlap("dst", written, q, k, v, opts, outputs[:i]); err != nil {
			return err
		}
	}
	out := dst.block(0)
	if err := validate(&out, q, k, v, opts); err != nil {
		return err
	}
	for _, start := range opts.KeyStart {
		if start != opts.KeyStart[0] || start%blockKeys != 0 {
			return &ArgumentError{"Options.KeyStart", fmt.Sprint(start), fmt.Sprintf("a multiple of %d, the same for all batch rows", blockKeys)}
		}
	}
	for _, o := range [...]struct {
		arg string
		set bool
	}{{"Sinks", opts.Sinks != nil}, {"LSE", opts.LSE.isSet()}, {"Weights", opts.Weights.isSet()}, {"Scores", opts.Scores.isSet()}} {
		if o.set {
			return &ArgumentError{"Options." + o.arg, "a value", "none, for what a part of the keys contributes"}
		}
	}
	return nil
}

// check reports Partials that do not hold together or have another number of
// blocks.
func (p *Partials) check(arg string, blocks int) error {
	if p == nil {
		return &ArgumentError{arg, "nil", "Partials"}
	}
	if p.Blocks != blocks {
		return &ArgumentError{arg, p.describe(), fmt.Sprintf("%d blocks", blocks)}
	}
	if min(p.Blocks, p.Batch, p.Heads, p.Queries) < 0 || p.HeadSize < 1 {
		return &ArgumentError{arg, p.describe(), "no negative dimension, and a head size of at least 1"}
	}
	if n := p.rows(); len(p.Max) != n || len(p.Sum) != n || len(p.Out) != mulSat(n, p.HeadSize) {
		return &ArgumentError{arg, p.describe(), fmt.Sprintf("%d maxima and sums and %d outputs", n, mulSat(n, p.HeadSize))}
	}
	return nil
}

func (p *Partials) describe() string {
	return fmt.Sprintf("%d blocks of [%d %d %d %d] with %d maxima, %d sums and %d outputs",
		p.Blocks, p.Batch, p.Heads, p.Queries, p.HeadSize, len(p.Max), len(p.Sum), len(p.Out))
}

// block returns the outputs of block x as a Tensor.
func (p *Partials) block(x int) Tensor {
	n := p.Batch * p.Heads * p.Queries * p.HeadSize
	return BHLD(p.Out[x*n:(x+1)*n], p.Batch, p.Heads, p.Queries, p.HeadSize)
}

// A partialState is where a call leaves, and maybe finds, the statistics of its rows.
type partialState struct {
	max, sum Tensor // [B, H, Lq, 1]
	resume   bool   // they are there already
}

func (p *Partials) state(x int) partialState {
	n := p.Batch * p.Heads * p.Queries
	view := func(s []float32) Tensor { return BHLD(s[x*n:(x+1)*n], p.Batch, p.Heads, p.Queries, 1) }
	return partialState{max: view(p.Max), sum: view(p.Sum)}
}

func (s *partialState) on() bool { return s.max.isSet() }

// resume loads what earlier calls have left of p's rows.
func (w *workspace) resume(j *job, p *panel) {
	lanes := p.kern.lanes
	p.started = true
	p.eachLane(j, func(lane, head, i int) {
		p.max[lane] = j.state.max.row(p.unit.b, head, i)[0]
		p.sum[lane] = j.state.sum.row(p.unit.b, head, i)[0]
	})
	w.offsets(j, &j.out, p)
	if p.few {
		for lane, at := range w.off[:p.n] {
			copy(p.o[lane*j.dv():][:j.dv()], j.out.f32[at:])
		}
		return
	}
	p.kern.pack(p.o, lanes, j.out.f32, w.off[:lanes], p.n, j.dv(), 1)
}

// finishPartial writes the statistics of p's rows. Rows with a NaN are redone, as
// it may be a hidden value's; they still need what earlier calls have left, and come
// last.
func (w *workspace) finishPartial(j *job, p *panel) {
	lanes, dv := p.kern.lanes, j.dv()
	w.oneByOne(p, dv)
	nan := p.unpackTo(w.rows, w.off[:lanes], dv, ones[:lanes]) & (1<<p.n - 1)
	redo := uint64(0)
	for lane := range p.n {
		if nan>>lane&1 != 0 && !p.exact {
			redo |= 1 << lane
		} else {
			w.storePartial(j, p, lane)
		}
	}
	for ; redo != 0; redo &= redo - 1 {
		w.redo(j, p.unit, p.row+bits.TrailingZeros64(redo))
	}
}

func (w *workspace) storePartial(j *job, p *panel, lane int) {
	out, max, sum := p.rowOf(j, &j.out, lane), p.rowOf(j, &j.state.max, lane), p.rowOf(j, &j.state.sum, lane)
	copy(out, w.rows[lane*j.dv():])
	max[0], sum[0] = p.max[lane]+0, p.sum[lane]
	canonize(out)
	canonize(sum)
}
