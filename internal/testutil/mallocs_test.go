package testutil

import (
	"runtime"
	"testing"
)

// The count that other tests compare with 0 is exact.
func TestCountMallocs(t *testing.T) {
	if Race {
		t.Skip("the race detector allocates")
	}
	if n := CountMallocs(100, func() {}); n != 0 {
		t.Errorf("%d allocations where there are none", n)
	}
	var sink *[100]byte
	if n := CountMallocs(100, func() { sink = new([100]byte) }); n != 100 {
		t.Errorf("%d allocations where there are 100", n)
	}
	runtime.KeepAlive(sink)
}
