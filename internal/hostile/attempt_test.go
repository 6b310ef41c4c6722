package hostile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

const (
	// mostMemory is the most bytes that one call may allocate. The program's memory limit is
	// somewhat lower, so that whatever asks the system for memory is refused more.
	mostMemory  = 64 << 20
	memoryLimit = 48 << 20

	// deadline is the most time that one call may take. Calls take some microseconds, but an
	// emulator of another CPU is slow, and other programs may have the processors.
	deadline = 10 * time.Minute
)

func TestMain(m *testing.M) {
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(m.Run())
}

// An attempt is what came of a call.
type attempt struct {
	err   error
	panic any
	stack []byte
	bytes uint64 // allocated meanwhile
}

// A caller makes calls one after the other on a goroutine of its own, so that one that
// never returns can be reported.
type caller struct {
	calls   chan func() error
	done    chan attempt
	alarm   *time.Timer
	counter [1]metrics.Sample
}

func newCaller() *caller {
	c := &caller{calls: make(chan func() error), done: make(chan attempt), alarm: time.NewTimer(time.Hour)}
	c.counter[0].Name = "/gc/heap/allocs:bytes"
	go func() {
		for f := range c.calls {
			c.done <- c.once(f)
		}
	}()
	return c
}

// once calls f.
func (c *caller) once(f func() error) (a attempt) {
	before := c.allocated()
	defer func() {
		if a.panic = recover(); a.panic != nil {
			a.stack = debug.Stack()
		}
		a.bytes = c.allocated() - before
	}()
	a.err = f()
	return a
}

// allocated returns how many bytes the program has ever allocated.
func (c *caller) allocated() uint64 {
	metrics.Read(c.counter[:])
	return c.counter[0].Value.Uint64()
}

// try calls f. It fails the test if f panics, does not return, takes too much memory or
// returns an error of another kind than the documented ones, and returns the error.
func (c *caller) try(t *testing.T, name func() string, f func() error) error {
	t.Helper()
	c.alarm.Reset(deadline)
	c.calls <- f
	select {
	case <-c.alarm.C:
		t.Fatalf("%s: has not returned after %v", name(), deadline)
	case a := <-c.done:
		switch {
		case a.panic != nil:
			t.Fatalf("%s: panic: %v\n%s", name(), a.panic, a.stack)
		case a.bytes > mostMemory:
			t.Fatalf("%s: allocated %d bytes", name(), a.bytes)
		}
		if flaw := undocumented(a.err); flaw != "" {
			t.Fatalf("%s: %s: %v", name(), flaw, a.err)
		}
		return a.err
	}
	return nil
}

// undocumented tells what is wrong about an error, "" if nothing is.
func undocumented(err error) string {
	var bad *kernel.Error
	var capacity *kvcache.CapacityError
	switch {
	case err == nil:
	case errors.As(err, &bad):
		if bad.Got == "" || bad.Want == "" {
			return "an error that does not say what is wrong"
		}
		if function, arg, _ := strings.Cut(bad.Where, ": "); (arg == "" || !isListed(function)) && !strings.HasSuffix(bad.Where, ownArgument) {
			return "an error that does not name a function and an argument"
		}
	case errors.As(err, &capacity):
		if capacity.Need <= capacity.Free || capacity.Free < 0 {
			return "an error about room that there is"
		}
	case errors.Is(err, io.ErrClosedPipe): // a caller's own
	default:
		return fmt.Sprintf("an undocumented error, a %T", err)
	}
	return ""
}

// ownArgument is what Tensor.Check is told of a tensor, without a function.
const ownArgument = "an argument of the program"

// isListed tells whether a function is in the table.
func isListed(name string) bool { _, ok := listed()[name]; return ok }

var listed = sync.OnceValue(func() map[string]struct{} {
	names := map[string]struct{}{}
	for _, e := range table {
		names[e.name] = struct{}{}
	}
	return names
})

// refused fails the test unless err is about the argument and mentions what is wanted.
func refused(t *testing.T, name string, err error, arg, want string) {
	t.Helper()
	var bad *kernel.Error
	if !errors.As(err, &bad) || bad.Arg() != arg || !strings.Contains(bad.Error(), want) {
		t.Errorf("%s: error %v, want one about %s with %q", name, err, arg, want)
	}
}

// big are the sizes that a faulty computation leads to, as far as an int has them.
func big(bits uint) int {
	if bits >= testBits {
		return math.MaxInt
	}
	return 1 << bits
}

const testBits = 32<<(^uint(0)>>63) - 1

// floats returns n numbers of which no two are equal.
func floats(n int) []float32 {
	r, s := testutil.Rand(n), make([]float32, n)
	r.Fill(s)
	return s
}
