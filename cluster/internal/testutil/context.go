package testutil

import (
	"context"
	"testing"
	"time"
)

// Context returns the test's context with an end that no test reaches: where there is none, NATS
// waits for 5 s, and a busy machine may take longer.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(cancel)
	return ctx
}
