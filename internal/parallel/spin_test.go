package parallel

import (
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

// TestSpinOff: with spinning off a worker parks after its job, small calls count on no other thread, and wake none.
func TestSpinOff(t *testing.T) {
	emptyPool(t)
	setSpin(t, 0)
	j, _ := countingJob()
	submitOne(j)
	j.wait()
	waitParked(t)
	for range 1000 {
		if n, _, _ := Threads(2, 1, 2); n != 1 {
			t.Fatalf("spinning is off, and Threads counts on %d threads", n)
		}
	}
	if n := spinning.Load(); n > 0 {
		t.Errorf("spinning is off, and Threads has woken %d workers", n)
	}
}
