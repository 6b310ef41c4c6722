package bert

import (
	"errors"
	"runtime"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestPlan expects batches that occupy all threads evenly.
func TestPlan(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, c := range []struct {
		opts                   Options
		total, tokens, workers int
	}{
		{Options{}, 0, 512, 1},
		{Options{}, 16, 512, 1},
		{Options{}, 512, 128, 4},
		{Options{}, 4096, 512, 8},
		{Options{}, 5000, 313, 8}, // two batches for each of 8 goroutines
		{Options{BatchTokens: 100}, 4096, 86, 8},
		{Options{Exec: kernel.Exec{Threads: 1}}, 4096, 512, 1},
		{Options{Exec: kernel.Exec{Threads: 3}}, 4096, 456, 3},
		{Options{Exec: kernel.Exec{Threads: 1 << 40}}, 1 << 20, 512, 8},
		{Options{Exec: kernel.Exec{ParallelFor: func(int, func(int)) {}}}, 4096, 512, 1},
	} {
		if tokens, workers := c.opts.plan(c.total); tokens != c.tokens || workers != c.workers {
			t.Errorf("%+v, %d tokens: got batches of %d for %d goroutines, want %d for %d", c.opts, c.total, tokens, workers, c.tokens, c.workers)
		}
	}
}

// TestSpread expects the bits of one goroutine and the first error of several.
func TestSpread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	e := loadSmall(t, newSmall(""), "F32")
	ids := make([][]int32, 500)
	for i := range ids {
		ids[i] = []int32{2, 4, 5, 6, 7, 8, 3}[:1+i%7]
	}
	want, err := e.With(Options{Exec: kernel.Exec{Threads: 1}}).EmbedTokens(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.EmbedTokens(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !equalBits(got[i], want[i]) {
			t.Errorf("text %d: other bits", i)
		}
	}
	var bad *kernel.TierError
	if got, err := e.With(Options{Exec: kernel.Exec{Tier: "none"}}).EmbedTokens(t.Context(), ids); got != nil || !errors.As(err, &bad) {
		t.Errorf("tier none: got %v, want a TierError", err)
	}
}
