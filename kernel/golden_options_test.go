package kernel_test

import (
	"testing"

	"github.com/attn-go/attn/kernel"
)

// goldenOptionCase is the call that every golden of an option is about.
func goldenOptionCase() attnCase {
	return attnCase{b: 2, h: 4, hkv: 2, lq: 19, lk: 270, d: 16, dv: 12, seed: 131}
}

// goldenOptions are the options whose outputs are pinned, each by itself and all of
// them together. As with goldenCases: never change one, add new ones.
func goldenOptions() map[string]kernel.Options {
	c := goldenOptionCase()
	r := rng(132)
	numbers := func(n int) []float32 {
		s := make([]float32, n)
		r.fill(s)
		return s
	}
	flags := func(n, of int) []bool {
		s := make([]bool, n)
		for x := range s {
			s[x] = r.intn(of) != 0
		}
		return s
	}
	bias := kernel.BHLD(numbers(c.b*c.h*c.lq*c.lk), c.b, c.h, c.lq, c.lk)
	for x := range bias.f32 {
		if x%7 == 3 {
			bias.f32[x] = negInf[0]
		}
	}
	queryIDs, keyIDs := make([]int32, c.b*c.lq), make([]int32, c.b*c.lk)
	for x := range keyIDs {
		keyIDs[x] = int32(x % c.lk / 40)
	}
	for x := range queryIDs {
		queryIDs[x] = int32(x % c.lq / 2)
	}
	padding := kernel.Hidden(flags(c.b*c.lk, 3), [4]int{c.b, 1, 1, c.lk})
	past := []int{251, 17}
	all := kernel.Options{
		Mask:    kernel.Causal(2).And(kernel.Window(200, -1)).And(kernel.QueryLengths([]int{19, 12})).And(padding),
		Scale:   0.375,
		Softcap: 3, ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, Sinks: []float32{0, 1, -1, negInf[0]},
		Bias: kernel.BHLD(bias.f32, 1, 1, c.lq, c.lk), Dropout: kernel.Dropout{Rate: 0.25, Seed: 1 << 40, Sequences: []uint32{9, 8}},
		QueryStart: []int{1251, 1017}, KeyStart: []int{1000}, Score: tiltScores,
	}
	return map[string]kernel.Options{
		"option-offset":       {Mask: kernel.Causal(0), QueryStart: past},
		"option-window":       {Mask: kernel.Window(40, 3), QueryStart: past},
		"option-prefix":       {Mask: kernel.PrefixLM([]int{100, 3})},
		"option-lengths":      {Mask: kernel.KeyLengths([]int{257, 0}).And(kernel.QueryLengths([]int{3, 19}))},
		"option-segments":     {Mask: kernel.Segments(queryIDs, keyIDs)},
		"option-block-sparse": {Mask: kernel.BlockSparse(flags(4*9, 2), 5, 32)},
		"option-visible":      {Mask: kernel.Visible(flags(c.lq*c.lk, 4), [4]int{1, 1, c.lq, c.lk})},
		"option-hidden":       {Mask: padding},
		"option-bias":         {Bias: bias},
		"option-bias-f16":     {Bias: bias.as(kernel.Float16)},
		"option-bias-bf16":    {Bias: bias.as(kernel.BFloat16)},
		"option-softcap":      {Softcap: 1.5},
		"option-alibi":        {ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, QueryStart: past},
		"option-sinks":        {Sinks: []float32{0, 2, -1, negInf[0]}},
		"option-dropout":      {Dropout: kernel.Dropout{Rate: 0.5, Seed: 0x0123456789abcdef}, QueryStart: []int{-3}},
		"option-key-start":    {KeyStart: []int{100, 511}, QueryStart: []int{351, 762}, Mask: kernel.Causal(0)},
		"option-hook":         {Score: tiltScores},
		"option-all":          all,
	}
}

// goldenOption runs a case and returns the hash of all its outputs: out, LSE,
// weights and scores.
func goldenOption(t *testing.T, name, tier string, threads int) string {
	c := goldenOptionCase()
	q, k, v := c.inputs()
	o := goldenOptions()[name]
	o.Tier, o.Threads = tier, threads
	o.LSE = c.tensor(c.b, c.h, c.lq, 1, canary)
	o.Weights = c.tensor(c.b, c.h, c.lq, c.lk, canary)
	o.Scores, o.ScoreStage = c.tensor(c.b, c.h, c.lq, c.lk, canary), kernel.ScoresMasked
	out := attend(t, q, k, v, o)
	return hash(&out, &o.LSE, &o.Weights, &o.Scores)
}

// goldenPartials returns the hash of the partials of a call, and of what Merge makes of
// them.
func goldenPartials(t *testing.T, tier string, threads int) string {
	c := goldenOptionCase()
	q, k, v := c.inputs()
	p := kernel.NewPartials(2, c.b, c.h, c.lq, c.dv)
	if err := kernel.AttentionPartials(p, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, KeyStart: []int{512}, ALiBi: []float32{1, 0.5, 0.25, 0}}); err != nil {
		t.Fatal(err)
	}
	out, lse := c.tensor(c.b, c.h, c.lq, c.dv, canary), c.tensor(c.b, c.h, c.lq, 1, canary)
	if err := kernel.MergePartials(out, []kernel.Partials{*p}, kernel.MergeOptions{Sinks: []float32{0, 1, 2, 3}, LSE: lse, Exec: kernel.Exec{Tier: tier}}); err != nil {
		t.Fatal(err)
	}
	flat := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, 1, len(s)) }
	max, sum, o := flat(p.Max), flat(p.Sum), flat(p.Out)
	return hash(&max, &sum, &o, &out, &lse)
}

// goldenRagged returns the hash of out and LSE of a ragged batch: prompts, decoding and
// sequences without queries or keys.
func goldenRagged(t *testing.T, tier string, threads int) string {
	c := attnCase{b: 6, h: 4, hkv: 2, lq: 40, lk: 600, d: 16, dv: 12, layout: tokenMajor, seed: 141}
	lengths := raggedLengths{queries: []int{40, 1, 0, 7, 1, 2}, keys: []int{40, 600, 9, 263, 256, 0}, start: 3}
	q, k, v := lengths.pack(c.inputs())
	o := kernel.Options{
		Mask: kernel.Causal(0), QueryStart: []int{0, 599, 9, 256, 255, 0}, Sinks: []float32{0, 1, 2, 3},
		LSE: c.tensor(c.b, c.h, c.lq, 1, canary), Exec: kernel.Exec{Tier: tier, Threads: threads},
	}
	out := lengths.packOutputs(c.tensor(c.b, c.h, c.lq, c.dv, canary), &o)
	if err := kernel.Attention(out, q, k, v, o); err != nil {
		t.Fatal(err)
	}
	return hash(&out, &o.LSE)
}
