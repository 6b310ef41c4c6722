package command

import (
	"context"
	"errors"
	"io"
	"testing"
)

// TestInterruptedInput: to wait for input ends when the context does, with its cause, and for a
// writer as well.
func TestInterruptedInput(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	never, w := io.Pipe()
	defer w.Close()
	in := &Inputs{Files: []string{"-"}}
	stdin, err := in.Open(ctx, "-", never)
	if err != nil {
		t.Fatal(err)
	}
	opening := interruptible(ctx, func() (io.ReadCloser, error) {
		<-t.Context().Done() // which the test ends later
		return nil, io.EOF
	})
	go cancel(cause)
	for _, r := range []io.Reader{stdin, opening} {
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, cause) {
			t.Errorf("got %v, want %v", err, cause)
		}
	}
	if _, err := in.ReadAll(ctx, never); !errors.Is(err, cause) {
		t.Errorf("ReadAll: %v, want %v", err, cause)
	}
}
