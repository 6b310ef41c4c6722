package testutil

import (
	"runtime"
	"testing"
)

// Goroutine returns t for a goroutine that is not the one of the test function, where
// Fatal and the like must not be called. Those of the result call Error and end the
// goroutine. The test has to wait for it.
func Goroutine(t testing.TB) testing.TB { return goroutine{t} }

type goroutine struct{ testing.TB }

func (g goroutine) FailNow() {
	g.Fail()
	runtime.Goexit()
}

func (g goroutine) Fatal(args ...any) {
	g.Helper()
	g.Error(args...)
	runtime.Goexit()
}

func (g goroutine) Fatalf(format string, args ...any) {
	g.Helper()
	g.Errorf(format, args...)
	runtime.Goexit()
}
