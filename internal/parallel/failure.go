package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A failure is the abnormal end of a task on another goroutine than the caller's.
type failure struct {
	value  any    // of the panic; nil for runtime.Goexit
	stack  []byte // of the goroutine
	goexit bool
}

// NewPanic makes the value with which Run panics if a task has panicked on another
// goroutine than the caller's. Package kernel sets it to its documented type.
var NewPanic = func(value any, stack []byte) any {
	return fmt.Sprintf("%v\n\n%s", value, stack)
}

// fail records how a task has ended, unless another one has been recorded, and stops the
// call. It must be called by a deferred function, with the result of recover.
func (g *Group[W, S]) fail(value any) {
	f := &failure{value: value, goexit: value == nil}
	if !f.goexit {
		f.stack = debug.Stack()
	}
	g.failure.CompareAndSwap(nil, f)
	g.stop()
}

// stop makes goroutines take no more tasks and wakes those that wait inside one.
func (g *Group[W, S]) stop() {
	g.remaining.Store(stopped)
	if g.OnStop != nil {
		g.OnStop()
	}
}

// stopped is a number of remaining tasks that stays negative whatever is subtracted.
const stopped = -1 << 62

// raise ends the caller like the task that has failed, if one has.
func (g *Group[W, S]) raise() {
	switch f := g.failure.Load(); {
	case f == nil:
	case f.goexit:
		runtime.Goexit()
	default:
		panic(NewPanic(f.value, f.stack))
	}
}
