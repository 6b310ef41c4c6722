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
// Nothing is ignored silently: whatever a call cannot do with is an error, such as a slice too
// short for its shape and strides, shapes that do not fit each other, an output that shares memory
// with another argument, an option out of range, and page tables, starts or masks that do not fit
// the tensors. The documentation of a function says what it takes.
type Error struct {
	Where string // the function and the argument: "kernel.Attention: Options.Scale"
	Got   string // what was given: shape and strides, length or value
	Want  string // what was expected
	Kind  error  // ErrMemory, ErrTier or one that another package documents; nil is ErrArgument
}

// The kinds of an [Error].
var (
	ErrArgument, // an argument is not valid, or does not fit the others
	ErrMemory, // the call needs more memory than the system, or GOMEMLIMIT, gives the program
	ErrTier = kinds() // the tier of TierNamed or ATTN_TIER does not exist or cannot run; no other takes over
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
