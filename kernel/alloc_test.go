package kernel_test

import (
	"testing"

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
	if n := warmAllocs(repeats(10), func() {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%s: %v allocations per call", name, n)
	}
}

// TestNoAllocationsOfOptions: neither an option nor its constructor allocates.
func TestNoAllocationsOfOptions(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := attnCase{b: 2, h: 4, hkv: 2, lq: 33, lk: 300, d: 16, dv: 12}
	q, k, v := c.inputs()
	out := c.tensor(c.b, c.h, c.lq, c.dv, 0)
	view := func(n int) kernel.Tensor { return c.tensor(c.b, c.h, c.lq, n, 0) }
	bias, lse, weights, scores := view(c.lk), view(1), view(c.lk), view(c.lk)
	slopes, sinks, numbers := make([]float32, c.h), make([]float32, c.h), make([]uint32, c.b)
	lengths, rows, starts := []int{300, 257}, []int{33, 20}, []int{267, 0}
	flags, keep := make([]bool, c.lq*c.lk), make([]bool, 3*2)
	queryIDs, keyIDs := make([]int32, c.b*c.lq), make([]int32, c.b*c.lk)
	shape := [4]int{1, 1, c.lq, c.lk}
	half := bias.as(kernel.Float16)
	hook := func(tile *kernel.ScoreTile) { tile.Scores[0]++ }
	var o kernel.Options // here, or build would let it escape
	eachTier(t, func(t *testing.T, tier *tier) {
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
					o = kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 1 + threads}}
					build(&o)
					return kernel.Attention(out, q, k, v, o)
				})
			}
		}
	})
}

// TestNoAllocationsOfPartials: nor does what sequences are split with.
func TestNoAllocationsOfPartials(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := attnCase{b: 1, h: 4, hkv: 2, lq: 9, lk: 600, d: 16, dv: 12}
	q, k, v := c.inputs()
	out := c.tensor(c.b, c.h, c.lq, c.dv, 0)
	parts := []kernel.Partials{*kernel.NewPartials(3, c.b, c.h, c.lq, c.dv)}
	state := kernel.NewPartials(1, c.b, c.h, c.lq, c.dv)
	sinks := make([]float32, c.h)
	eachTier(t, func(t *testing.T, tier *tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 2}}
		allocs(t, "AttentionPartials", func() error { return kernel.AttentionPartials(&parts[0], q, k, v, o) })
		allocs(t, "Accumulate", func() error { return kernel.AccumulatePartials(state, q, k, v, o) })
		allocs(t, "Merge", func() error {
			return kernel.MergePartials(out, parts, kernel.MergeOptions{Sinks: sinks, Exec: kernel.Exec{Tier: tier.name}})
		})
	})
}
