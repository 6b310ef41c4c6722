package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
)

// ArgumentError reports an argument that a call cannot work with. The call has
// changed nothing. Find it with errors.As.
//
// Nothing is ignored silently. These are errors:
//
//   - a tensor with a negative dimension or stride, a head size below 1, a slice too
//     short for its shape and strides, or sizes that overflow an int; int8 or 4
//     bits without scales; scales that do not fit; a query, bias or output that is no [Float]
//   - tensors whose shapes do not fit each other, see [Attention]
//   - a ragged tensor with starts that descend, are negative or reach beyond its
//     rows; out and q, v and k, or a further output and q, whose batch rows differ in
//     length
//   - an output two of whose elements share memory, or that shares memory with an
//     input, an option or another output; LSE, Weights and Scores that are not
//     float32
//   - a Scale, Softcap, ALiBi slope, sink or Dropout.Rate that is out of range or
//     NaN; a ScoreStage that does not exist; negative Threads
//   - positions and prefixes that are neither one for all batch rows nor one for
//     each, or out of range; a number of slopes or sinks other than that of heads; a
//     number of lengths or Dropout.Sequences other than that of batch rows; lengths
//     out of range
//   - a bias or a bool mask that neither fits the call's [B, H, Lq, Lk] nor
//     broadcasts to it, or has more keys
//   - a Window with limits below -1; Segments with a number of ids other than that
//     of queries and keys, or with ids of keys that decrease; a BlockSparse bitmap of
//     another size, or with blocks smaller than 1; more masks in an intersection than
//     [Mask.And] allows
//   - for [Additive]: a number of weights other than q's head size; weights that are
//     not finite or out of range, or share memory with an output
//   - for [AttentionPartials], [AccumulatePartials], [MergePartials] and [MergeInto]: Partials
//     that are nil, whose slices or shape do not fit, or that share memory with
//     anything else; a KeyStart that is no multiple of 256 or not the same for all
//     batch rows
type ArgumentError struct {
	Arg  string // the argument: "out", "q", "k", "v", "Options.Scale", ...
	Got  string // what was given: shape and strides, length or value
	Want string // what was expected
}

// Error returns "attn: ARG: got GOT, want WANT".
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("attn: %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// TierError reports a tier that was asked for, by [TierNamed] or the environment variable
// ATTN_TIER, and that does not exist or cannot run on this CPU, or numbers given to [Tier.Tuned]
// that the tier cannot do with. The call has changed nothing: no other tier takes over silently.
type TierError struct {
	Tier   string // the name asked for
	Source string // "TierNamed", "Tier.Tuned" or "ATTN_TIER"
	Reason string // "unknown", with the tiers of this build, what the CPU lacks, or the bad number
}

// Error returns "attn: SOURCE: tier NAME: REASON".
func (e *TierError) Error() string {
	return fmt.Sprintf("attn: %s: tier %q: %s", e.Source, e.Tier, e.Reason)
}

// argumentError returns a failed check as an error, nil for a check that passed.
func argumentError(f *check.Failure) error {
	if f == nil {
		return nil
	}
	return (*ArgumentError)(f)
}

// A TaskPanic is the value with which a call panics if a function of the caller's,
// Options.Score or Exec.ParallelFor, has panicked on another goroutine than the calling
// one. It is an error, so that it prints well and errors.Is finds Value.
type TaskPanic struct {
	Value any    // of the original panic
	Stack []byte // of the goroutine that panicked, as runtime/debug.Stack formats it
}

// Error returns the original value and stack.
func (p *TaskPanic) Error() string {
	return fmt.Sprintf("attn: panic in a task: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error, else nil.
func (p *TaskPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

func init() {
	parallel.NewPanic = func(value any, stack []byte) any { return &TaskPanic{value, stack} }
}
