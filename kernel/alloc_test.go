//go:build moving

package kernel_test

import (
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// warmAllocs returns how often a call allocates once warm. Whether helpers are awake differs
// from call to call, and the first call that has one more makes memory for it: so it is the
// least of a few tries, which what allocates every time does not escape.
func warmAllocs(runs int, call func()) float64 {
	least := testing.AllocsPerRun(runs, call)
	for try := 0; try < 4 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, call))
	}
	return least
}

// allocs fails if a call allocates anything once warm.
func allocs(t *testing.T, name string, call func() error) {
	t.Helper()
	if n := warmAllocs(contracttest.Repeats(10), func() {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%s: %v allocations per call", name, n)
	}
}

// TestNoAllocationsOfOptions: neither an option nor its constructor allocates.
func TestNoAllocationsOfOptions(t *testing.T) {
	if testutil.Race {
		t.Skip("the race detector allocates")
	}
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 33, Lk: 300, D: 16, Dv: 12}
	q, k, v := c.Inputs()
	out := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	view := func(n int) kernel.Tensor { return c.Tensor(c.B, c.H, c.Lq, n, 0) }
	bias, lse, weights, scores := view(c.Lk), view(1), view(c.Lk), view(c.Lk)
	slopes, sinks, numbers := make([]float32, c.H), make([]float32, c.H), make([]uint32, c.B)
	lengths, rows, starts := []int{300, 257}, []int{33, 20}, []int{267, 0}
	flags, keep := make([]bool, c.Lq*c.Lk), make([]bool, 3*2)
	queryIDs, keyIDs := make([]int32, c.B*c.Lq), make([]int32, c.B*c.Lk)
	shape := [4]int{1, 1, c.Lq, c.Lk}
	half := contracttest.As(bias, kernel.Float16)
	hook := func(tile *kernel.ScoreTile) { tile.Scores[0]++ }
	var o kernel.Options // here, or build would let it escape
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		for name, build := range map[string]func(o *kernel.Options){
			"spans": func(o *kernel.Options) {
				o.Mask = kernel.Window(100, 3).And(kernel.KeyLengths(lengths)).And(kernel.QueryLengths(rows)).And(kernel.PrefixLM(starts)).And(kernel.Segments(queryIDs, keyIDs))
			},
			"bools":     func(o *kernel.Options) { o.Mask = kernel.Visible(flags, shape).And(kernel.Hidden(flags, shape)) },
			"sparse":    func(o *kernel.Options) { o.Mask = kernel.BlockSparse(keep, 16, 256) },
			"positions": func(o *kernel.Options) { o.QueryStart, o.KeyStart, o.Mask = starts, starts, kernel.Causal(0) },
			"softcap":   func(o *kernel.Options) { o.Softcap = 5 },
			"alibi":     func(o *kernel.Options) { o.ALiBi = slopes },
			"bias":      func(o *kernel.Options) { o.Bias = bias },
			"bias f16":  func(o *kernel.Options) { o.Bias = half },
			"sinks":     func(o *kernel.Options) { o.Sinks = sinks },
			"dropout":   func(o *kernel.Options) { o.Dropout = kernel.Dropout{Rate: 0.5, Sequences: numbers} },
			"hook":      func(o *kernel.Options) { o.Score = hook },
			"LSE":       func(o *kernel.Options) { o.LSE = lse },
			"weights":   func(o *kernel.Options) { o.Weights = weights },
			"scores":    func(o *kernel.Options) { o.Scores = scores },
		} {
			for threads := range 2 {
				allocs(t, name, func() error {
					o = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1 + threads}}
					build(&o)
					return kernel.Attention(out, q, k, v, o)
				})
			}
		}
	})
}

// TestNoAllocationsOfPartials: nor does what sequences are split with.
func TestNoAllocationsOfPartials(t *testing.T) {
	if testutil.Race {
		t.Skip("the race detector allocates")
	}
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 9, Lk: 600, D: 16, Dv: 12}
	q, k, v := c.Inputs()
	out := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	parts := []kernel.Partials{*kernel.NewPartials(3, c.B, c.H, c.Lq, c.Dv)}
	state := kernel.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
	sinks := make([]float32, c.H)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}}
		allocs(t, "AttentionPartials", func() error { return kernel.AttentionPartials(&parts[0], q, k, v, o) })
		allocs(t, "Accumulate", func() error { return kernel.AccumulatePartials(state, q, k, v, o) })
		allocs(t, "Merge", func() error {
			return kernel.MergePartials(out, parts, kernel.MergeOptions{Sinks: sinks, Exec: kernel.Exec{Tier: tier}})
		})
	})
}
