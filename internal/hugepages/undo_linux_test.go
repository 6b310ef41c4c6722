package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// hugeFlags returns what the system says about the pages at an address: whether it may use
// huge ones.
func hugeFlags(t *testing.T, at uintptr) bool {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= at && at < hi
		} else if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			return strings.Contains(flags+" ", " hg ")
		}
	}
	t.Skip("the system does not tell")
	return false
}

// TestUndo: when the memory is garbage, the system no longer uses huge pages for it, unless
// it has become such memory again.
func TestUndo(t *testing.T) {
	if !onlyOnRequest() {
		t.Skip("the system uses huge pages everywhere, or nowhere")
	}
	const n = 8 * hugePage / 4
	x := Make[float32](n)
	at := uintptr(unsafe.Pointer(&x[0]))
	if x[5] = 1; !hugeFlags(t, at) {
		t.Skip("the system has no huge pages")
	}
	runtime.GC()
	if !hugeFlags(t, at) {
		t.Error("undone while the memory is used")
	}
	runtime.KeepAlive(x)
	for hugeFlags(t, at) { // go test ends a test that hangs
		runtime.GC()
	}
	r := span{at, n * 4}
	owners := func() int {
		requested.mu.Lock()
		defer requested.mu.Unlock()
		return requested.all[r]
	}
	requested.add(r) // as if the heap gave it to Make twice before the first cleanup
	requested.add(r)
	if requested.end(r); owners() != 1 {
		t.Errorf("%d owners are left, want 1", owners())
	}
	if requested.end(r); owners() != 0 {
		t.Errorf("%d owners are left", owners())
	}
}
