package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// checkNoAllocs fails the test if a call allocates anything in the steady state. The number
// of threads should be forced, so that all of them are tested: otherwise it depends on the
// workers that happen to be awake.
func checkNoAllocs(t *testing.T, what string, call func() error) {
	t.Helper()
	testutil.CheckNoMallocs(t, what, 2, func() {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNoAllocations: a warm call allocates nothing, on any tier, alone, on
// threads or on the program's own.
func TestNoAllocations(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 80, Lk: 330, D: 16, Dv: 16}
	q, k, v := c.Inputs()
	out := c.Tensor(1, c.H, c.Lq, c.Dv, 0)
	serial := func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	}
	lengths := []int{320}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for name, o := range map[string]kernel.Options{
			"one thread":       {Exec: kernel.Exec{Threads: 1}},
			"two threads":      {Exec: kernel.Exec{Threads: 2}},
			"own parallel-for": {Exec: kernel.Exec{Threads: 2, ParallelFor: serial}},
			"lengths":          {Exec: kernel.Exec{Threads: 1}, Scoring: kernel.Scoring{Mask: kernel.KeyLengths(lengths)}},
		} {
			o.Tier = tier
			mask := o.Mask
			checkNoAllocs(t, name, func() error {
				o.Mask = kernel.Causal(300).And(mask)
				return kernel.Attention(out, q, k, v, &o)
			})
		}
	})
}

// TestNoAllocationsOfOptions: neither an option nor its constructor allocates.
func TestNoAllocationsOfOptions(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 33, Lk: 300, D: 16, Dv: 12}
	q, k, v := c.Inputs()
	out := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	view := func(n int) kernel.Tensor { return c.Tensor(c.B, c.H, c.Lq, n, 0) }
	bias, lse, weights, scores := view(c.Lk), view(1), view(c.Lk), view(c.Lk)
	slopes, sinks, numbers := make([]float32, c.H), make([]float32, c.H), make([]uint32, c.B)
	lengths, rows, starts := []int{300, 257}, []int{33, 20}, []int{267, 0}
	flags, keep := make([]bool, c.Lq*c.Lk), make([]bool, 3*2)
	queryIDs, keyIDs := make([]int32, c.B*c.Lq), make([]int32, c.B*c.Lk)
	shape, perQuery := [4]int{1, 1, c.Lq, c.Lk}, make([]int32, 1+c.Lq*c.Lk)
	perQuery[0] = -1
	listed := [4]int{1, 1, c.Lq, 40} // short lists, as each query of a list is a call
	hidden := flags[:c.Lq*40]
	half := contracttest.As(bias, kernel.Float16)
	score := func(tile *kernel.ScoreTile) { tile.Scores[0]++ }
	var o kernel.Options // here, or build would let it escape
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for name, build := range map[string]func(o *kernel.Options){
			"spans": func(o *kernel.Options) {
				o.Mask = kernel.Window(100, 3).And(kernel.KeyLengths(lengths)).And(kernel.QueryLengths(rows)).And(kernel.PrefixLM(starts)).And(kernel.Segments(queryIDs, keyIDs))
			},
			"unions": func(o *kernel.Options) {
				o.Mask = kernel.Window(100, 3).Or(kernel.KeyRange(0, 4)).Or(kernel.QueryRange(9, 12)).And(kernel.Chunked(200))
			},
			"bools": func(o *kernel.Options) { o.Mask = kernel.Visible(flags, shape).And(kernel.Hidden(flags, shape)) },
			"last": func(o *kernel.Options) {
				o.Mask = kernel.VisibleLast(flags, [4]int{1, 1, c.Lq, c.Lq}).And(kernel.KeyLengths(lengths))
			},
			"sparse":    func(o *kernel.Options) { o.Mask = kernel.BlockSparse(keep, 16, 256) },
			"positions": func(o *kernel.Options) { o.QueryStart, o.KeyStart, o.Mask = starts, starts, kernel.Causal(0) },
			"softcap":   func(o *kernel.Options) { o.Softcap = 5 },
			"alibi":     func(o *kernel.Options) { o.ALiBi = slopes },
			"bias":      func(o *kernel.Options) { o.Bias = bias },
			"bias f16":  func(o *kernel.Options) { o.Bias = half },
			"sinks":     func(o *kernel.Options) { o.Sinks = sinks },
			"dropout":   func(o *kernel.Options) { o.Dropout = kernel.Dropout{Rate: 0.5, Sequences: numbers} },
			"score":     func(o *kernel.Options) { o.Score = score },
			"lists": func(o *kernel.Options) {
				o.KeyRows = kernel.KeyRows{Rows: keyIDs[:c.Lk], Shape: [4]int{1, 1, 1, c.Lk}}
			},
			"tree": func(o *kernel.Options) {
				o.Parents, o.QueryStart, o.Mask = perQuery[:c.Lq], starts, kernel.Window(100, 0)
			},
			"lists of queries": func(o *kernel.Options) {
				o.KeyRows = kernel.KeyRows{Rows: perQuery[1 : 1+len(hidden)], Shape: listed}
				o.Mask, o.ALiBi, o.Score = kernel.Causal(3).And(kernel.Hidden(hidden, listed)), slopes, score
				o.Dropout = kernel.Dropout{Rate: 0.5, Sequences: numbers}
			},
			"LSE":     func(o *kernel.Options) { o.LSE = lse },
			"weights": func(o *kernel.Options) { o.Weights = weights },
			"scores":  func(o *kernel.Options) { o.Scores = scores },
		} {
			for threads := range 2 {
				if testing.Short() && threads == 0 {
					continue // two allocate what one does, and what they share
				}
				checkNoAllocs(t, fmt.Sprintf("%s, threads=%d", name, 1+threads), func() error {
					o = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1 + threads}}
					build(&o)
					return kernel.Attention(out, q, k, v, &o)
				})
			}
		}
	})
}

// TestNoAllocationsOfTiles: nor do products in bfloat16 and of integers, by kernels for many or for
// few rows or by a unit for tiles.
func TestNoAllocationsOfTiles(t *testing.T) {
	contracttest.EmulateHalves(t)
	contracttest.ForceThreads(t)
	for _, c := range []contracttest.Case{
		{B: 2, H: 4, HKV: 2, Lq: 33, Lk: 300, D: 16, Dv: 12},
		{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 300, D: 16, Dv: 12},
		{B: 2, H: 4, HKV: 2, Lq: 1, Lk: 5, D: 32, Dv: 32},
	} {
		t.Run(fmt.Sprintf("%d×%d", c.Lq, c.Lk), func(t *testing.T) { checkNoAllocsOfTiles(t, c) })
	}
}

func checkNoAllocsOfTiles(t *testing.T, c contracttest.Case) {
	q, k, v := c.Inputs()
	out := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	_, k16, v16 := contracttest.Case{Types: contracttest.Uniform(kernel.BFloat16)}.Typed(q, k, v)
	call := func(t *testing.T, tier kernel.Tier, k, v kernel.Tensor, s kernel.Scoring) {
		s.Mask = kernel.Window(100, 3)
		for threads := 1; threads <= 2; threads++ {
			checkNoAllocs(t, fmt.Sprintf("threads=%d", threads), func() error {
				o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: s}
				return kernel.Attention(out, q, k, v, &o)
			})
		}
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		call(t, tier, k, v, kernel.Scoring{BFloat16: true})
		call(t, tier, k16, v16, kernel.Scoring{BFloat16: true})
		call(t, tier, int8Rows(k), int8Rows(v), kernel.Scoring{DynamicInt12: true})
	})
}

// TestNoAllocationsOfPartials: nor does what sequences are split with.
func TestNoAllocationsOfPartials(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 9, Lk: 600, D: 16, Dv: 12}
	q, k, v := c.Inputs()
	out := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	parts := []kernel.Partials{*contracttest.NewPartials(3, c.B, c.H, c.Lq, c.Dv)}
	state := contracttest.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
	sinks := make([]float32, c.H)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}}
		checkNoAllocs(t, "AttentionPartials", func() error { return kernel.AttentionPartials(&parts[0], q, k, v, contracttest.PartialOptions(o)) })
		checkNoAllocs(t, "AccumulatePartials", func() error { return kernel.AccumulatePartials(state, q, k, v, contracttest.PartialOptions(o)) })
		checkNoAllocs(t, "MergeInto", func() error { return kernel.MergeInto(state, parts, kernel.Exec{Tier: tier, Threads: 2}) })
		for threads := 1; threads <= 2; threads++ {
			checkNoAllocs(t, fmt.Sprintf("MergePartials, threads=%d", threads), func() error {
				return kernel.MergePartials(out, parts, kernel.MergeOptions{Sinks: sinks, Exec: kernel.Exec{Tier: tier, Threads: threads}})
			})
		}
	})
}

// TestNoAllocationsOfTypes: a warm call allocates nothing, nor do the constructors
// but for scales that are not kept.
func TestNoAllocationsOfTypes(t *testing.T) {
	contracttest.ForceThreads(t)
	const h, l, d = 2, 300, 32
	halves, wide, ints := make([]kernel.F16, h*l*d), make([]kernel.BF16, h*l*d), make([]int8, h*l*d)
	out := make([]kernel.F16, h*l*d)
	scales := kernel.BHLD(make([]float32, h*l), 1, h, l, 1)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}}
		checkNoAllocs(t, "types", func() error {
			return kernel.Attention(kernel.BLHD(out, 1, l, h, d), kernel.BHLD(halves, 1, h, l, d), kernel.BHLD(ints, 1, h, l, d).Scaled(&scales), kernel.BHLD(wide, 1, h, l, d), &o)
		})
	})
}

// TestNoAllocationsOfAdditive: nor does Additive.
func TestNoAllocationsOfAdditive(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 3, Lk: 300, D: 8, Dv: 4}
	q, k, v := c.Inputs()
	out, weights := c.Out(), make([]float32, 8)
	for name, opts := range map[string]kernel.Options{
		"one thread":  {Exec: kernel.Exec{Threads: 1}},
		"two threads": {Exec: kernel.Exec{Threads: 2}},
		"options":     {Scoring: kernel.Scoring{Mask: kernel.Causal(0), Softcap: 2}},
	} {
		checkNoAllocs(t, name, func() error { return kernel.Additive(out, q, k, v, weights, &opts) })
	}
}

// TestNoAllocationsOfSplitKV: neither do ragged calls nor split ones.
func TestNoAllocationsOfSplitKV(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["decode"]
	q, k, v := c.Inputs()
	starts := []int{0, 1, 1, 1}
	keys := []int{0, 1500, 1600, 2100}
	memory := make([]float32, c.H*c.Dv)
	checkNoAllocs(t, "ragged and split", func() error {
		out := kernel.Ragged(memory, starts, c.H, c.Dv)
		return kernel.Attention(out, kernel.Ragged(contracttest.Floats(q), starts, c.H, c.D), kernel.Ragged(contracttest.Floats(k), keys, 1, c.D),
			kernel.Ragged(contracttest.Floats(v), keys, 1, c.Dv), &kernel.Options{Exec: kernel.Exec{Threads: 3}})
	})
}
