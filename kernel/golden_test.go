package kernel_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

var update = flag.Bool("update", false, "write testdata/golden.json anew, with generic")

const goldenFile = "testdata/golden.json"

// goldenCases are the calls whose outputs are pinned. A name says it all: never
// change a case, add new ones. They are small enough for an emulated CPU and
// together use every tile width, merged blocks, GQA, masks and remainders.
func goldenCases() map[string]contracttest.Case {
	return map[string]contracttest.Case{
		"plain":        {B: 1, H: 2, HKV: 2, Lq: 64, Lk: 64, D: 64, Dv: 64, Seed: 101},
		"one":          {B: 1, H: 1, HKV: 1, Lq: 1, Lk: 1, D: 1, Dv: 1, Seed: 102},
		"causal":       {B: 1, H: 2, HKV: 1, Lq: 130, Lk: 130, D: 32, Dv: 32, Mask: contracttest.Causal(0), Seed: 103},
		"cache":        {B: 1, H: 4, HKV: 2, Lq: 9, Lk: 600, D: 16, Dv: 16, Mask: contracttest.Causal(591), Seed: 104},
		"decode":       {B: 2, H: 8, HKV: 2, Lq: 1, Lk: 777, D: 24, Dv: 24, Seed: 105},
		"lengths":      {B: 3, H: 2, HKV: 1, Lq: 20, Lk: 300, D: 20, Dv: 12, Mask: contracttest.KeyLengths([]int{300, 0, 257}), Seed: 106},
		"odd":          {B: 1, H: 3, HKV: 3, Lq: 37, Lk: 259, D: 13, Dv: 29, Scale: 0.4375, Seed: 107},
		"wide":         {B: 1, H: 1, HKV: 1, Lq: 5, Lk: 40, D: 257, Dv: 3, Seed: 108},
		"segments":     {B: 1, H: 4, HKV: 2, Lq: 41, Lk: 300, D: 128, Dv: 128, Mask: contracttest.Causal(259), Seed: 113},
		"segments-odd": {B: 1, H: 2, HKV: 1, Lq: 19, Lk: 70, D: 203, Dv: 16, Seed: 114},
		"sharp":        {B: 1, H: 1, HKV: 1, Lq: 33, Lk: 515, D: 16, Dv: 16, Scale: 9, Seed: 109},
		"flat":         {B: 1, H: 1, HKV: 1, Lq: 17, Lk: 512, D: 8, Dv: 8, Scale: 1.0 / (1 << 20), Seed: 110},
		"negative":     {B: 1, H: 2, HKV: 1, Lq: 50, Lk: 50, D: 8, Dv: 8, Scale: -0.5, Mask: contracttest.Causal(-7), Seed: 111},
		"tiny-numbers": {B: 1, H: 1, HKV: 1, Lq: 18, Lk: 30, D: 6, Dv: 6, Seed: 112},

		"decode-groups":    {B: 2, H: 12, HKV: 3, Lq: 1, Lk: 530, D: 40, Dv: 33, Mask: contracttest.KeyLengths([]int{530, 259}), Seed: 131},
		"decode-alone":     {B: 1, H: 2, HKV: 2, Lq: 1, Lk: 513, D: 15, Dv: 18, Seed: 132, Layout: contracttest.TokenMajor},
		"decode-several":   {B: 1, H: 8, HKV: 2, Lq: 5, Lk: 300, D: 72, Dv: 20, Mask: contracttest.Causal(295), Seed: 133},
		"decode-segments":  {B: 1, H: 12, HKV: 3, Lq: 1, Lk: 530, D: 128, Dv: 128, Seed: 137},
		"decode-long-tail": {B: 1, H: 6, HKV: 2, Lq: 1, Lk: 270, D: 133, Dv: 9, Seed: 138},
		"decode-f16-wide":  {B: 1, H: 8, HKV: 2, Lq: 1, Lk: 333, D: 192, Dv: 48, Seed: 139, Types: contracttest.TypesOf(kernel.Float32, kernel.Float16, kernel.Float16, kernel.Float32)},
		"decode-bf16-wide": {B: 1, H: 4, HKV: 2, Lq: 1, Lk: 290, D: 144, Dv: 32, Seed: 140, Types: contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32)},
		"decode-int8-wide": {B: 2, H: 8, HKV: 2, Lq: 1, Lk: 270, D: 128, Dv: 128, Seed: 142, Types: contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)},
		"decode-float16":   {B: 1, H: 8, HKV: 2, Lq: 1, Lk: 333, D: 64, Dv: 48, Seed: 134, Types: contracttest.TypesOf(kernel.Float32, kernel.Float16, kernel.Float16, kernel.Float32)},
		"decode-bfloat16":  {B: 1, H: 4, HKV: 1, Lq: 2, Lk: 290, D: 19, Dv: 30, Seed: 135, Types: contracttest.Uniform(kernel.BFloat16)},
		"decode-int8":      {B: 2, H: 4, HKV: 2, Lq: 1, Lk: 270, D: 32, Dv: 32, Seed: 136, Types: contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)},

		"float16":   {B: 1, H: 2, HKV: 1, Lq: 70, Lk: 300, D: 32, Dv: 24, Mask: contracttest.Causal(230), Seed: 121, Types: contracttest.Uniform(kernel.Float16)},
		"bfloat16":  {B: 1, H: 2, HKV: 1, Lq: 70, Lk: 300, D: 32, Dv: 24, Mask: contracttest.Causal(230), Seed: 121, Types: contracttest.Uniform(kernel.BFloat16)},
		"int8":      {B: 1, H: 4, HKV: 2, Lq: 3, Lk: 515, D: 64, Dv: 64, Seed: 122, Types: contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)},
		"int8-rows": {B: 2, H: 2, HKV: 1, Lq: 33, Lk: 40, D: 13, Dv: 7, Seed: 123, Types: contracttest.TypesOf(kernel.BFloat16, kernel.Int8, kernel.Int8, kernel.Float16)},
		"mixed":     {B: 1, H: 2, HKV: 2, Lq: 1, Lk: 777, D: 20, Dv: 36, Seed: 124, Types: contracttest.TypesOf(kernel.Float16, kernel.Int8, kernel.BFloat16, kernel.BFloat16)},

		"int4":        {B: 1, H: 4, HKV: 2, Lq: 33, Lk: 515, D: 64, Dv: 24, Mask: contracttest.Causal(482), Seed: 147, Types: contracttest.TypesOf(kernel.Float32, kernel.Int4, kernel.Int4, kernel.Float32)},
		"decode-int4": {B: 2, H: 8, HKV: 2, Lq: 1, Lk: 333, D: 128, Dv: 64, Seed: 148, Types: contracttest.TypesOf(kernel.Float32, kernel.Int4, kernel.Int4, kernel.Float32)},

		"fp8-e4m3":        {B: 1, H: 4, HKV: 2, Lq: 70, Lk: 300, D: 32, Dv: 24, Mask: contracttest.Causal(230), Seed: 143, Types: contracttest.TypesOf(kernel.Float16, kernel.Float8E4M3, kernel.Float8E4M3, kernel.Float16)},
		"fp8-e5m2":        {B: 1, H: 4, HKV: 2, Lq: 33, Lk: 515, D: 19, Dv: 30, Seed: 144, Types: contracttest.TypesOf(kernel.Float32, kernel.Float8E5M2, kernel.Float8E5M2, kernel.Float32)},
		"decode-fp8-e4m3": {B: 2, H: 8, HKV: 2, Lq: 1, Lk: 333, D: 128, Dv: 64, Seed: 145, Types: contracttest.TypesOf(kernel.Float32, kernel.Float8E4M3, kernel.Float8E4M3, kernel.Float32)},
		"decode-fp8-e5m2": {B: 1, H: 8, HKV: 1, Lq: 2, Lk: 290, D: 64, Dv: 48, Seed: 146, Types: contracttest.TypesOf(kernel.BFloat16, kernel.Float8E5M2, kernel.Float8E4M3, kernel.BFloat16)},

		"range": {B: 1, H: 2, HKV: 1, Lq: 40, Lk: 40, D: 8, Dv: 20, Mask: contracttest.Causal(0), Seed: 125, Types: contracttest.TypesOf(kernel.Float32, kernel.Float32, kernel.Float32, kernel.Float16)},
	}
}

// goldenBFloat16 are calls with products in bfloat16.
func goldenBFloat16() map[string]contracttest.Case {
	return map[string]contracttest.Case{
		"products-bf16":          {B: 1, H: 4, HKV: 2, Lq: 70, Lk: 300, D: 64, Dv: 64, Mask: contracttest.Causal(230), Seed: 151, Types: contracttest.Uniform(kernel.BFloat16)},
		"products-bf16-odd":      {B: 1, H: 2, HKV: 1, Lq: 37, Lk: 259, D: 45, Dv: 29, Mask: contracttest.Window(77, 3).And(contracttest.Causal(220)), Seed: 152},
		"products-bf16-decode":   {B: 2, H: 8, HKV: 2, Lq: 1, Lk: 333, D: 128, Dv: 64, Seed: 153, Types: contracttest.TypesOf(kernel.Float32, kernel.BFloat16, kernel.BFloat16, kernel.Float32)},
		"products-bf16-narrower": {B: 1, H: 4, HKV: 1, Lq: 2, Lk: 290, D: 33, Dv: 48, Seed: 154, Types: contracttest.TypesOf(kernel.Float16, kernel.Float8E4M3, kernel.Float16, kernel.BFloat16)},
	}
}

// goldenInputs are the case's inputs; tiny-numbers has inputs scaled down so that products and
// outputs are subnormal, and the values of range reach from below the smallest float16 to beyond
// the largest.
func goldenInputs(name string, c contracttest.Case) (q, k, v kernel.Tensor) {
	q, k, v = c.Inputs()
	if name == "tiny-numbers" {
		for _, t := range []*kernel.Tensor{&k, &v} {
			for i := range contracttest.Floats(*t) {
				contracttest.Floats(*t)[i] *= 0x1p-127
			}
		}
	}
	if name == "range" {
		contracttest.EachRow(&v, func(_, _, j int, row []float32) {
			for e := range row {
				row[e] *= float32(math.Ldexp(1, 4*(e%12)-27))
			}
		})
	}
	return c.Typed(q, k, v)
}

// goldens returns by name what gives the hash of a call.
func goldens() map[string]func(t *testing.T, tier kernel.Tier, threads int) string {
	runs := map[string]func(t *testing.T, tier kernel.Tier, threads int) string{"partials": goldenPartials, "additive": goldenAdditive, "backward": goldenBackward, "backward-plain": goldenBackwardPlain, "ragged": goldenRagged}
	for name, c := range goldenCases() {
		runs[name] = func(t *testing.T, tier kernel.Tier, threads int) string {
			q, k, v := goldenInputs(name, c)
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			return contracttest.Hash(&out)
		}
	}
	for name, c := range goldenBFloat16() {
		runs[name] = func(t *testing.T, tier kernel.Tier, threads int) string {
			q, k, v := c.Typed(c.Inputs())
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{BFloat16: true}})
			return contracttest.Hash(&out)
		}
	}
	for name := range goldenOptions() {
		runs[name] = func(t *testing.T, tier kernel.Tier, threads int) string { return goldenOption(t, name, tier, threads) }
	}
	return runs
}

// TestGolden compares every tier's outputs with the committed hashes, which
// generic made. It is meant to run on every architecture.
func TestGolden(t *testing.T) {
	if *update {
		updateGolden(t)
	}
	golden := readGolden(t)
	for name, run := range goldens() {
		t.Run(name, func(t *testing.T) {
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				if got := run(t, tier, 0); got != golden[name] {
					t.Errorf("got %s, want %s", got, golden[name])
				}
			})
		})
	}
}

func readGolden(t *testing.T) map[string]string {
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if n := len(goldens()); len(golden) != n {
		t.Fatalf("%s has %d hashes for %d cases", goldenFile, len(golden), n)
	}
	return golden
}

func updateGolden(t *testing.T) {
	golden := map[string]string{}
	for name, run := range goldens() {
		golden[name] = run(t, contracttest.Generic(), 1)
	}
	data, err := json.MarshalIndent(golden, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenCatchesOneRounding shows that the hashes can fail: a tier that rounds one
// product of one lane, where the contract fuses, changes each of those that the product
// is not exact in.
func TestGoldenCatchesOneRounding(t *testing.T) {
	golden := readGolden(t)
	broken := contracttest.Tier(t, contracttest.Generic())
	broken.Amend = func(table any, _ int) {
		if p, ok := table.(*ukernel.Products); ok {
			breakProducts(p)
		}
	}
	for _, name := range []string{"plain", "odd", "lengths", "flat"} {
		if goldens()[name](t, contracttest.Handle(broken), 1) == golden[name] {
			t.Errorf("%s: one rounding more went unnoticed", name)
		}
	}
}

// breakProducts rounds the last product of c[0][0] twice.
func breakProducts(p *ukernel.Products) {
	gemm, gemmMax := p.Gemm, p.GemmMax
	roundTwice := func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int) {
		if m > 0 && k > 1 {
			gemm(c, ldc, a, rs, cs, b, ldb, 1, k-1, seg, false)
			c[0] += float32(a[(k-1)*cs] * b[(k-1)*ldb])
		}
	}
	p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
		gemm(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
		if !load {
			roundTwice(c, ldc, a, rs, cs, b, ldb, m, k, seg)
		}
	}
	p.GemmMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
		gemmMax(c, ldc, a, rs, cs, b, ldb, m, k, seg, max)
		roundTwice(c, ldc, a, rs, cs, b, ldb, m, k, seg)
	}
}

// goldenOptionCase is the call that every golden of an option is about.
func goldenOptionCase() contracttest.Case {
	return contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 19, Lk: 270, D: 16, Dv: 12, Seed: 131}
}

// goldenOptions are the options whose outputs are pinned, each by itself and all of
// them together. As with goldenCases: never change one, add new ones.
func goldenOptions() map[string]kernel.Options {
	c := goldenOptionCase()
	r := testutil.Rand(132)
	numbers := func(n int) []float32 {
		s := make([]float32, n)
		r.Fill(s)
		return s
	}
	flags := func(n, of int) []bool {
		s := make([]bool, n)
		for x := range s {
			s[x] = r.IntN(of) != 0
		}
		return s
	}
	bias := kernel.BHLD(numbers(c.B*c.H*c.Lq*c.Lk), c.B, c.H, c.Lq, c.Lk)
	for x := range contracttest.Floats(bias) {
		if x%7 == 3 {
			contracttest.Floats(bias)[x] = contracttest.NegInf
		}
	}
	queryIDs, keyIDs := make([]int32, c.B*c.Lq), make([]int32, c.B*c.Lk)
	for x := range keyIDs {
		keyIDs[x] = int32(x % c.Lk / 40)
	}
	for x := range queryIDs {
		queryIDs[x] = int32(x % c.Lq / 2)
	}
	padding := kernel.Hidden(flags(c.B*c.Lk, 3), [4]int{c.B, 1, 1, c.Lk})
	past := []int{251, 17}
	inBFloat16 := func(o kernel.Options) kernel.Options {
		o.BFloat16 = true
		return o
	}
	all := kernel.Options{Scoring: kernel.Scoring{
		Mask:    kernel.Causal(2).And(kernel.Window(200, -1)).And(kernel.QueryLengths([]int{19, 12})).And(padding),
		Scale:   0.375,
		Softcap: 3, ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, Sinks: []float32{0, 1, -1, contracttest.NegInf},
		Bias: kernel.BHLD(contracttest.Floats(bias), 1, 1, c.Lq, c.Lk), Dropout: kernel.Dropout{Rate: 0.25, Seed: 1 << 40, Sequences: []uint32{9, 8}},
		QueryStart: []int{1251, 1017}, KeyStart: []int{1000}, Score: tiltScores,
	}}
	return map[string]kernel.Options{
		"option-offset":       {Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: past}},
		"option-window":       {Scoring: kernel.Scoring{Mask: kernel.Window(40, 3), QueryStart: past}},
		"option-prefix":       {Scoring: kernel.Scoring{Mask: kernel.PrefixLM([]int{100, 3})}},
		"option-lengths":      {Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{257, 0}).And(kernel.QueryLengths([]int{3, 19}))}},
		"option-segments":     {Scoring: kernel.Scoring{Mask: kernel.Segments(queryIDs, keyIDs)}},
		"option-block-sparse": {Scoring: kernel.Scoring{Mask: kernel.BlockSparse(flags(4*9, 2), 5, 32)}},
		"option-visible":      {Scoring: kernel.Scoring{Mask: kernel.Visible(flags(c.Lq*c.Lk, 4), [4]int{1, 1, c.Lq, c.Lk})}},
		"option-hidden":       {Scoring: kernel.Scoring{Mask: padding}},
		"option-bias":         {Scoring: kernel.Scoring{Bias: bias}},
		"option-bias-f16":     {Scoring: kernel.Scoring{Bias: contracttest.As(bias, kernel.Float16)}},
		"option-bias-bf16":    {Scoring: kernel.Scoring{Bias: contracttest.As(bias, kernel.BFloat16)}},
		"option-softcap":      {Scoring: kernel.Scoring{Softcap: 1.5}},
		"option-alibi":        {Scoring: kernel.Scoring{ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, QueryStart: past}},
		"option-sinks":        {Scoring: kernel.Scoring{Sinks: []float32{0, 2, -1, contracttest.NegInf}}},
		"option-dropout":      {Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: 0.5, Seed: 0x0123456789abcdef}, QueryStart: []int{-3}}},
		"option-key-start":    {Scoring: kernel.Scoring{KeyStart: []int{100, 511}, QueryStart: []int{351, 762}, Mask: kernel.Causal(0)}},
		"option-hook":         {Scoring: kernel.Scoring{Score: tiltScores}},
		"option-all":          all,
		"option-bf16":         inBFloat16(kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Window(90, 5), QueryStart: past}}),
		"option-bf16-all":     inBFloat16(all),
		"option-bf16-rows":    inBFloat16(kernel.Options{Scoring: kernel.Scoring{KeyRows: goldenLists(c)}}),
		"option-tree":         {Scoring: kernel.Scoring{Parents: goldenTree(c), Mask: kernel.Window(200, 0), ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, QueryStart: []int{351, 301}, KeyStart: []int{100}}},
		"option-key-rows":     {Scoring: kernel.Scoring{KeyRows: goldenLists(c)}},
		"option-key-rows-all": goldenListed(all, c),
	}
}

// goldenLists has a list of each query and key head, of rows in any order, some twice, that ends
// where another row would be divisible by 97.
func goldenLists(c contracttest.Case) kernel.KeyRows {
	x := kernel.KeyRows{Rows: make([]int32, c.B*c.HKV*c.Lq*c.Lk), Shape: [4]int{c.B, c.HKV, c.Lq, c.Lk}}
	r := testutil.Rand(133)
	for i := range x.Rows {
		switch row := r.IntN(c.Lk); {
		case i%c.Lk > 0 && (x.Rows[i-1] < 0 || row%97 == 0):
			x.Rows[i] = -1
		default:
			x.Rows[i] = int32(row)
		}
	}
	return x
}

// goldenTree has two branches at every third query, and a second root.
func goldenTree(c contracttest.Case) []int32 {
	p := make([]int32, c.Lq)
	for i := range p {
		p[i] = int32(i - 1 - i%3/2)
	}
	p[7] = -1
	return p
}

// goldenListed returns the options with a list for each query.
func goldenListed(o kernel.Options, c contracttest.Case) kernel.Options {
	o.KeyRows = goldenLists(c)
	o.KeyRows.Shape, o.KeyRows.Rows = [4]int{1, 1, c.Lq, c.Lk}, o.KeyRows.Rows[:c.Lq*c.Lk]
	return o
}

// goldenOption runs a case and returns the hash of all its outputs: out, LSE,
// weights and scores.
func goldenOption(t *testing.T, name string, tier kernel.Tier, threads int) string {
	c := goldenOptionCase()
	q, k, v := c.Inputs()
	o := goldenOptions()[name]
	o.Tier, o.Threads = tier, threads
	o.LSE = c.Output(1)
	o.Weights = c.Output(c.Lk)
	o.Scores, o.ScoreStage = c.Output(c.Lk), kernel.ScoresMasked
	out := attend(t, q, k, v, o)
	return contracttest.Hash(&out, &o.LSE, &o.Weights, &o.Scores)
}

// goldenPartials returns the hash of the partials of a call, and of what MergePartials makes of
// them.
func goldenPartials(t *testing.T, tier kernel.Tier, threads int) string {
	c := goldenOptionCase()
	q, k, v := c.Inputs()
	p := contracttest.NewPartials(2, c.B, c.H, c.Lq, c.Dv)
	if err := kernel.AttentionPartials(p, q, k, v, &kernel.PartialOptions{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{KeyStart: []int{512}, ALiBi: []float32{1, 0.5, 0.25, 0}}}); err != nil {
		t.Fatal(err)
	}
	out, lse := c.Output(c.Dv), c.Output(1)
	if err := kernel.MergePartials(out, []kernel.Partials{*p}, kernel.MergeOptions{Sinks: []float32{0, 1, 2, 3}, LSE: lse, Exec: kernel.Exec{Tier: tier}}); err != nil {
		t.Fatal(err)
	}
	flat := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, 1, len(s)) }
	max, sum, o := flat(p.Max), flat(p.Sum), flat(p.Out)
	return contracttest.Hash(&max, &sum, &o, &out, &lse)
}

// goldenRagged returns the hash of out and LSE of a ragged batch: prompts, decoding and
// sequences without queries or keys.
func goldenRagged(t *testing.T, tier kernel.Tier, threads int) string {
	c := contracttest.Case{B: 6, H: 4, HKV: 2, Lq: 40, Lk: 600, D: 16, Dv: 12, Layout: contracttest.TokenMajor, Seed: 141}
	lengths := raggedLengths{queries: []int{40, 1, 0, 7, 1, 2}, keys: []int{40, 600, 9, 263, 256, 0}, start: 3}
	q, k, v := lengths.pack(c.Inputs())
	o := kernel.Options{
		Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{0, 599, 9, 256, 255, 0}, Sinks: []float32{0, 1, 2, 3}},
		Outputs: kernel.Outputs{LSE: c.Output(1)}, Exec: kernel.Exec{Tier: tier, Threads: threads},
	}
	out := lengths.packOutputs(c.Output(c.Dv), &o)
	if err := kernel.Attention(out, q, k, v, &o); err != nil {
		t.Fatal(err)
	}
	return contracttest.Hash(&out, &o.LSE)
}

// goldenAdditive returns the hash of additive attention with a hidden size that is no
// multiple of 16.
func goldenAdditive(t *testing.T, tier kernel.Tier, threads int) string {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 5, Lk: 300, D: 20, Dv: 8, Seed: 1}
	q, k, v := c.Inputs()
	weights := make([]float32, c.D)
	r := testutil.Rand(2)
	r.Fill(weights)
	out, lse := c.Out(), c.Output(1)
	if err := kernel.Additive(out, q, k, v, weights, &kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Outputs: kernel.Outputs{LSE: lse}, Scoring: kernel.Scoring{Mask: kernel.Causal(290), Softcap: 6}}); err != nil {
		t.Fatal(err)
	}
	return contracttest.Hash(&out, &lse)
}

// goldenBackward returns the hash of gradients with options.
func goldenBackward(t *testing.T, tier kernel.Tier, threads int) string {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 45, Lk: 150, D: 20, Dv: 12, Seed: 1, Mask: contracttest.Causal(100)}
	return goldenGradients(t, c, kernel.Options{
		Scoring: kernel.Scoring{Softcap: 6, ALiBi: []float32{0.5, 0.25, 0.125, 0.0625}, Sinks: []float32{1, -1, 0.5, 2}, Dropout: kernel.Dropout{Rate: 0.125, Seed: 5},
			Bias: kernel.BHLD(testutil.Floats(4*45*150), 1, 4, 45, 150), QueryStart: []int{7}}, Exec: kernel.Exec{Tier: tier, Threads: threads},
	})
}

// goldenBackwardPlain returns the hash of gradients of sizes that all tiers compute in whole
// vectors.
func goldenBackwardPlain(t *testing.T, tier kernel.Tier, threads int) string {
	c := contracttest.Case{B: 1, H: 2, HKV: 2, Lq: 130, Lk: 260, D: 128, Dv: 64, Seed: 2}
	return goldenGradients(t, c, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
}

func goldenGradients(t *testing.T, c contracttest.Case, o kernel.Options) string {
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(o))
	g := w.gradients()
	w.run(t, g, w.o)
	tensors := []*kernel.Tensor{&g.Q, &g.K, &g.V}
	if g.Sinks != nil {
		sinks := kernel.BHLD(g.Sinks, 1, 1, 1, len(g.Sinks))
		tensors = append(tensors, &g.Bias, &sinks)
	}
	return contracttest.Hash(tensors...)
}
