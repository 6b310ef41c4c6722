package kernel_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

var errPlanted = errors.New("planted")

// panicCall is a call with many tiles, or with split-KV, and a Score function.
type panicCall struct {
	name   string
	lq, lk int
}

var panicCalls = []panicCall{{"tiles", 512, 512}, {"split-KV", 1, 64 * 256}}

func (c panicCall) run(score func(*kernel.ScoreTile), exec kernel.Exec) (out []float32, value any, returned bool) {
	const heads, d = 2, 64
	out = make([]float32, heads*c.lq*d)
	q, kv := testutil.Floats(heads*c.lq*d), testutil.Floats(heads*c.lk*d)
	var ended sync.WaitGroup
	ended.Go(func() {
		defer func() { value = recover() }()
		kv := kernel.BHLD(kv, 1, heads, c.lk, d)
		err := kernel.Attention(kernel.BHLD(out, 1, heads, c.lq, d), kernel.BHLD(q, 1, heads, c.lq, d), kv, kv, kernel.Options{Exec: exec, Score: score})
		if err != nil {
			panic(err)
		}
		returned = true
	})
	ended.Wait()
	return out, value, returned
}

// TestScorePanics: a panic in Options.Score, on any goroutine, ends the call with that
// panic, and when it has ended nobody writes to out any more. The next call has the right
// bits.
func TestScorePanics(t *testing.T) {
	for _, c := range panicCalls {
		t.Run(c.name, func(t *testing.T) {
			want, _, _ := c.run(func(*kernel.ScoreTile) {}, kernel.Exec{Threads: 1})
			for _, parallelFor := range []func(int, func(int)){nil, goroutines} {
				for at := range int64(12) {
					var calls, inside atomic.Int64
					exec := kernel.Exec{Threads: 4, ParallelFor: parallelFor}
					out, value, returned := c.run(func(*kernel.ScoreTile) {
						inside.Add(1)
						defer inside.Add(-1)
						if calls.Add(1) == at+1 {
							panic(errPlanted)
						}
					}, exec)
					if err, ok := value.(error); returned || !ok || !errors.Is(err, errPlanted) {
						t.Fatalf("call %d of Score: Attention returned (%v) or panicked with %v", at, returned, value)
					}
					if n := inside.Load(); n != 0 {
						t.Fatalf("%d calls of Score were running when Attention had ended", n)
					}
					before := slices.Clone(out)
					time.Sleep(200 * time.Microsecond)
					if !sameBits(out, before) {
						t.Fatal("out was written to after Attention had ended")
					}
					if got, _, _ := c.run(func(*kernel.ScoreTile) {}, exec); !sameBits(got, want) {
						t.Fatal("the next call has other bits")
					}
				}
			}
		})
	}
}

// TestScoreGoexit: a Score function that ends its goroutine ends that of the call.
func TestScoreGoexit(t *testing.T) {
	for _, c := range panicCalls {
		for at := range int64(8) {
			var calls atomic.Int64
			_, value, returned := c.run(func(*kernel.ScoreTile) {
				if calls.Add(1) == at+1 {
					runtime.Goexit()
				}
			}, kernel.Exec{Threads: 4})
			if value != nil || returned {
				t.Fatalf("%s: Attention returned (%v) or panicked with %v", c.name, returned, value)
			}
		}
	}
}

// TestParallelForPanics: the call panics with the value itself.
func TestParallelForPanics(t *testing.T) {
	for _, c := range panicCalls {
		_, value, _ := c.run(nil, kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) {
			for i := range n {
				go task(i)
			}
			panic(errPlanted)
		}})
		if value != errPlanted {
			t.Fatalf("%s: Attention panicked with %v", c.name, value)
		}
	}
}

// goroutines is a parallel-for with a goroutine for each task.
func goroutines(n int, task func(int)) {
	var ended sync.WaitGroup
	for i := range n {
		ended.Go(func() { task(i) })
	}
	ended.Wait()
}

func sameBits(x, y []float32) bool {
	return slices.EqualFunc(x, y, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
