package parallel

import (
	"math"
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

// TestKeepSpinning: goroutines spin on until the time that was asked for, but not if spinning is
// off, and a time that the clock of a bubble has left far in the future counts as none.
func TestKeepSpinning(t *testing.T) {
	before := keepUntil.Load()
	t.Cleanup(func() { keepUntil.Store(before) })
	const now = int64(time.Hour)
	for _, c := range []struct{ spin, kept, want time.Duration }{
		{DefaultSpin, 0, DefaultSpin},
		{DefaultSpin, -time.Second, DefaultSpin},
		{DefaultSpin, DefaultSpin / 2, DefaultSpin},
		{DefaultSpin, time.Millisecond, time.Millisecond},
		{DefaultSpin, maxLifetime, maxLifetime},
		{DefaultSpin, maxLifetime + 1, DefaultSpin},
		{0, time.Millisecond, 0},
	} {
		setSpin(t, c.spin)
		keepUntil.Store(now + int64(c.kept))
		if got := time.Duration(spinFrom(now)); got != c.want {
			t.Errorf("spin %v, kept for %v: %v, want %v", c.spin, c.kept, got, c.want)
		}
	}
	setSpin(t, DefaultSpin)
	for _, d := range []time.Duration{math.MinInt64, -1, 0, time.Millisecond, math.MaxInt64} {
		from := clock()
		KeepSpinning(d)
		if until := keepUntil.Load(); until > clock()+int64(maxLifetime) || d > 0 && until < from+int64(min(d, maxLifetime)) {
			t.Errorf("for %v: until %v from now", d, time.Duration(until-from))
		}
	}
}

// TestFrequentWhileKept: a call that comes after the spin time, but while workers spin on, counts
// as one that follows at once.
func TestFrequentWhileKept(t *testing.T) {
	before := keepUntil.Load()
	t.Cleanup(func() { keepUntil.Store(before) })
	setSpin(t, DefaultSpin)
	const now, pause = int64(time.Hour), int64(4 * DefaultSpin)
	for _, kept := range []bool{false, true} {
		keepUntil.Store(0)
		if kept {
			keepUntil.Store(now + int64(maxLifetime)/2)
		}
		var r callRate
		r.frequent(now)
		if got := r.frequent(now + pause); got != kept {
			t.Errorf("kept %v: frequent %v", kept, got)
		}
	}
}

// TestSpinOff: with spinning off a worker parks after its job, small calls count on no other
// thread, and wake none.
func TestSpinOff(t *testing.T) {
	emptyPool(t)
	setSpin(t, 0)
	j, _ := countingJob()
	submitOne(j)
	j.wait()
	waitParked()
	for range 1000 {
		if n, _, _ := Threads(2, 1, 2); n != 1 {
			t.Fatalf("spinning is off, and Threads counts on %d threads", n)
		}
	}
	if n := spinning.Load(); n > 0 {
		t.Errorf("spinning is off, and Threads has woken %d workers", n)
	}
}
