package parallel

import (
	"context"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
)

// emptyPool waits until all workers are parked and replaces them by none for the duration
// of a test.
func emptyPool(t *testing.T) {
	t.Helper()
	waitParked()
	before := workers.all.Swap(nil)
	t.Cleanup(func() {
		waitParked()
		workers.all.Store(before)
	})
}

// heldWorker adds a parked worker to the pool, whose goroutine waits for the close of
// release when it has been started.
func heldWorker() (w *worker, release chan bool) {
	n := len(workers.list())
	workers.reserve(n + 1)
	w, release = workers.list()[n], make(chan bool)
	w.main = func() {
		<-release
		w.run()
	}
	return w, release
}

// submitOne submits j to one worker.
func submitOne(j *job) *worker { return submit(j, 1, nil)[0] }

func newJob(do func()) *job {
	j := new(job)
	j.init(func(int) { do() })
	return j
}

// countingJob returns a job that counts how often workers do it.
func countingJob() (j *job, done *atomic.Int64) {
	done = new(atomic.Int64)
	return newJob(func() { done.Add(1) }), done
}

// TestSubmittedJobIsDone: a job that is not canceled is done once for each submit.
func TestSubmittedJobIsDone(t *testing.T) {
	j, done := countingJob()
	for n := range int64(20) {
		done.Store(0)
		submit(j, int(n), nil)
		j.wait()
		if done.Load() != n || j.inside.Load() != 0 {
			t.Errorf("submitted to %d workers: done %d times, %d have it", n, done.Load(), j.inside.Load())
		}
	}
}

// TestCanceledJobIsNotDone: a worker that has not started a job when it is canceled never
// does it. It is then idle.
func TestCanceledJobIsNotDone(t *testing.T) {
	emptyPool(t)
	w, release := heldWorker()
	j, done := countingJob()
	if submitOne(j) != w {
		t.Fatal("the worker did not get the job")
	}
	w.cancel(j)
	j.wait()
	if n := j.inside.Load(); n != 0 {
		t.Errorf("%d workers still have the job", n)
	}
	if n := spinning.Load(); n != 1 || w.job.Load() != &idle {
		t.Errorf("the worker is not idle; %d are", n)
	}
	close(release)
	waitParked()
	if n := done.Load(); n != 0 {
		t.Errorf("the job was done %d times", n)
	}
}

// TestCancelRacesWithStart: whoever wins, a job ends once, and is not done after that.
func TestCancelRacesWithStart(t *testing.T) {
	for i := range repeats(2000) {
		j, done := countingJob()
		w := submitOne(j)
		for range i % 4 {
			runtime.Gosched()
		}
		w.cancel(j)
		j.wait()
		if n := j.inside.Load(); n != 0 {
			t.Fatalf("%d workers have the job after its end", n)
		}
		if n := done.Swap(-1); n > 1 {
			t.Fatalf("the job was done %d times", n)
		}
		runtime.Gosched()
		if done.Load() != -1 {
			t.Fatal("the job was done after its end")
		}
	}
}

// TestIdleWorkerGetsJob: an idle worker does a job without a new goroutine.
func TestIdleWorkerGetsJob(t *testing.T) {
	emptyPool(t)
	w, release := heldWorker()
	wake() // makes it idle, for as long as it is held
	j, done := countingJob()
	goroutines := runtime.NumGoroutine()
	if submitOne(j) != w {
		t.Fatal("the idle worker did not get the job")
	}
	if n := runtime.NumGoroutine(); n > goroutines || spinning.Load() != 0 {
		t.Errorf("%d goroutines before the job, %d with it; %d workers are idle", goroutines, n, spinning.Load())
	}
	close(release)
	j.wait()
	if done.Load() != 1 {
		t.Error("the idle worker has not done the job")
	}
}

// TestWakeLeavesIdleWorkers: if all workers are idle, wake makes one more.
func TestWakeLeavesIdleWorkers(t *testing.T) {
	emptyPool(t)
	_, release1 := heldWorker()
	wake()
	_, release2 := heldWorker()
	wake()
	if n := spinning.Load(); n != 2 || len(workers.list()) != 2 {
		t.Errorf("two workers woken: %d idle of %d", n, len(workers.list()))
	}
	wake()
	if n := len(workers.list()); n != 3 {
		t.Errorf("a third worker woken: %d in all", n)
	}
	close(release1)
	close(release2)
}

// TestIdleWorkersAreTakenFirst, and then the first ones that are parked.
func TestIdleWorkersAreTakenFirst(t *testing.T) {
	emptyPool(t)
	var releases []chan bool
	for range 6 {
		_, release := heldWorker()
		releases = append(releases, release)
	}
	all := workers.list()
	for _, i := range []int{2, 4} {
		all[i].job.Store(&idle)
		spinning.Add(1)
		go all[i].main()
	}
	j, done := countingJob()
	taken := submit(j, 4, nil)
	if !slices.Equal(taken, []*worker{all[2], all[4], all[0], all[1]}) || spinning.Load() != 0 {
		t.Errorf("other workers were taken, or %d are counted as idle", spinning.Load())
	}
	for _, release := range releases {
		close(release)
	}
	if j.wait(); done.Load() != 4 {
		t.Errorf("the job was done %d times", done.Load())
	}
}

// TestWorkersWakeWorkers: the caller starts the first goroutines and these the others, also
// if the job has been canceled in the meantime.
func TestWorkersWakeWorkers(t *testing.T) {
	const n = 23
	for _, cancel := range []bool{false, true} {
		emptyPool(t)
		workers.reserve(n)
		var mu sync.Mutex
		var started []int
		all := testutil.NewBarrier(n)
		j := newJob(all.Wait) // so that no worker parks before all have been started
		release := make(chan bool)
		for _, w := range workers.list() {
			w.main = func() {
				<-release
				mu.Lock()
				started = append(started, w.number)
				mu.Unlock()
				w.run()
			}
		}
		goroutines := runtime.NumGoroutine()
		taken := submit(j, n, nil)
		if got := runtime.NumGoroutine() - goroutines; got > fanOut {
			t.Errorf("the caller has started %d goroutines, want %d", got, fanOut)
		}
		if cancel {
			for _, w := range taken {
				w.cancel(j)
			}
			close(release)
			waitParked()
		} else {
			close(release)
			j.wait()
		}
		slices.Sort(started)
		if len(started) != n || started[0] != 0 || started[n-1] != n-1 {
			t.Errorf("canceled %v: started %v, want all %d", cancel, started, n)
		}
	}
}

// TestLabelsAreCleared: a worker does not carry the labels of the goroutine that has woken
// it.
func TestLabelsAreCleared(t *testing.T) {
	emptyPool(t)
	labeled := func() (n int) {
		var text strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			t.Fatal(err)
		}
		return strings.Count(text.String(), `"request":"planted"`)
	}
	begun, end := make(chan bool), make(chan bool)
	j := newJob(func() { begun <- true; <-end })
	pprof.Do(context.Background(), pprof.Labels("request", "planted"), func(context.Context) {
		if labeled() == 0 {
			t.Error("the test cannot find labels")
		}
		submit(j, 5, nil)
		for range 5 {
			<-begun
		}
	})
	if n := labeled(); n > 0 {
		t.Error("workers are labeled")
	}
	close(end)
	j.wait()
}

// TestIdleWorkerParks after some time, and is then woken by the next job.
func TestIdleWorkerParks(t *testing.T) {
	emptyPool(t)
	w, release := heldWorker()
	close(release)
	for range 5 {
		j, done := countingJob()
		if submitOne(j) != w {
			t.Fatal("the worker did not get the job")
		}
		j.wait()
		waitParked()
		if done.Load() != 1 || w.job.Load() != &parked {
			t.Errorf("the job was done %d times; the worker is parked: %v", done.Load(), w.job.Load() == &parked)
		}
	}
}

// TestNoGoroutineIsLeft after calls on many threads.
func TestNoGoroutineIsLeft(t *testing.T) {
	waitParked()
	before := runtime.NumGoroutine() // perhaps some of other tests among them
	c := newCall()
	for range repeats(10) {
		c.run(t, "many threads", 100, 8, 0, nil)
	}
	waitFor(func() bool {
		return runtime.NumGoroutine() <= before && spinning.Load() == 0
	})
}

// TestHowLongWorkersSpin: an idle worker spins for the time that SetSpin sets, but not beyond its
// lifetime. It parks at once if spinning is off or if as many workers spin as there are processors,
// and after two yields in a row that took long. The times are the test's own.
func TestHowLongWorkersSpin(t *testing.T) {
	const (
		now  = int64(5 * time.Second)
		long = int64(preemption) + 1
		ever = math.MaxInt64
	)
	for _, c := range []struct {
		name        string
		limit       time.Duration // that SetSpin sets
		lifetimeEnd int64
		spinning    int64   // of two processors
		yields      []int64 // what they take in turn, in nanoseconds
		want        int     // yields until the worker parks
		crowded     bool
	}{
		{"spin time", DefaultSpin, ever, 1, []int64{int64(DefaultSpin) / 10}, 11, false},
		{"fast yields", DefaultSpin, ever, 1, []int64{0}, spinYields(int64(DefaultSpin)), false},
		{"end of the lifetime", DefaultSpin, now + int64(DefaultSpin)/2, 1, []int64{int64(DefaultSpin) / 10}, 6, false},
		{"after the lifetime", DefaultSpin, now - 1, 1, []int64{1}, 0, false},
		{"as many as processors", DefaultSpin, ever, 2, []int64{1}, 0, false},
		{"off", 0, ever, 1, []int64{1}, 0, false},
		{"preemption", time.Hour, ever, 1, []int64{long}, 2, true},
		{"preemption, later", time.Hour, ever, 1, []int64{1, 1, 1, long, 1, long, long}, 7, true},
		{"now and then", time.Hour, ever, 1, []int64{long, 1}, spinYields(int64(time.Hour)), false},
	} {
		s, clock := newSpinState(now, c.lifetimeEnd, int64(c.limit), 2), now
		for !s.over(c.spinning) {
			clock += c.yields[s.yields%len(c.yields)]
			s.yielded(clock)
		}
		if s.yields != c.want || s.crowded() != c.crowded {
			t.Errorf("%s: %d yields, crowded %v, want %d, %v", c.name, s.yields, s.crowded(), c.want, c.crowded)
		}
	}
}

// TestIdleWorkerYields, and does not where it has to park at once. On one processor each yield lets
// another goroutine count. The runtime may add yields, so the least of some tries is taken.
func TestIdleWorkerYields(t *testing.T) {
	emptyPool(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer rareCalls()
	for _, c := range []struct {
		name       string
		spin       time.Duration
		end        int64
		processors int
		yields     bool
	}{
		{"it spins", time.Hour, math.MaxInt64, 2, true},
		{"off", 0, math.MaxInt64, 2, false},
		{"lifetime", time.Hour, clock() - 1, 2, false},
		{"one processor", time.Hour, math.MaxInt64, 1, false},
	} {
		setSpin(t, c.spin)
		var yields atomic.Int64
		var stop atomic.Bool
		var other sync.WaitGroup
		other.Go(func() {
			for !stop.Load() {
				yields.Add(1)
				runtime.Gosched()
			}
		})
		least := int64(math.MaxInt64)
		for range 20 {
			w := new(worker)
			w.job.Store(&idle)
			spinning.Add(1)
			before := yields.Load()
			if w.next(c.end, c.processors) != nil || w.job.Load() != &parked || spinning.Load() != 0 {
				t.Fatalf("%s: the worker did not park", c.name)
			}
			least = min(least, yields.Load()-before)
		}
		stop.Store(true)
		other.Wait()
		if least > 0 != c.yields {
			t.Errorf("%s: at least %d yields", c.name, least)
		}
	}
}

// busy uses the processor for at least d.
func busy(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// TestBackoff: if others want the processors, idle workers park and small calls do without
// them for a while.
func TestBackoff(t *testing.T) {
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	if processors == 1 {
		t.Skip("on one processor workers park at once")
	}
	// Workers park after one long yield if the system, not Go, shares out the processors.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	emptyPool(t)
	smallCalls.backoffUntil.Store(0)
	defer rareCalls()
	var stop atomic.Bool
	var others sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		others.Go(func() {
			for !stop.Load() {
				busy(2 * preemption)
				runtime.Gosched()
			}
		})
	}
	j, _ := countingJob()
	waitFor(func() bool {
		submitOne(j)
		j.wait()
		return smallCalls.backoffUntil.Load() != 0
	})
	stop.Store(true)
	others.Wait()
}
