package parallel

import (
	"runtime"
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	if n := Limit(3); n != 3 {
		t.Errorf("Limit(3) = %d", n)
	}
	if n, want := Limit(1<<30), 8*runtime.GOMAXPROCS(0); n != want {
		t.Errorf("Limit(1<<30) = %d, want 8 times GOMAXPROCS, %d", n, want)
	}
	if n, want := Limit(0), runtime.GOMAXPROCS(0); n != want {
		t.Errorf("Limit(0) = %d, want GOMAXPROCS, %d", n, want)
	}
	if n := LimitFor(3, 1.9); n != 1 {
		t.Errorf("LimitFor(3, 1.9) = %d: no second thread is worth it", n)
	}
	if n := LimitFor(3, 2); n != 3 {
		t.Errorf("LimitFor(3, 2) = %d", n)
	}
}

// rareCalls makes the next small call one that no other came before, outside of a backoff.
func rareCalls() {
	smallCalls.last.Store(-2 * int64(DefaultSpin))
	smallCalls.backoffUntil.Store(0)
}

// TestThreads: a call gets the threads that it is worth cold, and beyond these as many as
// workers spin, if it is worth them warm.
func TestThreads(t *testing.T) {
	waitParked()
	defer rareCalls()
	for _, c := range []struct {
		limit      int
		cold, warm float64
		spinning   int64
		backoff    bool
		want       int
	}{
		// cold decides, rounded down, from 1 to limit.
		{limit: 1, cold: 9, warm: 90, want: 1},
		{limit: 4, cold: 9, warm: 90, want: 4},
		{limit: 4, cold: 3.5, warm: 3.9, want: 3},
		{limit: 4, cold: 0, warm: 1, want: 1},
		{limit: 4, cold: 1e300, warm: 1e300, want: 4},
		{limit: 4, cold: 3, warm: 2, spinning: 9, want: 3},

		// It bounds the threads when starting them takes too long.
		{limit: 1000, cold: 600, warm: 600, want: 300},
		{limit: 1000, cold: 1, warm: 90, spinning: 99, want: 60},

		// warm decides, as far as workers spin.
		{limit: 4, cold: 0, warm: 1e300, spinning: 0, want: 1},
		{limit: 4, cold: 0, warm: 1e300, spinning: 1, want: 2},
		{limit: 4, cold: 0, warm: 1e300, spinning: 3, want: 4},
		{limit: 4, cold: 0, warm: 1e300, spinning: 9, want: 4},
		{limit: 8, cold: 2, warm: 5.9, spinning: 0, want: 2},
		{limit: 8, cold: 2, warm: 5.9, spinning: 1, want: 2},
		{limit: 8, cold: 2, warm: 5.9, spinning: 2, want: 3},
		{limit: 8, cold: 2, warm: 5.9, spinning: 9, want: 5},
		{limit: 8, cold: 2, warm: 5.9, spinning: 9, backoff: true, want: 2},
	} {
		rareCalls()
		if c.backoff {
			smallCalls.backOff()
		}
		spinning.Add(c.spinning)
		n, most, vary := Threads(c.limit, c.cold, c.warm)
		spinning.Add(-c.spinning)
		if n != c.want {
			t.Errorf("Threads(%d, %g, %g) = %d, want %d, with %d workers that spin, backoff %v", c.limit, c.cold, c.warm, n, c.want, c.spinning, c.backoff)
		}
		if want := max(c.want, int(min(float64(c.limit), bounded(c.warm, warmSubmits)))); most != want || vary != (want > max(1, int(min(float64(c.limit), bounded(c.cold, coldStarts))))) {
			t.Errorf("Threads(%d, %g, %g) says at most %d, which varies: %v; want %d", c.limit, c.cold, c.warm, most, vary, want)
		}
		if n := spinning.Load(); n != 0 {
			t.Errorf("Threads(%d, %g, %g) has woken a worker for a rare call", c.limit, c.cold, c.warm)
			waitParked()
		}
	}
}

// TestFrequentCallsWakeWorkers: small calls get a second thread if they follow each other
// without a pause.
func TestFrequentCallsWakeWorkers(t *testing.T) {
	waitParked()
	for range 1000 {
		smallCalls.backoffUntil.Store(0)
		if n, _, _ := Threads(2, 1, 2); n == 2 {
			return
		}
	}
	t.Error("1000 calls have woken no worker")
}

// TestCallRate: a call is frequent if the one before was a moment ago, and a backoff ends.
// Neither lasts if a clock has jumped.
func TestCallRate(t *testing.T) {
	var r callRate
	r.last.Store(-2 * int64(DefaultSpin))
	now := int64(time.Hour)
	for _, c := range []struct {
		pause time.Duration
		want  bool
	}{{0, false}, {0, true}, {DefaultSpin - 1, true}, {DefaultSpin, false}, {-1, false}, {time.Hour, false}, {-time.Hour, false}, {1, true}} {
		now += int64(c.pause)
		if got := r.frequent(now); got != c.want {
			t.Errorf("a call %v after another is frequent: %v", c.pause, got)
		}
	}
	if r.backingOff(clock()) {
		t.Error("a backoff from the start")
	}
	now = clock()
	r.backOff()
	end := r.backoffUntil.Load()
	if end < now+int64(backoff) || end > clock()+int64(backoff) {
		t.Errorf("a backoff of %v", time.Duration(end-now))
	}
	for at, want := range map[int64]bool{end - 1: true, end - int64(backoff): true, end: false, end + 1: false, end - int64(year): false, end + int64(year): false} {
		if r.backingOff(at) != want {
			t.Errorf("backing off %v before the end: %v", time.Duration(end-at), !want)
		}
	}
}
