package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// An optionCase draws one level of every factor of a call.
type optionCase struct {
	attnCase
	r      rng
	levels []int
}

// factors are the options of a call with the number of their levels. Each level
// of each is a branch in optionCase.build.
var factors = []struct {
	name   string
	levels int
}{
	{"shape", 6}, {"types", 5}, {"spans", 8}, {"bools", 5}, {"sparse", 4}, {"bias", 6}, {"softcap", 3}, {"alibi", 2}, {"sinks", 2},
	{"dropout", 3}, {"positions", 4}, {"hook", 2}, {"poison", 4}, {"outputs", 4}, {"threads", 2},
	{"ragged", 4},
}

var optionShapes = []attnCase{
	{b: 1, h: 2, hkv: 1, lq: 5, lk: 300, d: 9, dv: 7},
	{b: 2, h: 4, hkv: 2, lq: 37, lk: 37, d: 16, dv: 8, layout: tokenMajor},
	{b: 3, h: 1, hkv: 1, lq: 1, lk: 515, d: 4, dv: 20, layout: gaps},
	{b: 2, h: 3, hkv: 1, lq: 70, lk: 130, d: 8, dv: 3},
	{b: 1, h: 2, hkv: 2, lq: 150, lk: 257, d: 3, dv: 16, layout: gaps},
	{b: 2, h: 2, hkv: 1, lq: 9, lk: 1, d: 1, dv: 1},
}

// optionTypes are element types of a case and, q's, of its bias.
var optionTypes = []callTypes{
	{}, {kernel.Float16, kernel.Float16, kernel.Float16, kernel.Float16}, {kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.BFloat16},
	{kernel.Float32, kernel.Int8, kernel.Float16, kernel.BFloat16}, {kernel.Float16, kernel.Float32, kernel.Int8, kernel.Float32},
}

func (c *optionCase) level(name string) int { return c.levels[factor(name)] }

func factor(name string) int {
	for x := range factors {
		if factors[x].name == name {
			return x
		}
	}
	panic(name)
}

func newOptionCase(seed uint64, levels []int) *optionCase {
	c := &optionCase{r: rng(seed), levels: levels}
	c.attnCase = optionShapes[c.level("shape")]
	c.seed = seed
	c.types = optionTypes[c.level("types")]
	return c
}

// options builds the options that the levels stand for.
func (c *optionCase) options() kernel.Options {
	o := kernel.Options{Mask: c.spans().And(c.bools()).And(c.blocks()), Bias: c.biases()}
	o.Softcap = []float32{0, 0.75, 30}[c.level("softcap")]
	if c.level("alibi") == 1 {
		o.ALiBi = filled(c.h, 0)
		c.r.fill(o.ALiBi)
	}
	if c.level("sinks") == 1 {
		o.Sinks = filled(c.h, 0)
		c.r.fill(o.Sinks)
		if c.h > 2 {
			o.Sinks[2] = negInf[0]
		}
	}
	switch c.level("dropout") {
	case 1:
		o.Dropout = kernel.Dropout{Rate: 0.25, Seed: c.r.next()}
	case 2:
		o.Dropout = kernel.Dropout{Rate: 0.9, Seed: c.r.next(), Sequences: make([]uint32, c.b)}
		for b := range o.Dropout.Sequences {
			o.Dropout.Sequences[b] = uint32(c.r.next())
		}
	}
	switch c.level("positions") {
	case 1:
		o.QueryStart = []int{max(0, c.lk-c.lq)}
	case 2:
		o.QueryStart, o.KeyStart = []int{1000}, []int{999 - c.lk/2}
	case 3:
		for b := range c.b {
			o.KeyStart = append(o.KeyStart, 255*b+c.r.intn(3))
			o.QueryStart = append(o.QueryStart, o.KeyStart[b]+c.r.intn(max(c.lk, 1))-c.lq)
		}
	}
	if c.level("hook") == 1 {
		o.Score = tiltScores
	}
	o.Threads = 1 + 2*c.level("threads")
	return o
}

// tiltScores depends on all that a hook may use, and hides some keys.
func tiltScores(t *kernel.ScoreTile) {
	for x := range t.Keys {
		for r, row := range t.Rows {
			s := &t.Scores[x*t.Stride+r]
			*s = numeric.FMA(float32(row.Head+t.Batch), 0.125, *s) + float32((row.Position-t.KeyPosition-x)%5)
			if (row.Query+t.Key+x)%11 == 3 {
				*s = negInf[0]
			}
		}
	}
}

func (c *optionCase) spans() kernel.Mask {
	switch c.level("spans") {
	case 1:
		return kernel.Causal(0)
	case 2:
		return kernel.Causal(c.r.intn(300) - 40)
	case 3:
		return kernel.Window(c.r.intn(60), -1).And(kernel.Causal(3))
	case 4:
		return kernel.Window(c.r.intn(30), c.r.intn(30)).And(kernel.KeyLengths(c.lengths(c.lk)))
	case 5:
		return kernel.PrefixLM([]int{c.r.intn(40)}).And(kernel.QueryLengths(c.lengths(c.lq)))
	case 6:
		return kernel.PrefixLM(c.lengths(100)).And(kernel.KeyLengths(c.lengths(c.lk))).And(kernel.Window(-1, 2))
	case 7:
		return kernel.Segments(c.ids(c.lq), c.ids(c.lk))
	}
	return kernel.Mask{}
}

// lengths are one per batch row, 0 to most.
func (c *optionCase) lengths(most int) []int {
	n := make([]int, c.b)
	for b := range n {
		n[b] = c.r.intn(most + 1)
	}
	return n
}

// ids are a few segments in every batch row.
func (c *optionCase) ids(length int) []int32 {
	ids := make([]int32, c.b*length)
	for x := range ids {
		switch {
		case x%length == 0:
			ids[x] = -1
		case c.r.intn(9) == 0:
			ids[x] = ids[x-1] + 1
		default:
			ids[x] = ids[x-1]
		}
	}
	return ids
}

func (c *optionCase) bools() kernel.Mask {
	draw := func(shape [4]int) []bool {
		s := make([]bool, shape[0]*shape[1]*shape[2]*shape[3])
		for x := range s {
			s[x] = c.r.intn(3) != 0
		}
		return s
	}
	full := [4]int{c.b, c.h, c.lq, c.lk}
	one := [4]int{1, 1, c.lq, c.lk}
	padding := [4]int{c.b, 1, 1, c.lk}
	short := [4]int{1, c.h, 1, c.lk / 2}
	switch c.level("bools") {
	case 1:
		return kernel.Visible(draw(full), full)
	case 2:
		return kernel.Hidden(draw(padding), padding).And(kernel.Visible(draw(one), one))
	case 3:
		return kernel.Visible(draw(short), short)
	case 4: // every second row of a larger mask, with gaps
		larger := [4]int{1, 1, 2*c.lq + 1, c.lk + 3}
		return kernel.HiddenStrided(draw(larger)[2:], one, [3]int{7, 7, 2 * (c.lk + 3)})
	}
	return kernel.Mask{}
}

func (c *optionCase) blocks() kernel.Mask {
	draw := func(query, key int) kernel.Mask {
		s := make([]bool, ceilDiv(c.lq, query)*ceilDiv(c.lk, key))
		for x := range s {
			s[x] = c.r.intn(2) == 0
		}
		return kernel.BlockSparse(s, query, key)
	}
	switch c.level("sparse") {
	case 1:
		return draw(64, 256)
	case 2:
		return draw(16, 32)
	case 3:
		return draw(5, 7)
	}
	return kernel.Mask{}
}

func (c *optionCase) biases() kernel.Tensor {
	draw := func(b, h, l, n int) kernel.Tensor {
		s := filled(b*h*l*n, 0)
		c.r.fill(s)
		for x := range s {
			if c.r.intn(10) == 0 {
				s[x] = negInf[0]
			}
		}
		return kernel.BHLD(s, b, h, l, n)
	}
	switch c.level("bias") {
	case 1:
		return draw(c.b, c.h, c.lq, c.lk)
	case 2:
		return draw(1, 1, c.lq, c.lk)
	case 3:
		return draw(c.b, 1, 1, c.lk)
	case 4:
		return draw(1, c.h, c.lq, (c.lk+1)/2)
	case 5: // strided
		t := draw(1, c.lq, c.h, c.lk+2)
		return kernel.Strided(t.f32[min(1, len(t.f32)):], [4]int{c.b, c.h, c.lq, c.lk}, [3]int{0, c.lk + 2, c.h * (c.lk + 2)})
	}
	return kernel.Tensor{}
}

// poison puts NaN and Inf into k and v: level 1 into a few rows that may be
// visible, level 2 into every row that no query of its batch row sees. Level 3
// puts other numbers with habits of their own into q too.
func (c *optionCase) poison(ref *model) {
	if c.level("poison") == 3 {
		c.r.sprinkle(&ref.q, &ref.k, &ref.v)
	}
	for b := range c.b {
		for h := range c.hkv {
			for j := range c.lk {
				switch c.level("poison") {
				case 1:
					if c.r.intn(100) == 0 {
						rowOf(&ref.v, b, h, j)[c.r.intn(c.dv)] = []float32{nan32, inf32, -inf32}[c.r.intn(3)]
					}
					if c.r.intn(300) == 0 {
						rowOf(&ref.k, b, h, j)[c.r.intn(c.d)] = []float32{nan32, inf32, -inf32}[c.r.intn(3)]
					}
				case 2:
					if !c.seen(ref, b, h, j) {
						fill(rowOf(&ref.k, b, h, j), nan32)
						fill(rowOf(&ref.v, b, h, j), inf32)
					}
				}
			}
		}
	}
}

// sprinkle puts a few special values into tensors.
func (r *rng) sprinkle(tensors ...*kernel.Tensor) {
	special := []float32{nan32, inf32, -inf32, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, 0x1p-140}
	for _, t := range tensors {
		if t.shape[0] == 0 || t.shape[1] == 0 || t.shape[2] == 0 {
			continue
		}
		for range r.intn(4) {
			row := rowOf(t, r.intn(t.shape[0]), r.intn(t.shape[1]), r.intn(t.shape[2]))
			row[r.intn(len(row))] = special[r.intn(len(special))]
		}
	}
}

// seen tells whether any query sees key j of key head h.
func (c *optionCase) seen(ref *model, b, h, j int) bool {
	for head := h * ref.group; head < (h+1)*ref.group; head++ {
		for i := range c.lq {
			if ref.visible(b, head, i, j) {
				return true
			}
		}
	}
	return false
}

// outputs asks for what the level says beside out.
func (c *optionCase) outputs(o *kernel.Options) {
	level := c.level("outputs")
	if level == 0 {
		return
	}
	o.ScoreStage = kernel.ScoreStage(level - 1)
	o.LSE = c.tensor(c.b, c.h, c.lq, 1, canary)
	o.Weights = c.tensor(c.b, c.h, c.lq, c.lk, canary)
	o.Scores = c.tensor(c.b, c.h, c.lq, c.lk, canary)
}

// TestOptions compares calls with options with the contract, on all tiers. Any two
// levels of any two options meet in one of the calls.
func TestOptions(t *testing.T) {
	eachOptionCase(func(n int, c *optionCase) {
		t.Run(fmt.Sprint(n), func(t *testing.T) { c.compare(t, c.options()) })
	})
}

// eachOptionCase calls f with the cases in which any two levels of any two factors
// meet; with a few of them if tests are to be short.
func eachOptionCase(f func(n int, c *optionCase)) {
	levels := make([]int, len(factors))
	for x := range levels {
		levels[x] = factors[x].levels
	}
	for n, row := range covering(levels) {
		if !testing.Short() || n%6 == 0 {
			f(n, newOptionCase(uint64(n), row))
		}
	}
}

// compare makes the call with options o on every tier and compares all that it gives
// with the contract.
func (c *optionCase) compare(t *testing.T, o kernel.Options) {
	q, k, v := c.inputs()
	lengths := c.raggedLengths()
	if lengths.keys != nil {
		o.Mask = o.Mask.And(kernel.KeyLengths(lengths.keys))
	}
	c.poison(newModel(q, k, v, &o))
	q, k, v = c.typed(q, k, v)
	if o.Bias.isSet() {
		o.Bias = o.Bias.as(c.types.q)
	}
	ref := newModel(q, k, v, &o)
	c.outputs(&o)
	rows := map[[3]int]modelRow{}
	want := c.tensor(c.b, c.h, c.lq, c.dv, 0)
	eachRow(&want, func(b, h, i int, row []float32) {
		rows[[3]int{b, h, i}] = ref.row(b, h, i)
		copy(row, rows[[3]int{b, h, i}].out)
	})
	want = want.as(c.types.out)
	q, k, v = lengths.pack(q, k, v)
	eachTier(t, func(t *testing.T, tier *tier) {
		o.Tier = tier.name
		c.outputs(&o)
		out := lengths.packOutputs(c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out), &o)
		if err := kernel.Attention(out, q, k, v, o); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("levels %v", c.levels), &out, &want)
		eachRow(&out, func(b, h, i int, row []float32) {
			want := rows[[3]int{b, h, i}]
			at := fmt.Sprintf("levels %v [%d %d %d]", c.levels, b, h, i)
			if o.LSE.isSet() {
				sameRow(t, "LSE "+at, rowOf(&o.LSE, b, h, i), []float32{want.lse})
				sameRow(t, "weights "+at, rowOf(&o.Weights, b, h, i), want.weights)
				sameRow(t, "scores "+at, rowOf(&o.Scores, b, h, i), want.scores)
			}
		})
		checkGaps(t, &out)
		for _, extra := range []*kernel.Tensor{&o.LSE, &o.Weights, &o.Scores} {
			checkGaps(t, extra)
		}
	})
}

func sameRow(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for e := range want {
		if math.Float32bits(got[e]) != math.Float32bits(want[e]) {
			t.Fatalf("%s: element %d is %v (%08x), want %v (%08x)", what, e, got[e], math.Float32bits(got[e]), want[e], math.Float32bits(want[e]))
		}
	}
}

// covering returns rows of levels such that every pair of levels of two factors
// is in one of them: greedily, of 50 random rows the one with most new pairs.
func covering(levels []int) [][]int {
	type pair [4]int
	open := map[pair]bool{}
	for x := range levels {
		for y := range x {
			for i := range levels[x] {
				for j := range levels[y] {
					open[pair{x, i, y, j}] = true
				}
			}
		}
	}
	eachPair := func(row []int, f func(p pair)) {
		for x := range row {
			for y := range x {
				f(pair{x, row[x], y, row[y]})
			}
		}
	}
	r := rng(7)
	var rows [][]int
	for len(open) > 0 {
		var best []int
		most := 0
		for range 50 {
			row := make([]int, len(levels))
			for x := range row {
				row[x] = r.intn(levels[x])
			}
			n := 0
			eachPair(row, func(p pair) {
				if open[p] {
					n++
				}
			})
			if n > most {
				best, most = row, n
			}
		}
		if best == nil {
			continue
		}
		eachPair(best, func(p pair) { delete(open, p) })
		rows = append(rows, best)
	}
	return rows
}
