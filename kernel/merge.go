package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/view"
)

// MergeOptions are the settings of [MergePartials]: see [Options].
type MergeOptions struct {
	Exec

	Sinks []float32
	LSE   Tensor
}

// MergePartials merges blocks of keys into a result: out is [B, H, Lq, Dv]. parts are
// the outcomes of [AttentionPartials] or [AccumulatePartials] for the same queries, in
// the order of their keys. The bits are those of one call of [Attention] with all
// keys. Errors are as in Attention.
func MergePartials(out Tensor, parts []Partials, opts MergeOptions) error {
	t, err := selectTier(&opts.Exec)
	if err != nil {
		return err
	}
	if f := checkMerge(out.view(), parts, &opts); f != nil {
		return argumentError(f)
	}
	if shape := out.Shape(); view.Races && min(shape[0], shape[1], shape[2]) > 0 {
		announceMerge(out.view(), parts, &opts)
	}
	m := engine.NewMerge(len(parts))
	m.Out, m.Sinks, m.LSE = view.Tensor(out), opts.Sinks, view.Tensor(opts.LSE)
	for x := range parts {
		p := &parts[x]
		m.Parts = append(m.Parts, engine.Part{Blocks: p.Blocks, Max: p.Max, Sum: p.Sum, Out: p.Out})
	}
	m.Run(t, opts.Threads, opts.ParallelFor)
	m.Release()
	return nil
}

// checkMerge reports the first argument of MergePartials that does not fit.
func checkMerge(out *view.Tensor, parts []Partials, o *MergeOptions) *check.Failure {
	if f := out.CheckOutput("out"); f != nil {
		return f
	}
	shape := out.Shape()
	for x := range parts {
		p := &parts[x]
		if f := p.check("parts", p.Blocks); f != nil {
			return f
		}
		if got := [4]int{p.Batch, p.Heads, p.Queries, p.HeadSize}; got != shape {
			return &check.Failure{Arg: "parts", Got: fmt.Sprintf("part %d of %v", x, got), Want: fmt.Sprintf("out's shape %v", shape)}
		}
		for _, s := range [...][]float32{p.Max, p.Sum, p.Out} {
			if in := view.MemoryOf(s); in.Overlaps(out.Memory()) || in.Overlaps(o.LSE.view().Memory()) {
				return &check.Failure{Arg: "parts", Got: "memory that overlaps an output", Want: "memory of their own"}
			}
		}
	}
	if f := checkPerHead(shape[1], nil, o.Sinks); f != nil {
		return f
	}
	if f := check.Threads(o.Threads); f != nil {
		return f
	}
	var none view.Tensor
	c := views{out, &none, &none, &none}
	options := Options{Sinks: o.Sinks, LSE: o.LSE}
	return c.checkOutputs(&options, &view.Scores{Batch: shape[0], Heads: shape[1], Queries: shape[2]})
}
