package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/parallel"
)

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
