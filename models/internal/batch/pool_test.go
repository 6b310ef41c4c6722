package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// newPool returns a pool that doubles numbers, and notes its batches. A negative number panics, 13
// is an error.
func newPool(batches *[][]int) *Pool[int, int] {
	return NewPool(PoolOptions[int, int]{
		Most: 10, Waiting: 4, PerKey: 3, Cost: func(n int) int { return max(n, -n) },
		Work: func(_ context.Context, items []int) (outs []int, err error) {
			*batches = append(*batches, slices.Clone(items))
			for _, n := range items {
				if n < 0 {
					panic("negative")
				}
				if n == 13 {
					err = errors.New("unlucky")
				}
				outs = append(outs, 2*n)
			}
			return outs, err
		},
	})
}

// put adds a job without waiting for it.
func put(t *testing.T, p *Pool[int, int], key string, items ...int) *job[int, int] {
	t.Helper()
	j := &job[int, int]{ctx: t.Context(), items: items, outs: make([]int, len(items)), left: len(items), done: make(chan struct{})}
	if err := p.submit(key, j, p.o.Waiting, p.o.PerKey); err != nil {
		t.Fatal(err)
	}
	return j
}

// Batches take items of all keys and calls in turn, and are not larger than they may be.
func TestPool(t *testing.T) {
	var batches [][]int
	p := newPool(&batches)
	a, b, c := put(t, p, "x", 3, 3, 3, 3, 3), put(t, p, "x", 4), put(t, p, "y", 2, 11)
	for p.step(t.Context()) {
	}
	if want := [][]int{{3, 2, 4}, {11}, {3, 3, 3}, {3}}; fmt.Sprint(batches) != fmt.Sprint(want) {
		t.Errorf("batches %v, want %v", batches, want)
	}
	for i, j := range []*job[int, int]{a, b, c} {
		<-j.done
		for k, n := range j.items {
			if j.err != nil || j.outs[k] != 2*n {
				t.Errorf("call %d: %v, %v", i, j.outs, j.err)
			}
		}
	}
}

// Errors and panics end a batch, and the next one is as before.
func TestPoolErrors(t *testing.T) {
	var batches [][]int
	p := newPool(&batches)
	bad, lost := put(t, p, "", 1, 13, 1), put(t, p, "", -12)
	for p.step(t.Context()) {
	}
	if panicked := new(kernel.TaskPanic); bad.err == nil || !errors.As(lost.err, &panicked) {
		t.Errorf("errors %v and %v", bad.err, lost.err)
	}
	good := put(t, p, "", 5)
	p.step(t.Context())
	if good.err != nil || good.outs[0] != 10 {
		t.Errorf("after it: %v, %v", good.outs, good.err)
	}
	if stats := p.Stats(); stats.Panics != 1 || stats.Waiting != 0 {
		t.Errorf("%+v", stats)
	}
}

// Calls beyond a limit, given up, and after the end are errors.
func TestPoolLimits(t *testing.T) {
	var batches [][]int
	p := newPool(&batches)
	for range 3 {
		put(t, p, "a", 1)
	}
	if _, err := p.Do(t.Context(), "a", []int{1}); !errors.Is(err, ErrKeyFull) {
		t.Errorf("%v, want %v", err, ErrKeyFull)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Do(ctx, "b", []int{7}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if _, err := p.Do(t.Context(), "c", []int{1}); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want %v", err, ErrFull)
	}
	p.step(t.Context())
	if fmt.Sprint(batches) != "[[1 1 1]]" {
		t.Errorf("batches %v, want none for a call that was given up", batches)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		p.Run(ctx)
		close(over)
	}()
	if outs, err := p.Do(t.Context(), "", []int{4, 5}); err != nil || !slices.Equal(outs, []int{8, 10}) {
		t.Errorf("%v, %v", outs, err)
	}
	stop()
	<-over
	if _, err := p.Do(t.Context(), "", []int{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
