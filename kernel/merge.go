package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/engine/merge"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// MergeOptions are the settings of [MergePartials], with the meaning that they have in [Options].
type MergeOptions struct {
	Exec

	Sinks []float32
	LSE   Tensor
}

// MergePartials merges blocks of keys into a result: out is [B, H, Lq, Dv]. parts are the outcomes
// of [AttentionPartials] or [AccumulatePartials] for the same queries, in the order of their keys.
// The bits equal one call of [Attention] with all keys. Errors are as in Attention.
func MergePartials(out Tensor, parts []Partials, opts MergeOptions) error {
	t, err := selectTier("kernel.MergePartials", &opts.Exec)
	if err != nil {
		return err
	}
	if f := checkMerge(out.view(), parts, &opts); f != nil {
		return (*Error)(f.In("kernel.MergePartials"))
	}
	if shape := out.Shape(); view.Races && min(shape[0], shape[1], shape[2]) > 0 {
		announceMerge(out.view(), parts, &opts)
	}
	m := newMerge(parts)
	m.Out, m.Sinks, m.LSE = view.Tensor(out), opts.Sinks, view.Tensor(opts.LSE)
	m.Run(t, opts.Threads, opts.ParallelFor)
	m.Release()
	return nil
}

// MergeInto merges blocks of keys into state, which has one block and holds what the keys before
// them contribute: the outcome of earlier calls, of [AccumulatePartials], or of NewPartials if
// there are none. So machines with consecutive keys can hand on a state of one block instead of all
// partials. parts are as in [MergePartials], which turns the last state into a result, with the
// bits of one call of [Attention] with all keys. No part shares memory with state. Errors are as in
// Attention, and leave state untouched.
func MergeInto(state *Partials, parts []Partials, exec Exec) error {
	t, f := tier.Handle(exec.Tier).Tier()
	if f != nil {
		return (*Error)(f.In("kernel.MergeInto"))
	}
	if f := checkMergeInto(state, parts, exec.Threads); f != nil {
		return (*Error)(f.In("kernel.MergeInto"))
	}
	if state.rows() == 0 {
		return nil
	}
	if view.Races {
		for x := range parts {
			parts[x].announce(view.Read)
		}
		state.announce(view.Write)
	}
	m := newMerge(parts)
	m.Out, m.State = state.out(0), state.part()
	m.Run(t, exec.Threads, exec.ParallelFor)
	m.Release()
	return nil
}

// newMerge returns a merge of parts.
func newMerge(parts []Partials) *merge.Job {
	m := merge.New(len(parts))
	for x := range parts {
		m.Parts = append(m.Parts, parts[x].part())
	}
	return m
}

func (p *Partials) part() merge.Part {
	return merge.Part{Blocks: p.Blocks, Max: p.Max, Sum: p.Sum, Out: p.Out}
}

// checkMergeInto reports the first argument of MergeInto that does not fit.
func checkMergeInto(state *Partials, parts []Partials, threads int) *check.Failure {
	if f := state.check("state", 1); f != nil {
		return f
	}
	max, sum, out := view.MemoryOf(state.Max), view.MemoryOf(state.Sum), view.MemoryOf(state.Out)
	if max.Overlaps(sum) || max.Overlaps(out) || sum.Overlaps(out) {
		return &check.Failure{Where: "state", Got: "slices that overlap", Want: "memory of its own for each"}
	}
	shape := [4]int{state.Batch, state.Heads, state.Queries, state.HeadSize}
	return cmp.Or(checkParts(parts, shape, "state", max, sum, out), check.Threads("exec.Threads", threads))
}

// checkParts reports the first of parts that has not the shape of an output, which is called arg,
// or that shares the memory of an output.
func checkParts(parts []Partials, shape [4]int, arg string, written ...view.Memory) *check.Failure {
	for x := range parts {
		p := &parts[x]
		if f := p.check("parts", p.Blocks); f != nil {
			return f
		}
		if got := [4]int{p.Batch, p.Heads, p.Queries, p.HeadSize}; got != shape {
			return &check.Failure{Where: "parts", Got: fmt.Sprintf("part %d of %v", x, got), Want: fmt.Sprintf("%s's shape %v", arg, shape)}
		}
		for _, s := range [...][]float32{p.Max, p.Sum, p.Out} {
			for _, out := range written {
				if view.MemoryOf(s).Overlaps(out) {
					return &check.Failure{Where: "parts", Got: "memory that overlaps an output", Want: "memory of their own"}
				}
			}
		}
	}
	return nil
}

// checkMerge reports the first argument of MergePartials that does not fit.
func checkMerge(out *view.Tensor, parts []Partials, o *MergeOptions) *check.Failure {
	if f := out.CheckOutput("out"); f != nil {
		return f
	}
	shape := out.Shape()
	if f := checkParts(parts, shape, "out", out.Memory(), o.LSE.view().Memory()); f != nil {
		return f
	}
	none := new(Tensor)
	c := newCall(scoring.Attention, (*Tensor)(out), none, none, none, &o.Exec, &Scoring{Sinks: o.Sinks}, &Outputs{LSE: o.LSE})
	c.scores = view.Scores{Batch: shape[0], Heads: shape[1], Queries: shape[2]}
	return cmp.Or(c.checkOptions(), c.checkOutputs())
}
