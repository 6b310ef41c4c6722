package parallel

import (
	"runtime"
	"testing"
	"time"
)

// setSpin is SetSpin for the duration of a test.
func setSpin(t *testing.T, d time.Duration) {
	before := SetSpin(d)
	t.Cleanup(func() { SetSpin(before) })
}

// TestReadSpin reads good and bad values of ATTN_SPIN.
func TestReadSpin(t *testing.T) {
	setSpin(t, DefaultSpin)
	for value, want := range map[string]time.Duration{
		"": DefaultSpin, "off": 0, "0": 0, "0s": 0, "20us": 20 * time.Microsecond, "1.5ms": 1500 * time.Microsecond,
		"Off": -1, "on": -1, "50": -1, "-1us": -1, " 1us": -1,
	} {
		ignored := readSpin(value)
		if want < 0 {
			want = DefaultSpin
			if ignored != value {
				t.Errorf("%q: %q is ignored", value, ignored)
			}
		} else if ignored != "" {
			t.Errorf("%q is ignored", value)
		}
		if got := SetSpin(-1); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestSetSpin: workers and callers spin as long as SetSpin says, and not at all with 0. Somebody
// else may have the processor at any moment, so a bound must hold in one of many trials;
// TestHowLongWorkersSpin counts yields instead.
func TestSetSpin(t *testing.T) {
	emptyPool(t)
	j, _ := countingJob()
	spins := func(setting time.Duration, trials int, ok func(time.Duration) bool) (last time.Duration, held bool) {
		setSpin(t, setting)
		for range trials {
			submitOne(j)
			j.wait()
			began := time.Now()
			for spinning.Load() > 0 {
				time.Sleep(time.Microsecond)
			}
			if last = time.Since(began); ok(last) {
				return last, true
			}
		}
		return last, false
	}
	if d, ok := spins(0, 1000, func(d time.Duration) bool { return d < 30*time.Microsecond }); !ok {
		t.Errorf("spinning is off, and a worker spins for %v", d)
	}
	if d, ok := spins(50*time.Microsecond, 1000, func(d time.Duration) bool { return d < 800*time.Microsecond }); !ok {
		t.Errorf("workers spin for %v if that is 50 µs", d)
	}
	if min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) > 1 {
		if d, ok := spins(time.Millisecond, 1000, func(d time.Duration) bool { return d > 100*time.Microsecond }); !ok {
			t.Errorf("workers spin for %v if that is 1 ms", d)
		}
	}
	setSpin(t, 0)
	for range 1000 {
		if n, _, _ := Threads(2, 1, 2); n != 1 {
			t.Fatalf("spinning is off, and Threads counts on %d threads", n)
		}
	}
	if n := spinning.Load(); n > 0 {
		t.Errorf("spinning is off, and Threads has woken %d workers", n)
	}
}
