package parallel

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A failing call runs tasks on several goroutines, of which one fails in its own way.
type failing struct {
	group  Group[struct{}, int]
	inside atomic.Int64 // goroutines inside a task
	began  atomic.Int64 // tasks
	fail   func(task int)
}

func newFailing(fail func(task int)) *failing {
	f := &failing{fail: fail}
	scratch := &FreeList[struct{}]{New: func() *struct{} { return new(struct{}) }}
	f.group.Init(scratch, func(*struct{}) {}, func(_ *struct{}, task int) {
		f.inside.Add(1)
		defer f.inside.Add(-1)
		f.began.Add(1)
		time.Sleep(200 * time.Microsecond)
		f.fail(task)
	})
	return f
}

// run runs the call on a goroutine of its own and returns what it panicked with, and
// whether it returned.
func (f *failing) run(tasks, threads int, parallelFor func(int, func(int))) (value any, returned bool) {
	var ended sync.WaitGroup
	ended.Add(1)
	go func() {
		defer ended.Done()
		defer func() { value = recover() }()
		f.group.Run(tasks, threads, Reserve[int]{}, parallelFor)
		returned = true
	}()
	ended.Wait()
	return value, returned
}

// goroutines is a parallel-for with a goroutine for each call.
func goroutines(n int, task func(int)) {
	var ended sync.WaitGroup
	for i := range n {
		ended.Go(func() { task(i) })
	}
	ended.Wait()
}

// TestTaskPanics: whoever panics first, Run panics, nobody is inside a task any more, and
// most tasks have not been started. Half of them would take half a minute: no goroutine that is
// about to panic loses its processor for so long.
func TestTaskPanics(t *testing.T) {
	const tasks = 1_000_000
	for _, parallelFor := range []func(int, func(int)){nil, goroutines} {
		for round := range 20 {
			f := newFailing(func(task int) {
				if task == 3*round {
					panic("planted")
				}
			})
			value, returned := f.run(tasks, 4, parallelFor)
			if text, ok := value.(string); returned || !ok || !strings.HasPrefix(text, "planted") {
				t.Fatalf("round %d: Run returned (%v) or panicked with %v", round, returned, value)
			}
			if n := f.inside.Load(); n != 0 {
				t.Fatalf("round %d: %d goroutines were inside a task after Run", round, n)
			}
			began := f.began.Load()
			time.Sleep(time.Millisecond)
			if now := f.began.Load(); now != began || now > tasks/2 {
				t.Fatalf("round %d: %d tasks began, %d after Run", round, now, now-began)
			}
		}
	}
}

// TestTaskGoexit: a task that ends its goroutine ends the caller of Run, too.
func TestTaskGoexit(t *testing.T) {
	for round := range 20 {
		f := newFailing(func(task int) {
			if task == 3*round {
				runtime.Goexit()
			}
		})
		value, returned := f.run(1000, 4, nil)
		if value != nil || returned {
			t.Fatalf("round %d: Run returned (%v) or panicked with %v", round, returned, value)
		}
		if n := f.inside.Load(); n != 0 {
			t.Fatalf("round %d: %d goroutines were inside a task after Run", round, n)
		}
	}
	// The pool has lost workers, but still does jobs.
	f := newFailing(func(int) {})
	if _, returned := f.run(100, 4, nil); !returned || f.began.Load() != 100 {
		t.Fatal("the next call failed")
	}
}

// TestParallelForPanics: Run panics with the value of the parallel-for itself, after the
// tasks that it has started on other goroutines have ended.
func TestParallelForPanics(t *testing.T) {
	f := newFailing(func(int) {})
	started := make(chan bool)
	value, _ := f.run(1000, 4, func(n int, task func(int)) {
		for i := range n {
			go func() { started <- true; task(i) }()
		}
		<-started
		time.Sleep(time.Millisecond)
		panic("planted")
	})
	if value != "planted" {
		t.Fatalf("Run panicked with %v", value)
	}
	if n := f.inside.Load(); n != 0 {
		t.Fatalf("%d goroutines were inside a task after Run", n)
	}
	for range 3 { // the others call task when Run has ended: nothing happens
		<-started
	}
	began := f.began.Load()
	time.Sleep(5 * time.Millisecond)
	if now := f.began.Load(); now != began {
		t.Fatalf("%d tasks began after Run", now-began)
	}
}

// TestStopWakesWaiters: a task that waits for another one is told when that one fails.
func TestStopWakesWaiters(t *testing.T) {
	wake := make(chan bool)
	f := newFailing(nil)
	f.fail = func(task int) {
		if task == 0 {
			panic("planted")
		}
		<-wake
	}
	f.group.OnStop = sync.OnceFunc(func() { close(wake) })
	if value, returned := f.run(4, 4, goroutines); returned || value == nil {
		t.Fatal("Run did not panic")
	}
}
