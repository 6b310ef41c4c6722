package kernel

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
)

// An Error says why a call cannot work, in all packages of this module. The call has changed
// nothing. Find it with errors.As, and its kind with errors.Is:
//
//	errors.Is(err, kernel.ErrArgument)  // the program must be changed
//	errors.Is(err, kernel.ErrMemory)    // fewer or smaller calls may work
//	errors.Is(err, kernel.ErrTier)      // the name of the tier or ATTN_TIER must be changed
//
// Nothing is ignored silently. These are errors of arguments:
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
type Error struct {
	Where string // the function and the argument: "kernel.Attention: Options.Scale"
	Got   string // what was given: shape and strides, length or value
	Want  string // what was expected
	Kind  error  // ErrMemory, ErrTier or one that another package documents; nil is ErrArgument
}

// The kinds of an [Error].
var (
	ErrArgument, // an argument does not fit, or not to the others
	ErrMemory, // the system, or GOMEMLIMIT, does not give the program as much memory as the call needs
	ErrTier = kinds() // the tier that TierNamed or ATTN_TIER names does not exist or cannot run: no other one takes over
)

func kinds() (argument, memory, tier error) { return check.ErrArgument, check.ErrMemory, check.ErrTier }

// Error returns "WHERE: GOT, want WANT".
func (e *Error) Error() string { return fmt.Sprintf("%s: %s, want %s", e.Where, e.Got, e.Want) }

// Arg returns what Where says behind the function: the argument.
func (e *Error) Arg() string {
	_, arg, ok := strings.Cut(e.Where, ": ")
	if !ok {
		return e.Where
	}
	return arg
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return cmp.Or(e.Kind, ErrArgument) }

// selectTier returns the tier that runs a call of a function.
func selectTier(function string, e *Exec) (*tier.Tier, error) {
	t, f := tier.Handle(e.Tier).Tier()
	if f != nil {
		return nil, (*Error)(f.In(function))
	}
	return t, nil
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
