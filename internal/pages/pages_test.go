package pages

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"
)

type owner struct{ data []float32 }

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 1000, least/4 - 1, least / 4, least/4 + 7} {
		o := new(owner)
		o.data = Make[float32](o, n)
		if len(o.data) != n {
			t.Fatalf("%d floats, want %d", len(o.data), n)
		}
		for i := range o.data {
			if o.data[i] != 0 {
				t.Fatalf("[%d] of %d is %v", i, n, o.data[i])
			}
			o.data[i] = 1
		}
		if n >= least/4 && runtime.GOOS == "linux" && uintptr(unsafe.Pointer(&o.data[0]))%hugePage != 0 {
			t.Errorf("%d floats start at %p, which is no huge page", n, &o.data[0])
		}
		runtime.KeepAlive(o)
	}
}

// TestUnmap: what is not reachable any more is given back.
func TestUnmap(t *testing.T) {
	const size = 256 << 20 // of addresses: nothing is used
	before := addresses(t)
	o := new(owner)
	o.data = Make[float32](o, size/4)
	if addresses(t)-before < size {
		t.Fatalf("%d bytes more than before are mapped, want at least %d", addresses(t)-before, size)
	}
	runtime.KeepAlive(o)
	for range 100 {
		if runtime.GC(); addresses(t)-before < size {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the memory is still mapped")
}

// addresses returns how many bytes of addresses the process uses.
func addresses(t *testing.T) int {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm here")
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[0])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
