package contract_test

import (
	"math"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

var attentionFunctions = map[string]func(c *call) error{
	"attention": func(c *call) error {
		return c.attention(kernel.Attention)
	},
	"additive": func(c *call) error {
		return c.attention(func(out, q, k, v kernel.Tensor, o *kernel.Options) error {
			return kernel.Additive(out, q, k, v, c.floats("weights"), o)
		})
	},
	"partials": partials,
	"merge":    merge,
}

// options returns the options of a call of attention.
func (c *call) options() kernel.Options {
	o := kernel.Options{Scoring: kernel.Scoring{
		Scale: c.float("scale"), Softcap: c.float("softcap"), ALiBi: c.floats("alibi"), Sinks: c.floats("sinks"), Bias: c.tensor("bias"),
		QueryStart: c.ints("query_start"), KeyStart: c.ints("key_start"), DynamicInt12: c.int("quantized") != 0,
		BFloat16: c.int("bfloat16") != 0,
	}}
	if c.has("visible") {
		o.Mask = o.Mask.And(kernel.Visible(numbers[bool](c, "visible"), c.shape("visible")))
	}
	if c.has("key_lengths") {
		o.Mask = o.Mask.And(kernel.KeyLengths(c.ints("key_lengths")))
	}
	if c.has("key_rows") {
		o.KeyRows = kernel.KeyRows{Rows: numbers[int32](c, "key_rows"), Shape: c.shape("key_rows")}
	}
	if c.has("parents") {
		o.Parents = numbers[int32](c, "parents")
	}
	if c.has("dropout_rate") {
		o.Dropout.Rate, o.Dropout.Seed = c.float("dropout_rate"), numbers[uint64](c, "dropout_seed")[0]
		for _, s := range numbers[int32](c, "dropout_sequences") {
			o.Dropout.Sequences = append(o.Dropout.Sequences, uint32(s))
		}
	}
	return o
}

// backwardOptions returns the options of a call of its gradients.
func (c *call) backwardOptions() *kernel.BackwardOptions {
	return contracttest.BackwardOptions(c.options())
}

// attention makes a call with all outputs three times: each returns the scores of another stage.
func (c *call) attention(attend func(out, q, k, v kernel.Tensor, o *kernel.Options) error) error {
	q, k, v, o := c.tensor("q"), c.tensor("k"), c.tensor("v"), c.options()
	if c.err != nil {
		return c.err
	}
	s := q.Shape()
	keys, size := k.Shape()[2], v.Shape()[3]
	if c.has("key_rows") {
		keys = o.KeyRows.Shape[3]
	}
	row := func(n int) ([]float32, kernel.Tensor) {
		x := testutil.Filled(s[0]*s[1]*s[2]*n, 77)
		return x, kernel.BHLD(x, s[0], s[1], s[2], n)
	}
	for stage, name := range map[kernel.ScoreStage]string{kernel.ScoresScaled: "scaled", kernel.ScoresCapped: "capped", kernel.ScoresMasked: "masked"} {
		_, out := row(size)
		lse, lseTensor := row(1)
		weights, weightsTensor := row(keys)
		scores, scoresTensor := row(keys)
		o.LSE, o.Weights, o.Scores, o.ScoreStage = lseTensor, weightsTensor, scoresTensor, stage
		if err := attend(out, q, k, v, &o); err != nil {
			return err
		}
		c.out["scores_"+name] = encode(scores, s[0], s[1], s[2], keys)
		c.out["lse"] = encode(lse, s[0], s[1], s[2], 1)
		c.out["weights"] = encode(weights, s[0], s[1], s[2], keys)
	}
	o.Weights, o.Scores, o.LSE = kernel.Tensor{}, kernel.Tensor{}, kernel.Tensor{}
	shape := []int{s[0], s[1], s[2], size}
	switch n := count(shape); c.text("out_type") {
	case "f16":
		return into(c, make([]kernel.F16, n), shape, func(out kernel.Tensor) error { return attend(out, q, k, v, &o) })
	case "bf16":
		return into(c, make([]kernel.BF16, n), shape, func(out kernel.Tensor) error { return attend(out, q, k, v, &o) })
	default:
		return into(c, testutil.Filled(n, 77), shape, func(out kernel.Tensor) error { return attend(out, q, k, v, &o) })
	}
}

// into makes a call whose result out has the type of x.
func into[E interface {
	kernel.Float
	number
}](c *call, x []E, shape []int, attend func(out kernel.Tensor) error) error {
	err := attend(kernel.BHLD(x, shape[0], shape[1], shape[2], shape[3]))
	c.out["out"] = encode(x, shape...)
	return err
}

// partials computes the partial results of all blocks.
func partials(c *call) error {
	q, k, v, o := c.tensor("q"), c.tensor("k"), c.tensor("v"), c.options()
	if c.err != nil {
		return c.err
	}
	s, size := q.Shape(), v.Shape()[3]
	p, err := kernel.NewPartials((k.Shape()[2]+255)/256, s[0], s[1], s[2], size)
	if err != nil {
		return err
	}
	if err := kernel.AttentionPartials(p, q, k, v, contracttest.PartialOptions(o)); err != nil {
		return err
	}
	c.out["max"], c.out["sum"] = encode(p.Max, p.Blocks, s[0], s[1], s[2]), encode(p.Sum, p.Blocks, s[0], s[1], s[2])
	c.out["out"] = encode(p.Out, p.Blocks, s[0], s[1], s[2], size)
	return nil
}

// merge merges blocks.
func merge(c *call) error {
	s := c.raw("out").Shape
	p := kernel.Partials{Blocks: s[0], Batch: s[1], Heads: s[2], Queries: s[3], HeadSize: s[4], Max: c.floats("max"), Sum: c.floats("sum"), Out: c.floats("out")}
	if c.err != nil {
		return c.err
	}
	out, lse := testutil.Filled(count(s[1:]), 77), testutil.Filled(count(s[1:4]), 77)
	err := kernel.MergePartials(kernel.BHLD(out, s[1], s[2], s[3], s[4]), []kernel.Partials{p},
		kernel.MergeOptions{Sinks: c.floats("sinks"), LSE: kernel.BHLD(lse, s[1], s[2], s[3], 1)})
	c.out["out"], c.out["lse"] = encode(out, s[1:]...), encode(lse, s[1], s[2], s[3], 1)
	return err
}

// A sizes4 are the sizes of a call of attention.
type sizes4 struct{ b, h, hkv, lq, lk, d, dv int }

// inputs returns q, k and v of these sizes, with more arguments.
func (z sizes4) inputs(seed int, more map[string]any) map[string]any {
	in := map[string]any{
		"q": array(seed, z.b, z.h, z.lq, z.d), "k": array(seed+1, z.b, z.hkv, z.lk, z.d), "v": array(seed+2, z.b, z.hkv, z.lk, z.dv),
	}
	for name, x := range more {
		in[name] = x
	}
	return in
}

// causal returns what a causal mask leaves visible, if query i sits at position past+i.
func causal(lq, lk, past int) tensor {
	x := make([]bool, lq*lk)
	for i := range lq {
		for j := range lk {
			x[i*lk+j] = j <= past+i
		}
	}
	return encode(x, 1, 1, lq, lk)
}

// replaced returns a tensor of float32 with other numbers at some places.
func replaced(t tensor, at map[int]float32) tensor {
	x, err := decode[float32](t)
	if err != nil {
		panic(err) // of the vectors' own arguments
	}
	for i, y := range at {
		x[i] = y
	}
	return encode(x, t.Shape...)
}

var nan, inf = math.Float32frombits(0xffc00001), float32(math.Inf(1))

// attentionOptions are calls with each option, and with all of them.
func attentionOptions() map[string]map[string]any {
	z := optionSizes
	bias := replaced(array(50, 1, z.h, z.lq, z.lk), map[int]float32{3: -inf, 17: -inf, 40: nan})
	return map[string]map[string]any{
		"scale":             {"scale": single(float32(-0.3))},
		"zero-scale":        {"scale": single(float32(math.Copysign(0, -1)))},
		"softcap":           {"softcap": single(float32(1.5))},
		"alibi":             {"alibi": encode([]float32{.5, -.25}), "query_start": []int{4}},
		"sinks":             {"sinks": encode([]float32{1.25, -inf})},
		"bias":              {"bias": bias},
		"bias-f16":          {"bias": narrowed(51, numeric.ToF16, z.b, 1, z.lq, z.lk)},
		"bias-short":        {"bias": array(52, 1, 1, z.lq, z.lk-3)},
		"visible":           {"visible": causal(z.lq, z.lk, -1)},
		"lengths":           {"key_lengths": []int{0, 5}},
		"dropout":           {"dropout_rate": single(float32(.4)), "dropout_seed": single(uint64(0x123456789abcdef)), "query_start": []int{-7}, "key_start": []int{250, 3}},
		"dropout-sequences": {"dropout_rate": single(float32(.1)), "dropout_seed": single(uint64(7)), "dropout_sequences": encode([]int32{9, -294967296})},
		"all": {
			"scale": single(float32(.7)), "softcap": single(float32(2)), "alibi": encode([]float32{.125, .75}), "sinks": encode([]float32{-1, .5}), "bias": bias,
			"visible": causal(z.lq, z.lk, 2), "key_lengths": []int{6, 4}, "query_start": []int{254, 1}, "key_start": []int{252, 0},
			"dropout_rate": single(float32(.3)), "dropout_seed": single(uint64(3)),
		},
	}
}

var optionSizes = sizes4{b: 2, h: 2, hkv: 1, lq: 3, lk: 7, d: 5, dv: 3}

func attentionCases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: in})
	}
	for i, z := range []sizes4{{1, 1, 1, 1, 1, 1, 1}, {1, 2, 2, 3, 5, 8, 4}, {1, 4, 2, 2, 3, 63, 3}, {1, 1, 1, 2, 3, 64, 3}, {1, 2, 1, 1, 4, 65, 2}, {1, 1, 1, 2, 3, 130, 1}, {1, 1, 1, 2, 256, 2, 2}, {1, 1, 1, 1, 257, 2, 2}, {1, 2, 1, 1, 530, 3, 2}} {
		add("plain-"+string(rune('a'+i)), "attention", z.inputs(100*i, nil))
	}
	options := attentionOptions()
	for i, name := range sortedKeys(options) {
		add(name, "attention", optionSizes.inputs(1000+10*i, options[name]))
	}
	list = append(list, attentionTypeCases()...)
	list = append(list, quantizedCases()...)
	list = append(list, bfloat16Cases()...)
	list = append(list, specialCases()...)
	blocks := sizes4{1, 2, 1, 2, 300, 3, 2}
	add("blocks-from-position-200", "attention", blocks.inputs(2000, map[string]any{"key_start": []int{200}, "query_start": []int{499}}))
	wild := wildOptions(wildSizes)
	for i, name := range sortedKeys(wild) {
		add("not-finite-"+name, "attention", wildSizes.wildInputs(testutil.NonFinite, 2100+10*i, wild[name]))
		add("extreme-"+name, "attention", wildSizes.wildInputs(testutil.Specials, 2200+10*i, wild[name]))
	}
	add("additive-not-finite", "additive", wildSizes.wildInputs(testutil.NonFinite, 2300, map[string]any{"weights": array(2303, 3), "visible": causal(4, 6, 1)}))
	add("partials-not-finite", "partials", wildSizes.wildInputs(testutil.NonFinite, 2310, map[string]any{"dropout_rate": single(float32(.5)), "dropout_seed": single(uint64(6))}))
	add("blocks-not-finite", "attention", sizes4{1, 1, 1, 2, 258, 1, 2}.wildInputs(testutil.NonFinite, 2320, nil))
	add("blocks-hidden", "attention", sizes4{1, 1, 1, 2, 520, 2, 2}.inputs(2010, map[string]any{"visible": onlyBeyond(2, 520, 512)}))
	add("blocks-far-apart", "attention", farApart())
	list = append(list, biasCases()...)
	list = append(list, listedCases()...)
	list = append(list, treeCases()...)
	add("additive", "additive", sizes4{2, 2, 1, 3, 5, 19, 3}.inputs(2030, map[string]any{"weights": array(2033, 19)}))
	add("additive-options", "additive", sizes4{1, 2, 2, 3, 5, 16, 3}.inputs(2040, map[string]any{
		"weights": array(2043, 16), "scale": single(float32(.75)), "visible": causal(3, 5, 1), "alibi": encode([]float32{.5, .25}), "sinks": encode([]float32{0, 1}), "softcap": single(float32(3)),
	}))
	add("partials", "partials", sizes4{1, 2, 1, 2, 300, 3, 2}.inputs(2050, map[string]any{"visible": onlyBeyond(2, 300, 256)}))
	add("partials-nan", "partials", sizes4{1, 1, 1, 1, 4, 1, 2}.inputs(2060, map[string]any{"k": encode([]float32{nan, 1, 2, -3}, 1, 1, 4, 1)}))
	add("merge", "merge", merged(map[int]float32{}))
	add("merge-sinks", "merge", merged(nil))
	return list
}

// lowestBiases are of a row of the lowest number alone, a row of low ones, one that has a
// key beside them, and one with the highest number.
func lowestBiases() tensor {
	const low, high = -math.MaxFloat32, math.MaxFloat32
	return encode([]float32{low, low, low, low, low, -0x1.fep127, low, -2.3586575e38, -2.4e38, low, low, 1, -inf, low, low, 0, high, 0, 2.4e38, -inf}, 1, 1, 4, 5)
}

var biasSizes = sizes4{1, 2, 1, 4, 5, 3, 2}

// biasCases have biases at the limit of finite ones and beyond, in rows that have no others
// and among others, and slopes of ALiBi at their limit and beyond.
func biasCases() (list []vector) {
	z := biasSizes
	add := func(name, function string, seed int, more map[string]any) {
		list = append(list, vector{Name: name, Function: function, In: z.inputs(seed, more)})
	}
	most := bits(0x7f317217, 0x7f317218, 0xff317217, 0xff317218, 0x7f7fffff, 0xff7fffff, 0x7f317216)
	rows := lowestBiases()
	add("bias-limits", "attention", 2410, map[string]any{"bias": replaced(array(2400, 1, 1, 4, 5), map[int]float32{
		0: most[0], 1: 2, 6: most[1], 10: most[2], 11: most[3], 12: most[6], 15: nan, 16: inf, 17: most[5],
	})})
	add("bias-lowest", "attention", 2420, map[string]any{"bias": rows})
	add("bias-lowest-sinks", "attention", 2430, map[string]any{"bias": rows, "sinks": encode([]float32{0, -1e30}), "softcap": single(float32(3))})
	bf16 := make([]kernel.BF16, 20)
	for i := range bf16 {
		bf16[i] = []kernel.BF16{0xff7f, 0xff7f, 0xff7f, 0x7f7f, 0xff80, 0x3f80}[i*i%17%6]
	}
	add("bias-lowest-bf16", "attention", 2440, map[string]any{"bias": encode(bf16, 1, 1, 4, 5)})
	add("bias-of-infinite-scores", "attention", 2450, map[string]any{"bias": rows, "q": encode(random(testutil.NonFinite, 2451, 24), 1, 2, 4, 3)})
	add("alibi-steep", "attention", 2460, map[string]any{"bias": rows, "alibi": encode([]float32{0x1p127, -0x1p71}), "query_start": []int{1 << 29}})
	add("additive-bias-lowest", "additive", 2470, map[string]any{"weights": array(2473, 3), "bias": rows})
	add("partials-bias-lowest", "partials", 2480, map[string]any{"bias": rows})
	return list
}

// listedCases are calls with lists: of rows that some name twice, for each query and for all, that
// end early or have none, with options, in blocks, and of integers.
func listedCases() (list []vector) {
	add := func(name, function string, z sizes4, seed int, shape [4]int, more map[string]any) {
		r := testutil.Rand(uint64(seed))
		rows := make([]int32, shape[0]*shape[1]*shape[2]*shape[3])
		for i, n := range rows {
			if at := i % shape[3]; at > 0 && (rows[i-1] < 0 || r.IntN(shape[3]) == 0) || i < shape[3] && shape[2] > 1 {
				n = -1 // the first of several lists is empty
			} else {
				n = int32(r.IntN(z.lk))
			}
			rows[i] = n
		}
		more["key_rows"] = encode(rows, shape[0], shape[1], shape[2], shape[3])
		list = append(list, vector{Name: "key-rows-" + name, Function: function, In: z.inputs(seed, more)})
	}
	z := optionSizes
	add("one-list", "attention", z, 2500, [4]int{1, 1, 1, 9}, map[string]any{})
	add("each", "attention", sizes4{2, 4, 2, 3, 7, 5, 3}, 2510, [4]int{2, 2, 3, 5}, map[string]any{})
	add("options", "attention", z, 2520, [4]int{2, 1, 3, 6}, map[string]any{
		"scale": single(float32(.7)), "softcap": single(float32(2)), "alibi": encode([]float32{.125, .75}), "sinks": encode([]float32{-1, .5}),
		"bias": array(2523, 1, z.h, z.lq, 4), "visible": causal(z.lq, 6, 2), "key_lengths": []int{6, 3}, "query_start": []int{254, 1}, "key_start": []int{252, 0},
		"dropout_rate": single(float32(.3)), "dropout_seed": single(uint64(3)), "out_type": "bf16",
	})
	add("blocks", "attention", sizes4{1, 2, 1, 1, 90, 3, 2}, 2530, [4]int{1, 1, 1, 300}, map[string]any{"key_start": []int{200}})
	add("not-finite", "attention", wildSizes, 2540, [4]int{1, 1, 4, 8}, map[string]any{"v": wild(testutil.NonFinite, 2541, 1, 1, 6, 2)})
	add("additive", "additive", sizes4{1, 2, 1, 2, 5, 3, 2}, 2550, [4]int{1, 1, 2, 4}, map[string]any{"weights": array(2553, 3)})
	add("quantized", "attention", sizes4{1, 2, 1, 2, 40, 6, 4}, 2560, [4]int{1, 1, 2, 50}, map[string]any{
		"quantized": 1, "k": int4s(2561, 1, 1, 40, 6), "v": int4s(2562, 1, 1, 40, 4), "k_scales": array(2563, 1, 1, 40, 1), "v_scales": array(2564, 1, 1, 40, 2),
	})
	return list
}

// treeCases are trees of queries: across a block, for each batch row, with options, of integers,
// and beyond the keys.
func treeCases() (list []vector) {
	add := func(name, function string, z sizes4, seed int, parents []int32, start []int, more map[string]any) {
		more["parents"], more["query_start"] = encode(parents), start
		list = append(list, vector{Name: "tree-" + name, Function: function, In: z.inputs(seed, more)})
	}
	add("one", "attention", sizes4{2, 4, 2, 4, 9, 5, 3}, 2600, []int32{-1, 0, 0, 2}, []int{5, 5}, map[string]any{})
	add("each", "attention", sizes4{2, 2, 1, 3, 7, 5, 3}, 2610, []int32{-1, 0, 0, -1, -1, 1}, []int{14, 15}, map[string]any{"key_start": []int{10, 12}})
	add("blocks", "attention", sizes4{1, 2, 1, 6, 263, 3, 2}, 2620, []int32{-1, 0, -1, 2, 1, 3}, []int{455}, map[string]any{"key_start": []int{200}})
	add("beyond", "attention", sizes4{1, 1, 1, 3, 5, 4, 2}, 2630, []int32{-1, 0, 0}, []int{4}, map[string]any{})
	z := optionSizes
	add("options", "attention", z, 2640, []int32{-1, -1, 0}, []int{258, 3}, map[string]any{
		"scale": single(float32(.7)), "softcap": single(float32(2)), "alibi": encode([]float32{.125, .75}), "sinks": encode([]float32{-1, .5}),
		"bias": array(2643, 1, z.h, z.lq, 6), "visible": causal(z.lq, z.lk, 3), "key_lengths": []int{6, 5}, "key_start": []int{254, 0},
		"dropout_rate": single(float32(.3)), "dropout_seed": single(uint64(3)), "out_type": "f16",
	})
	add("quantized", "attention", sizes4{1, 2, 1, 3, 40, 6, 4}, 2660, []int32{-1, 0, 0}, []int{54}, map[string]any{
		"key_start": []int{20}, "quantized": 1, "k": int4s(2661, 1, 1, 40, 6), "v": int4s(2662, 1, 1, 40, 4), "k_scales": array(2663, 1, 1, 40, 1), "v_scales": array(2664, 1, 1, 40, 2),
	})
	return list
}

// merged are the arguments of a merge of three blocks, the second of which no row sees; at is nil
// for one with a sink.
func merged(at map[int]float32) map[string]any {
	max, sum, out := normal(1, 12), random(testutil.Mantissas, 2, 12), normal(3, 24)
	for i := 4; i < 8; i++ {
		max[i], sum[i], out[2*i], out[2*i+1] = -inf, 0, 0, 0
	}
	for i := range sum {
		sum[i] = float32(math.Abs(float64(sum[i])))
	}
	in := map[string]any{"max": encode(max, 3, 1, 2, 2), "sum": encode(sum, 3, 1, 2, 2), "out": encode(out, 3, 1, 2, 2, 2)}
	if at == nil {
		in["sinks"] = encode([]float32{.5, 3})
	}
	return in
}

// onlyBeyond hides the keys below first from the second query.
func onlyBeyond(lq, lk, first int) tensor {
	x := make([]bool, lq*lk)
	for i := range x {
		x[i] = i < lk || i%lk >= first
	}
	return encode(x, 1, 1, lq, lk)
}

// farApart has weights and factors of merges below 2^-100 and around it.
func farApart() map[string]any {
	in := sizes4{1, 1, 1, 2, 260, 1, 2}.inputs(2020, map[string]any{"scale": single(float32(1))})
	k := testutil.Filled(260, -80)
	for j := range k {
		k[j] -= float32(j%50) / 4
	}
	k[0], k[257] = 0, -69.31472
	in["q"], in["k"] = encode([]float32{1, .25}, 1, 1, 2, 1), encode(k, 1, 1, 260, 1)
	return in
}

// attentionTypeCases has all types of elements.
func attentionTypeCases() (list []vector) {
	z := sizes4{1, 2, 1, 2, 6, 6, 4}
	add := func(name string, more map[string]any) {
		list = append(list, vector{Name: name, Function: "attention", In: z.inputs(3000, more)})
	}
	add("f16", map[string]any{"q": narrowed(1, numeric.ToF16, 1, 2, 2, 6), "k": narrowed(2, numeric.ToF16, 1, 1, 6, 6), "v": narrowed(3, numeric.ToF16, 1, 1, 6, 4), "out_type": "f16"})
	add("bf16", map[string]any{"q": narrowed(1, numeric.ToBF16, 1, 2, 2, 6), "k": narrowed(2, numeric.ToBF16, 1, 1, 6, 6), "v": narrowed(3, numeric.ToBF16, 1, 1, 6, 4), "out_type": "bf16"})
	add("fp8", map[string]any{"k": narrowed(2, numeric.ToF8E4M3, 1, 1, 6, 6), "v": narrowed(3, numeric.ToF8E5M2, 1, 1, 6, 4)})
	int8s := func(seed int, shape ...int) tensor {
		return narrowed(seed, func(x float32) int8 { return int8(x * 30) }, shape...)
	}
	add("int8", map[string]any{"k": int8s(2, 1, 1, 6, 6), "k_scales": array(4, 1, 1, 6, 1), "v": int8s(3, 1, 1, 6, 4), "v_scales": array(5, 1, 1, 6, 2)})
	add("int4", map[string]any{"k": int4s(2, 1, 1, 6, 6), "k_scales": array(4, 1, 1, 6, 1), "v": int4s(3, 1, 1, 6, 4), "v_scales": array(5, 1, 1, 6, 2)})
	return list
}

// quantizedCases are calls on integers: with one scale for each row and several, segments that are
// whole and not, blocks, options, and queries and scales that are not finite or too small to be
// rounded.
func quantizedCases() (list []vector) {
	add := func(name string, z sizes4, groups int, more map[string]any) {
		seed := 5000 + 10*len(list)
		int8s := func(seed, d int) tensor {
			return narrowed(seed, func(x float32) int8 { return int8(max(-128, min(127, x*60))) }, z.b, z.hkv, z.lk, d)
		}
		in := map[string]any{
			"quantized": 1, "q": array(seed, z.b, z.h, z.lq, z.d), "k": int8s(seed+1, z.d), "v": int8s(seed+2, z.dv),
			"k_scales": array(seed+3, z.b, z.hkv, z.lk, groups), "v_scales": array(seed+4, z.b, z.hkv, z.lk, groups),
		}
		for name, x := range more {
			in[name] = x
		}
		list = append(list, vector{Name: "quantized-" + name, Function: "attention", In: in})
	}
	small := sizes4{1, 2, 1, 2, 6, 6, 4}
	add("small", small, 1, nil)
	add("groups", small, 2, map[string]any{"visible": causal(2, 6, 3)})
	add("wide", sizes4{1, 1, 1, 1, 5, 208, 16}, 1, nil)
	add("wide-groups", sizes4{1, 1, 1, 2, 3, 200, 8}, 2, nil)
	add("blocks", sizes4{1, 1, 1, 2, 300, 4, 2}, 1, map[string]any{"visible": onlyBeyond(2, 300, 40)})
	add("options", sizes4{2, 2, 1, 2, 40, 8, 4}, 1, map[string]any{
		"scale": single(float32(.3)), "softcap": single(float32(2)), "alibi": encode([]float32{.125, .75}), "sinks": encode([]float32{-1, .5}),
		"query_start": []int{254, 1}, "key_start": []int{235, 7}, "key_lengths": []int{40, 17}, "dropout_rate": single(float32(.3)), "dropout_seed": single(uint64(3)),
	})
	scales := array(6000, 1, 1, 6, 1)
	hides := encode([]bool{true, false, true, true, true, true}, 1, 1, 1, 6)
	add("nan-scale-hidden", small, 1, map[string]any{"k_scales": replaced(scales, map[int]float32{1: nan}), "v_scales": replaced(scales, map[int]float32{1: inf}), "visible": hides})
	add("inf-scale", small, 1, map[string]any{"v_scales": replaced(scales, map[int]float32{2: inf})})
	add("tiny", small, 1, map[string]any{"q": replaced(array(6001, 1, 2, 2, 6), map[int]float32{0: nan, 7: 0x1p99, 13: 0x1p-120}), "v_scales": replaced(scales, map[int]float32{0: 0x1p-110, 1: -0x1p-105})})
	add("tiny-queries", small, 1, map[string]any{"q": encode(random(testutil.Tinies, 1, 24), 1, 2, 2, 6)})
	add("not-finite", small, 1, map[string]any{"q": encode(random(testutil.NonFinite, 1, 24), 1, 2, 2, 6), "k_scales": encode(random(testutil.NonFinite, 2, 6), 1, 1, 6, 1), "v_scales": encode(random(testutil.NonFinite, 3, 6), 1, 1, 6, 1)})
	int4 := func(z sizes4, more map[string]any) map[string]any {
		more["k"], more["v"] = int4s(6010, z.b, z.hkv, z.lk, z.d), int4s(6011, z.b, z.hkv, z.lk, z.dv)
		return more
	}
	add("int4", small, 1, int4(small, map[string]any{}))
	grouped := sizes4{1, 2, 1, 2, 9, 64, 32}
	add("int4-groups", grouped, 2, int4(grouped, map[string]any{"key_start": []int{28}, "visible": causal(2, 9, 5)}))
	mixed := int4(small, map[string]any{})
	delete(mixed, "v")
	add("int4-keys", small, 1, mixed)
	return list
}

// bfloat16Cases are calls in bfloat16: tails of segments of columns and of keys, blocks that begin
// in the middle of a segment, options, types, lists and trees, ties, and numbers that are tiny or
// not finite.
func bfloat16Cases() (list []vector) {
	add := func(name, function string, in map[string]any) {
		in["bfloat16"] = 1
		list = append(list, vector{Name: "bfloat16-" + name, Function: function, In: in})
	}
	for i, z := range []sizes4{{1, 1, 1, 1, 1, 1, 1}, {1, 2, 1, 2, 5, 31, 3}, {1, 2, 2, 2, 31, 32, 2}, {1, 1, 1, 2, 33, 33, 2}, {1, 1, 1, 2, 66, 64, 3}, {1, 1, 1, 1, 300, 3, 2}} {
		add("plain-"+string(rune('a'+i)), "attention", z.inputs(8000+10*i, nil))
	}
	options := attentionOptions()
	for i, name := range []string{"scale", "zero-scale", "dropout", "visible", "all"} {
		add(name, "attention", optionSizes.inputs(8100+10*i, options[name]))
	}
	window := sizes4{1, 2, 1, 2, 80, 4, 3}
	add("position-41", "attention", window.inputs(8200, map[string]any{"key_start": []int{41}, "query_start": []int{60}, "visible": onlyBeyond(2, 80, 37)}))
	window.d, window.dv = 16, 16
	cached := window.inputs(8205, map[string]any{"key_start": []int{41}, "query_start": []int{119}})
	cached["k"], cached["v"] = narrowed(8206, numeric.ToBF16, 1, 1, 80, 16), narrowed(8207, numeric.ToBF16, 1, 1, 80, 16)
	add("position-41-cached", "attention", cached)
	add("partials", "partials", sizes4{1, 2, 1, 2, 270, 5, 3}.inputs(8210, map[string]any{"key_start": []int{256}}))
	small := sizes4{1, 2, 1, 2, 6, 6, 4}
	halves := small.inputs(8220, map[string]any{"out_type": "bf16"})
	halves["q"], halves["k"], halves["v"] = narrowed(8221, numeric.ToF16, 1, 2, 2, 6), narrowed(8222, numeric.ToBF16, 1, 1, 6, 6), narrowed(8223, numeric.ToBF16, 1, 1, 6, 4)
	add("types", "attention", halves)
	add("list", "attention", small.inputs(8230, map[string]any{"key_rows": encode([]int32{5, 0, 3, 3, 1, 0, 2, -1}, 1, 1, 2, 4)}))
	add("tree", "attention", sizes4{1, 2, 1, 3, 40, 6, 4}.inputs(8240, map[string]any{"parents": encode([]int32{-1, 0, 0}, 3), "query_start": []int{54}, "key_start": []int{20}}))
	add("peaked", "attention", sizes4{1, 1, 1, 2, 40, 8, 2}.inputs(8250, map[string]any{"scale": single(float32(20))}))
	for i, kind := range []testutil.Kind{testutil.NonFinite, testutil.Specials, testutil.Tinies} {
		add([]string{"not-finite", "extreme", "tiny"}[i], "attention", wildSizes.wildInputs(kind, 8260+10*i, wildOptions(wildSizes)["causal"]))
	}
	add("nan-hidden", "attention", small.inputs(8300, map[string]any{"v": replaced(array(8301, 1, 1, 6, 4), map[int]float32{4: nan, 5: inf, 6: -inf}), "visible": encode([]bool{true, false, true, true, true, true}, 1, 1, 1, 6)}))
	return list
}

// wildInputs returns q, k and v of a kind, with more arguments.
func (z sizes4) wildInputs(kind testutil.Kind, seed int, more map[string]any) map[string]any {
	in := z.inputs(seed, more)
	in["q"], in["k"], in["v"] = wild(kind, seed, z.b, z.h, z.lq, z.d), wild(kind, seed+1, z.b, z.hkv, z.lk, z.d), wild(kind, seed+2, z.b, z.hkv, z.lk, z.dv)
	return in
}

// wildOptions are some options that numbers which are not finite go through, and a mask.
func wildOptions(z sizes4) map[string]map[string]any {
	return map[string]map[string]any{
		"causal":  {"visible": causal(z.lq, z.lk, 1)},
		"softcap": {"softcap": single(float32(20)), "visible": causal(z.lq, z.lk, 1)},
		"dropout": {"dropout_rate": single(float32(.5)), "dropout_seed": single(uint64(5)), "sinks": encode([]float32{1, -inf})},
		"bias":    {"bias": wild(testutil.NonFinite, 60, 1, 1, z.lq, z.lk), "alibi": encode([]float32{1, 2})},
	}
}

var wildSizes = sizes4{1, 2, 1, 4, 6, 3, 2}

// specialCases has numbers that are not finite, subnormal, or zeros of both signs.
func specialCases() (list []vector) {
	z := sizes4{1, 1, 1, 3, 6, 4, 3}
	add := func(name string, more map[string]any) {
		list = append(list, vector{Name: "special-" + name, Function: "attention", In: z.inputs(4000, more)})
	}
	q, k, v := array(4000, 1, 1, 3, 4), array(4001, 1, 1, 6, 4), array(4002, 1, 1, 6, 3)
	hides := encode([]bool{true, false, true, true, true, true}, 1, 1, 1, 6)
	add("nan-query", map[string]any{"q": replaced(q, map[int]float32{5: nan})})
	add("nan-key-hidden", map[string]any{"k": replaced(k, map[int]float32{4: nan, 5: inf}), "v": replaced(v, map[int]float32{3: nan, 4: -inf}), "visible": hides})
	add("nan-key-seen", map[string]any{"k": replaced(k, map[int]float32{4: nan}), "visible": causal(3, 6, 0)})
	add("inf-key-seen", map[string]any{"k": replaced(k, map[int]float32{8: inf}), "visible": causal(3, 6, 0)})
	add("inf-value", map[string]any{"v": replaced(v, map[int]float32{0: inf, 4: -inf, 7: inf, 10: -inf})})
	add("overflow", map[string]any{"q": encode(random(testutil.Specials, 1, 12), 1, 1, 3, 4), "k": encode(random(testutil.Specials, 2, 24), 1, 1, 6, 4)})
	add("tiny", map[string]any{"q": encode(random(testutil.Tinies, 1, 12), 1, 1, 3, 4), "k": encode(random(testutil.Tinies, 2, 24), 1, 1, 6, 4), "v": encode(random(testutil.Tinies, 3, 18), 1, 1, 6, 3)})
	add("zeros", map[string]any{"q": encode(random(testutil.Zeros, 1, 12), 1, 1, 3, 4), "v": encode(random(testutil.Zeros, 3, 18), 1, 1, 6, 3)})
	add("all-hidden", map[string]any{"visible": encode(make([]bool, 6), 1, 1, 1, 6)})
	add("all-hidden-sink", map[string]any{"visible": encode(make([]bool, 6), 1, 1, 1, 6), "sinks": encode([]float32{.5})})
	add("not-finite", map[string]any{"q": encode(random(testutil.NonFinite, 1, 12), 1, 1, 3, 4), "k": encode(random(testutil.NonFinite, 2, 24), 1, 1, 6, 4), "v": encode(random(testutil.NonFinite, 3, 18), 1, 1, 6, 3)})
	return list
}
