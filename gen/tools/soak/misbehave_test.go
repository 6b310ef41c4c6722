package soak

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/attn-go/attn/kernel"
)

var errPlanted = errors.New("planted")

// misbehave makes a call of which a function of the caller's panics, ends its goroutine or
// returns early. It waits until the call is over, and checks how it ended.
func misbehave(r *rand.Rand, t *tally) {
	s := randomShape(r)
	out, q, k, v, _ := s.tensors(r)
	o := s.options(r, randomExec(r))
	tiles, at := new(atomic.Int64), int64(between(r, 1, 20))
	ends := func(end func()) func(*kernel.ScoreTile) {
		return func(*kernel.ScoreTile) {
			if tiles.Add(1) == at {
				end()
			}
		}
	}
	var name string
	switch r.IntN(4) {
	case 0:
		name, o.Score = "a hook panics", ends(func() { panic(errPlanted) })
	case 1:
		name, o.Score = "a hook ends its goroutine", ends(runtime.Goexit)
	case 2:
		name, o.ParallelFor = "a parallel-for panics", func(n int, task func(i int)) {
			task(0)
			panic(errPlanted)
		}
	case 3:
		name, o.ParallelFor = "a parallel-for returns early", func(n int, task func(i int)) {
			for i := range n {
				go task(i)
			}
		}
	}
	value := callAndRecover(func() error { return kernel.Attention(out, q, k, v, o) })
	if err, ok := value.(error); value != nil && !(ok && errors.Is(err, errPlanted)) {
		t.find("%s: the call ended with %v", name, value)
	}
	t.count(name)
}

// callAndRecover calls f on a goroutine of its own and returns its error, or the value with
// which it panicked. It is nil also if f has ended the goroutine.
func callAndRecover(f func() error) any {
	ended := make(chan any, 1)
	go func() {
		var result any
		defer func() {
			if p := recover(); p != nil {
				result = p
			}
			ended <- result
		}()
		if err := f(); err != nil {
			result = err
		}
	}()
	return <-ended
}
