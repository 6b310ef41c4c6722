package testutil

import (
	"runtime"
	"testing"
)

// Goroutine returns t for a goroutine that is not the test function's, where Fatal and the like
// must not be called. The result's Fatal and the like call Error and end the goroutine. The test
// has to wait for it.
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
