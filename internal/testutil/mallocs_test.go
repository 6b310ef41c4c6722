package testutil

import (
	"runtime"
	"testing"
)

// The count that other tests compare with 0 is exact, but for what the runtime allocates by itself.
func TestCountMallocs(t *testing.T) {
	CheckNoMallocs(t, "nothing", 100, func() {})
	var sink *[100]byte
	CheckNone(t, "more or less than 100", func() uint64 { return CountMallocs(100, func() { sink = new([100]byte) }) - 100 })
	runtime.KeepAlive(sink)
}

// A failed records whether a test has failed.
type failed struct {
	testing.TB
	has bool
}

func (f *failed) Helper()               {}
func (f *failed) Errorf(string, ...any) { f.has = true }

// What the runtime allocates once is not a call's, and what a call allocates is there each time.
func TestCheckNone(t *testing.T) {
	if Race {
		t.Skip("the race detector allocates")
	}
	for want, counts := range map[bool][]uint64{false: {3, 1, 1, 2, 0}, true: {1, 3, 1, 1, 2}} {
		var f failed
		CheckNone(&f, "", func() (n uint64) { n, counts = counts[0], counts[1:]; return n })
		if f.has != want {
			t.Errorf("it fails: %v, want %v", f.has, want)
		}
	}
}
