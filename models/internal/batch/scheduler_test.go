package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// Whatever comes together, with or without room for all, each request gets the answer that it gets
// alone, and all pages come back.
func TestAnswersDoNotDependOnLoad(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			page, pages := 1+r.IntN(8), 20+r.IntN(60)
			if seed%2 == 1 { // the last pages of texts are kept, too
				page, pages = worthwhile+1+r.IntN(24), 3+r.IntN(8)
			}
			s, f := newScheduler(t, pages, page, func(o *Options) {
				o.Running, o.Chunk, o.Step = 1+r.IntN(12), 1+r.IntN(20), 20+r.IntN(60)
			})
			stems := [][]int32{tokensOf(r, 3), tokensOf(r, 20), tokensOf(r, 40)}
			room := page * (pages - 1)
			var calls, left []*call
			for i := range 60 {
				prompt := append(slices.Clone(stems[r.IntN(3)]), tokensOf(r, r.IntN(10))...)
				prompt = prompt[:min(len(prompt), room)]
				ctx, cancel := context.WithCancel(t.Context())
				c := newCall(ctx, fmt.Sprint(r.IntN(3)), prompt, 1+r.IntN(1+room-len(prompt)))
				submit(t, s, c)
				for range r.IntN(5) {
					s.step(t.Context())
					checkTree(t, s.tree, pages-f.freePages())
				}
				if i%7 == 3 {
					cancel()
					left = append(left, c)
				} else {
					defer cancel()
					calls = append(calls, c)
				}
			}
			finish(t, s)
			check(t, calls...)
			for _, c := range left {
				if !c.ended || c.err != nil && !errors.Is(c.err, context.Canceled) {
					t.Errorf("a request that was given up: ended %v, %v", c.ended, c.err)
				}
			}
			stats := s.Stats()
			if stats.Free+stats.Kept > pages || stats.Running != 0 || stats.Waiting != 0 || s.tree.used != 0 {
				t.Errorf("in the end: %+v, want nothing of %d pages in use", stats, pages)
			}
			for s.tree.drop() {
			}
			if f.freePages() != pages {
				t.Errorf("%d of %d pages are free", f.freePages(), pages)
			}
		})
	}
}

// Requests join a running batch at the next step, and every answer gets a token in every step, also
// while a long prompt is read in chunks.
func TestRunningAnswersDoNotStall(t *testing.T) {
	s, f := newScheduler(t, 100, 4, nil)
	r := rand.New(rand.NewPCG(1, 1))
	a, b := newCall(t.Context(), "", []int32{1, 2}, 40), newCall(t.Context(), "", []int32{3, 4, 5}, 40)
	submit(t, s, a)
	s.step(t.Context())
	submit(t, s, b)
	s.step(t.Context())
	long := newCall(t.Context(), "", tokensOf(r, 100), 2)
	submit(t, s, long)
	for !long.ended {
		had := len(a.got) + len(b.got)
		s.step(t.Context())
		running := 0
		for _, c := range []*call{a, b} {
			if !c.ended {
				running++
			}
		}
		if n := len(a.got) + len(b.got) - had; n < running {
			t.Fatalf("in step %d answers got %d tokens, want %d", len(f.steps), n, running)
		}
		for _, step := range f.steps[len(f.steps)-1] {
			if len(step.Tokens) > s.o.Chunk {
				t.Fatalf("a chunk has %d tokens, want at most %d", len(step.Tokens), s.o.Chunk)
			}
		}
	}
	if len(f.steps[1]) != 2 {
		t.Errorf("the second step has %d texts, want 2", len(f.steps[1]))
	}
	finish(t, s)
	check(t, a, b, long)
}

// A short prompt is read beside a long one, not after it.
func TestShortPromptsDoNotWaitForLongOnes(t *testing.T) {
	s, _ := newScheduler(t, 200, 4, nil)
	r := rand.New(rand.NewPCG(1, 2))
	long, short := newCall(t.Context(), "", tokensOf(r, 500), 1), newCall(t.Context(), "", tokensOf(r, 20), 1)
	submit(t, s, long, short)
	s.step(t.Context())
	if !short.ended || long.ended {
		t.Errorf("after a step the short one has ended: %v, the long one: %v", short.ended, long.ended)
	}
	finish(t, s)
	check(t, long, short)
}

// What several requests have in common is computed once: at the same time, and later.
func TestSharedPrefixesAreComputedOnce(t *testing.T) {
	s, _ := newScheduler(t, 100, 4, nil)
	r := rand.New(rand.NewPCG(1, 3))
	stem := tokensOf(r, 101)
	var calls []*call
	for i := range 6 {
		calls = append(calls, newCall(t.Context(), "", append(slices.Clone(stem), int32(i+1)), 5))
	}
	submit(t, s, calls...)
	finish(t, s)
	check(t, calls...)
	if got, want := s.Stats().Read, uint64(101+6); got != want {
		t.Errorf("%d tokens of prompts were computed, want %d", got, want)
	}
	// What they had in common stays, also on the page where they differ.
	again := newCall(t.Context(), "", append(slices.Clone(stem), 60), 5)
	submit(t, s, again)
	finish(t, s)
	check(t, again)
	if got, want := s.Stats().Read, uint64(101+6+1); got != want {
		t.Errorf("%d tokens of prompts were computed, want %d", got, want)
	}
	// A conversation goes on: its answer is part of the next prompt.
	next := newCall(t.Context(), "", slices.Concat(again.Prompt, again.got, []int32{7}), 5)
	submit(t, s, next)
	before := s.Stats().Shared
	finish(t, s)
	check(t, next)
	if got := s.Stats().Shared - before; got != 104 {
		t.Errorf("%d tokens of a conversation were shared, want the full pages, 104", got)
	}
}

// If the request that others wait for goes away, they do not.
func TestPromiseOfARequestThatGoes(t *testing.T) {
	s, _ := newScheduler(t, 100, 4, nil)
	r := rand.New(rand.NewPCG(1, 4))
	stem := tokensOf(r, 200)
	ctx, cancel := context.WithCancel(t.Context())
	a, b := newCall(ctx, "", stem, 5), newCall(t.Context(), "", append(slices.Clone(stem), 1), 5)
	submit(t, s, a, b)
	s.step(t.Context())
	if len(s.running) != 1 {
		t.Fatalf("%d requests run, want the first one", len(s.running))
	}
	cancel()
	finish(t, s)
	check(t, b)
}

// The pages of a request whose client is gone are free after one step.
func TestCancelledPagesAreFree(t *testing.T) {
	s, f := newScheduler(t, 100, 4, nil)
	r := rand.New(rand.NewPCG(1, 5))
	ctx, cancel := context.WithCancel(t.Context())
	gone, stays, waits := newCall(ctx, "", tokensOf(r, 60), 100), newCall(t.Context(), "", tokensOf(r, 8), 1), newCall(ctx, "", tokensOf(r, 360), 20)
	submit(t, s, gone, waits)
	for range 3 {
		s.step(t.Context())
	}
	if f.freePages() > 85 {
		t.Fatalf("%d of 100 pages are free", f.freePages())
	}
	cancel()
	submit(t, s, stays)
	s.step(t.Context())
	if stats := s.Stats(); stats.Free+stats.Kept != 100 || !gone.ended || !errors.Is(gone.err, context.Canceled) || !errors.Is(waits.err, context.Canceled) {
		t.Errorf("after a step: %+v, %v, %v", stats, gone.err, waits.err)
	}
	check(t, stays)
}

// If pages run out, the request that began last is computed again, and the first one goes on.
func TestPreemption(t *testing.T) {
	s, _ := newScheduler(t, 12, 4, nil)
	first, last := newCall(t.Context(), "", []int32{1, 1, 3}, 40), newCall(t.Context(), "", []int32{4, 5, 9}, 40)
	if len(first.alone()) < 25 || len(last.alone()) < 25 {
		t.Fatalf("the answers have %d and %d tokens, which is too few for the test", len(first.alone()), len(last.alone()))
	}
	submit(t, s, first, last)
	for !first.ended {
		if !s.step(t.Context()) {
			t.Fatal("nothing runs")
		}
	}
	if s.Stats().Preempted == 0 || last.ended {
		t.Errorf("%d requests were stopped, and the last one has ended: %v", s.Stats().Preempted, last.ended)
	}
	finish(t, s)
	check(t, first, last)
}

// Keys take turns, by the tokens that they had, however many requests a key has.
func TestKeysShareFairly(t *testing.T) {
	s, _ := newScheduler(t, 100, 4, func(o *Options) { o.Running = 1 })
	var order []string
	add := func(key string, n int) {
		c := newCall(t.Context(), key, []int32{int32(len(order)), 9, int32(n)}, 3)
		next := c.Next
		first := true
		c.Next = func(l []float32, tokens []int32) (int32, bool, error) {
			if first {
				order, first = append(order, key), false
			}
			return next(l, tokens)
		}
		submit(t, s, c)
	}
	for i := range 4 {
		add("many", i)
	}
	add("one", 1)
	add("two", 1)
	finish(t, s)
	if want := []string{"many", "one", "two", "many", "many", "many"}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
}

// A key that begins while nobody works has not saved up what others had before.
func TestKeysShareAfterPause(t *testing.T) {
	s, _ := newScheduler(t, 100, 4, func(o *Options) { o.Running = 1 })
	submit(t, s, newCall(t.Context(), "old", tokensOf(rand.New(rand.NewPCG(1, 5)), 300), 2))
	finish(t, s)
	var order []string
	add := func(key string, n int) {
		c := newCall(t.Context(), key, []int32{int32(n), 9, 8}, 2)
		done := c.Done
		c.Done = func(err error) { order = append(order, key); done(err) }
		submit(t, s, c)
	}
	for i := range 4 {
		add("new", i)
	}
	s.step(t.Context())
	for i := range 4 {
		add("old", 10+i)
	}
	finish(t, s)
	if want := []string{"new", "old", "new", "old", "new", "old", "new", "old"}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
}

func TestSubmitErrors(t *testing.T) {
	s, _ := newScheduler(t, 10, 4, func(o *Options) { o.Waiting, o.PerKey = 3, 2 })
	for i, c := range []struct {
		key    string
		prompt []int32
		n      int
		want   error
	}{
		{"a", nil, 1, ErrEmpty},
		{"a", make([]int32, 36), 2, ErrLong},
		{"a", []int32{1}, 0, ErrLong},
		{"a", make([]int32, 36), 1, nil},
		{"a", []int32{1}, 1, nil},
		{"a", []int32{1}, 1, ErrKeyFull},
		{"b", []int32{1}, 1, nil},
		{"c", []int32{1}, 1, ErrFull},
	} {
		r := newCall(t.Context(), c.key, c.prompt, c.n)
		if err := s.Submit(&r.Task); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx)
	if err := s.Submit(&newCall(t.Context(), "", []int32{1}, 1).Task); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v, want %v", err, ErrClosed)
	}
	if stats := s.Stats(); stats.Ended != 3 || stats.Waiting != 0 {
		t.Errorf("after the end: %+v, want three requests to have ended", stats)
	}
}

// A panic of a step ends its requests, a panic of a choice its request, and others go on.
func TestPanics(t *testing.T) {
	s, f := newScheduler(t, 20, 4, nil)
	s.o.Open = func() (Session, error) { f = newFake(t, 20, 4); return f, nil }
	f.fail = func(call int) error {
		if call == 2 {
			panic("lost")
		}
		return nil
	}
	a := newCall(t.Context(), "", []int32{1, 2, 3}, 5)
	submit(t, s, a)
	s.step(t.Context())
	s.step(t.Context())
	if p := new(kernel.TaskPanic); !errors.As(a.err, &p) || p.Value != "lost" {
		t.Fatalf("the request ends with %v", a.err)
	}
	b, c := newCall(t.Context(), "", []int32{1, 2, 3}, 5), newCall(t.Context(), "", []int32{6, 2, 3}, 5)
	b.Next = func([]float32, []int32) (int32, bool, error) { panic("mine") }
	submit(t, s, b, c)
	finish(t, s)
	check(t, c)
	if p := new(kernel.TaskPanic); !errors.As(b.err, &p) || p.Value != "mine" {
		t.Errorf("the request ends with %v", b.err)
	}
	if stats := s.Stats(); stats.Free+stats.Kept != 20 || stats.Panics != 1 {
		t.Errorf("in the end: %+v", stats)
	}
}

// If there is no new session after a panic, what comes later is refused.
func TestPanicWithoutNewSession(t *testing.T) {
	s, f := newScheduler(t, 20, 4, nil)
	if err := s.Ready(); err != nil {
		t.Errorf("at first: %v", err)
	}
	lost := errors.New("no memory")
	s.o.Open = func() (Session, error) { return (*fake)(nil), lost }
	f.fail = func(int) error { panic("lost") }
	submit(t, s, newCall(t.Context(), "", []int32{1, 2, 3}, 5))
	finish(t, s)
	if err := s.Submit(&newCall(t.Context(), "", []int32{1, 2, 3}, 5).Task); !errors.Is(err, ErrClosed) {
		t.Errorf("a request after it: %v, want %v", err, ErrClosed)
	}
	if err := s.Submit(&newCall(t.Context(), "", nil, 5).Task); !errors.Is(err, ErrClosed) {
		t.Errorf("a bad request after it: %v, want %v", err, ErrClosed)
	}
	if err := s.Ready(); !errors.Is(err, ErrClosed) {
		t.Errorf("after it: %v, want %v", err, ErrClosed)
	}
}

// An error of a step ends its requests with it.
func TestErrors(t *testing.T) {
	s, f := newScheduler(t, 20, 4, nil)
	bad := errors.New("bad")
	f.fail = func(call int) error {
		if call == 2 {
			return bad
		}
		return nil
	}
	a := newCall(t.Context(), "", []int32{1, 2, 3}, 5)
	submit(t, s, a)
	finish(t, s)
	if !errors.Is(a.err, bad) {
		t.Errorf("the request ends with %v, want %v", a.err, bad)
	}
	if stats := s.Stats(); stats.Free != 20 || stats.Ended != 1 {
		t.Errorf("in the end: %+v", stats)
	}
}

// Run computes what comes while it runs, and ends what has not ended.
func TestRun(t *testing.T) {
	s, _ := newScheduler(t, 100, 4, nil)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(over)
	}()
	for i := range 20 {
		c := newCall(t.Context(), "", []int32{int32(i), 7}, 20)
		ended := make(chan error, 1)
		done := c.Done
		c.Done = func(err error) { done(err); ended <- err }
		submit(t, s, c)
		<-ended
		check(t, c)
	}
	cancel()
	<-over
}

// After each step that makes tokens others may run before the next one: a token never waits for a
// second step.
func TestTokensLeaveBetweenSteps(t *testing.T) {
	waiting, steps, yields := 0, 0, 0
	s, f := newScheduler(t, 100, 4, nil)
	f.fail = func(int) error {
		if steps++; waiting > 0 {
			t.Errorf("step %d begins while %d tokens wait", steps, waiting)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.yield = func() { yields++; waiting = 0 }
	open := 3
	for i := range open {
		c := newCall(t.Context(), "", []int32{int32(i), 7, 9}, 20)
		next, done := c.Next, c.Done
		c.Next = func(logits []float32, tokens []int32) (int32, bool, error) {
			waiting++
			return next(logits, tokens)
		}
		c.Done = func(err error) {
			if done(err); open == 1 {
				cancel()
			}
			open--
		}
		submit(t, s, c)
	}
	s.Run(ctx)
	if open != 0 || yields != steps || steps < 20 {
		t.Errorf("%d requests are open after %d steps with %d yields", open, steps, yields)
	}
}

// Goroutines submit requests, give some up and read the numbers while Run computes, with too few
// pages for all.
func TestSubmitBesideRun(t *testing.T) {
	s, _ := newScheduler(t, 20, 4, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var run, clients sync.WaitGroup
	run.Go(func() { s.Run(ctx) })
	stays, goes := make([]*call, 8), make([]*call, 8)
	for k := range 4 {
		clients.Go(func() {
			var over sync.WaitGroup
			put := func(ctx context.Context, i int) *call {
				c := newCall(ctx, fmt.Sprint(k), []int32{1, 2, 3, int32(i)}, 30)
				done := c.Done
				c.Done = func(err error) { done(err); over.Done() }
				over.Add(1)
				if err := s.Submit(&c.Task); err != nil {
					t.Error(err)
					over.Done()
				}
				return c
			}
			for i := 2 * k; i < 2*k+2; i++ {
				ctx, leave := context.WithCancel(t.Context())
				stays[i], goes[i] = put(t.Context(), i), put(ctx, i)
				leave()
			}
			over.Wait()
		})
	}
	idle := make(chan struct{})
	go func() {
		clients.Wait()
		close(idle)
	}()
	for open := true; open; {
		if stats := s.Stats(); stats.Waiting > 16 || stats.Running > s.o.Running || s.Ready() != nil {
			t.Errorf("%+v, ready: %v", stats, s.Ready())
		}
		select {
		case <-idle:
			open = false
		default:
		}
	}
	check(t, stays...)
	for i, c := range goes {
		if !c.ended || c.err != nil && !errors.Is(c.err, context.Canceled) {
			t.Errorf("request %d, which was given up: ended %v, %v", i, c.ended, c.err)
		}
	}
	cancel()
	run.Wait()
	if stats := s.Stats(); stats.Done+stats.Ended != 16 || stats.Running+stats.Waiting != 0 || stats.Free+stats.Kept != 20 {
		t.Errorf("in the end: %+v", stats)
	}
}

// A request that is taken back, for want of pages, keeps its key's place: the key has not paused.
func TestKeysKeepTheirTurn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	s, _ := newScheduler(t, 12, 4, nil)
	a, b := newCall(t.Context(), "busy", tokensOf(r, 20), 20), newCall(t.Context(), "other", tokensOf(r, 30), 2)
	submit(t, s, a)
	s.step(t.Context())
	submit(t, s, b)
	line := s.waiting.line("other")
	line.work = 3 // which it had before, as had the busy one
	for range 3 {
		s.step(t.Context())
		if b.ended || len(b.got) > 0 || line.work != 3 {
			t.Fatalf("the request that does not fit has %d tokens, and its key the work %d, want 0 and 3", len(b.got), line.work)
		}
	}
	finish(t, s)
	check(t, a, b)
}

// TestRead: a request that wants the logits of its prompt gets those after each token, in any
// chunks, beside others that begin alike, and after preemption; never more rows in a step than
// memory is meant for.
func TestRead(t *testing.T) {
	s, f := newScheduler(t, 60, 4, func(o *Options) { o.Step, o.Chunk = 100, 7 })
	r := rand.New(rand.NewPCG(5, 3))
	stem := tokensOf(r, 90)
	calls := []*call{newCall(t.Context(), "", append(slices.Clone(stem), 1), 30)}
	submit(t, s, calls[0])
	finish(t, s)
	got := make([][]int32, 3)
	for i := range got {
		c := newCall(t.Context(), "", append(slices.Clone(stem), 2, int32(i)), 60)
		got[i] = make([]int32, len(c.Prompt)-1)
		c.Read = func(at int, logits []float32) error {
			if len(c.got) > 0 || len(logits) != tinyllama.Vocab {
				t.Errorf("%d logits after token %d, when the answer has %d", len(logits), at, len(c.got))
			}
			got[i][at] = int32(logits[0])
			return nil
		}
		calls = append(calls, c)
	}
	submit(t, s, calls[1:]...)
	finish(t, s)
	check(t, calls...)
	if s.Stats().Preempted == 0 {
		t.Error("nothing was preempted, so that the test shows less than it says")
	}
	for i, c := range calls[1:] {
		for at := range got[i] {
			if want := hashOf(c.Prompt[:at+1]); got[i][at] != want {
				t.Fatalf("request %d: after token %d: %d, want %d", i, at, got[i][at], want)
			}
		}
	}
	for _, steps := range f.steps {
		rows := 0
		for _, step := range steps {
			if step.Logits == decoder.LogitsAll {
				rows += len(step.Tokens)
			}
		}
		if rows > mostRows {
			t.Errorf("a step has %d rows of logits, want at most %d", rows, mostRows)
		}
	}
	bad := errors.New("bad")
	fails, panics := newCall(t.Context(), "", []int32{1, 2, 3}, 5), newCall(t.Context(), "", []int32{1, 2, 3}, 5)
	fails.Read = func(int, []float32) error { return bad }
	panics.Read = func(int, []float32) error { panic("mine") }
	stays := newCall(t.Context(), "", []int32{1, 2, 3}, 5)
	submit(t, s, fails, panics, stays)
	finish(t, s)
	check(t, stays)
	if p := new(kernel.TaskPanic); !errors.Is(fails.err, bad) || !errors.As(panics.err, &p) || p.Value != "mine" {
		t.Errorf("errors of Read: %v, %v", fails.err, panics.err)
	}
}
