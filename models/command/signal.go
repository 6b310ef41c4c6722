package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/attn-go/attn/models/internal/signals"
)

// A SignalError says that a signal ended what a program did. errors.Is takes it for a
// [context.Canceled].
type SignalError struct{ Signal os.Signal }

// Error returns "stopped by a signal: " and its name.
func (e *SignalError) Error() string { return "stopped by a signal: " + e.Signal.String() }

// Is returns whether target is [context.Canceled].
func (e *SignalError) Is(target error) bool { return target == context.Canceled }

// status returns the exit status, as shells report a program that the signal has ended.
func (e *SignalError) status() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// Context returns a context that ends when a signal asks the program to end: SIGINT (^C), SIGTERM
// or SIGHUP, unless the program was started with that one ignored. Its cause is a [*SignalError].
// A second signal ends the program at once.
func Context() (ctx context.Context, stop func()) {
	return Signals(context.Background(), append([]os.Signal{os.Interrupt}, signals.Ending...)...)
}

// Signals is [Context] for other signals, and for a context that may end before.
func Signals(parent context.Context, which ...os.Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c := make(chan os.Signal, 1)
	for _, s := range signals.NotIgnored(which...) {
		signal.Notify(c, s)
	}
	go func() {
		select {
		case s := <-c:
			cancel(&SignalError{s})
			signal.Stop(c)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		cancel(context.Canceled)
	}
}
