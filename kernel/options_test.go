package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// An optionCase draws one level of every factor of a call.
type optionCase struct {
	contracttest.Case
	r      testutil.Rand
	levels []int
}

// factors are the options of a call with the number of their levels. Each level
// of each is a branch in optionCase.build.
var factors = []struct {
	name   string
	levels int
}{
	{"shape", 6}, {"types", 5}, {"spans", 12}, {"bools", 7}, {"sparse", 4}, {"bias", 6}, {"softcap", 3}, {"alibi", 2}, {"sinks", 2},
	{"dropout", 3}, {"positions", 4}, {"score", 2}, {"poison", 4}, {"outputs", 4}, {"threads", 2},
	{"ragged", 4}, {"lists", 7},
}

var optionShapes = []contracttest.Case{
	{B: 1, H: 2, HKV: 1, Lq: 5, Lk: 300, D: 9, Dv: 7},
	{B: 2, H: 4, HKV: 2, Lq: 37, Lk: 37, D: 16, Dv: 8, Layout: contracttest.TokenMajor},
	{B: 3, H: 1, HKV: 1, Lq: 1, Lk: 515, D: 4, Dv: 20, Layout: contracttest.Gaps},
	{B: 2, H: 3, HKV: 1, Lq: 70, Lk: 130, D: 8, Dv: 3},
	{B: 1, H: 2, HKV: 2, Lq: 150, Lk: 257, D: 3, Dv: 16, Layout: contracttest.Gaps},
	{B: 2, H: 2, HKV: 1, Lq: 9, Lk: 1, D: 1, Dv: 1},
}

// optionTypes are element types of a case and, q's, of its bias.
var optionTypes = []contracttest.Types{
	{}, contracttest.Uniform(kernel.Float16), contracttest.Uniform(kernel.BFloat16),
	contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Float16, kernel.BFloat16), contracttest.TypesOf(kernel.Float16, kernel.Float32, kernel.Int8, kernel.Float32),
	contracttest.TypesOf(kernel.Float32, kernel.Float8E4M3, kernel.Float8E5M2, kernel.Float16),
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
	c := &optionCase{r: testutil.Rand(seed), levels: levels}
	c.Case = optionShapes[c.level("shape")]
	c.Seed = seed
	c.Types = optionTypes[c.level("types")]
	return c
}

// options builds the options that the levels stand for.
func (c *optionCase) options() kernel.Options {
	c.Mask = c.spans().And(c.bools()).And(c.blocks())
	o := kernel.Options{Scoring: kernel.Scoring{Mask: c.Mask.Kernel(), Bias: c.biases()}}
	o.Softcap = []float32{0, 0.75, 30}[c.level("softcap")]
	if c.level("alibi") == 1 {
		o.ALiBi = testutil.Filled(c.H, 0)
		c.r.Fill(o.ALiBi)
	}
	if c.level("sinks") == 1 {
		o.Sinks = testutil.Filled(c.H, 0)
		c.r.Fill(o.Sinks)
		if c.H > 2 {
			o.Sinks[2] = contracttest.NegInf
		}
	}
	switch c.level("dropout") {
	case 1:
		o.Dropout = kernel.Dropout{Rate: 0.25, Seed: c.r.Uint64()}
	case 2:
		o.Dropout = kernel.Dropout{Rate: 0.9, Seed: c.r.Uint64(), Sequences: make([]uint32, c.B)}
		for b := range o.Dropout.Sequences {
			o.Dropout.Sequences[b] = uint32(c.r.Uint64())
		}
	}
	switch c.level("positions") {
	case 1:
		o.QueryStart = []int{max(0, c.Lk-c.Lq)}
	case 2:
		o.QueryStart, o.KeyStart = []int{1000}, []int{999 - c.Lk/2}
	case 3:
		for b := range c.B {
			o.KeyStart = append(o.KeyStart, 255*b+c.r.IntN(3))
			o.QueryStart = append(o.QueryStart, o.KeyStart[b]+c.r.IntN(max(c.Lk, 1))-c.Lq)
		}
	}
	if c.level("score") == 1 {
		o.Score = tiltScores
	}
	o.Threads = 1 + 2*c.level("threads")
	return o
}

func (c *optionCase) spans() contracttest.Mask {
	switch c.level("spans") {
	case 1:
		return contracttest.Causal(0)
	case 2:
		return contracttest.Causal(c.r.IntN(300) - 40)
	case 3:
		return contracttest.Window(c.r.IntN(60), -1).And(contracttest.Causal(3))
	case 4:
		return contracttest.Window(c.r.IntN(30), c.r.IntN(30)).And(contracttest.KeyLengths(c.lengths(c.Lk)))
	case 5:
		return contracttest.PrefixLM([]int{c.r.IntN(40)}).And(contracttest.QueryLengths(c.lengths(c.Lq)))
	case 6:
		return contracttest.PrefixLM(c.lengths(100)).And(contracttest.KeyLengths(c.lengths(c.Lk))).And(contracttest.Window(-1, 2))
	case 7:
		return contracttest.Segments(c.ids(c.Lq), c.ids(c.Lk))
	case 8:
		return contracttest.Window(c.r.IntN(60), 0).Or(contracttest.KeyRange(0, c.r.IntN(30))).And(contracttest.Causal(c.r.IntN(40)))
	case 9:
		from := c.r.IntN(300) - 20
		return contracttest.Window(c.r.IntN(40), c.r.IntN(40)).Or(contracttest.KeyRange(from, from+9)).Or(contracttest.QueryRange(from, from+9))
	case 10:
		return contracttest.Chunked(1 + c.r.IntN(40)).Or(contracttest.Segments(c.ids(c.Lq), c.ids(c.Lk))).And(contracttest.Window(c.r.IntN(90), -1).Or(contracttest.KeyRange(c.r.IntN(9), 20)))
	case 11:
		return contracttest.Chunked(1 + c.r.IntN(300)).And(contracttest.KeyLengths(c.lengths(c.Lk)))
	}
	return contracttest.Mask{}
}

// lengths are one per batch row, 0 to most.
func (c *optionCase) lengths(most int) []int {
	n := make([]int, c.B)
	for b := range n {
		n[b] = c.r.IntN(most + 1)
	}
	return n
}

// ids are a few segments in every batch row.
func (c *optionCase) ids(length int) []int32 {
	ids := make([]int32, c.B*length)
	for x := range ids {
		switch {
		case x%length == 0:
			ids[x] = -1
		case c.r.IntN(9) == 0:
			ids[x] = ids[x-1] + 1
		default:
			ids[x] = ids[x-1]
		}
	}
	return ids
}

func (c *optionCase) bools() contracttest.Mask {
	draw := func(shape [4]int) []bool {
		s := make([]bool, shape[0]*shape[1]*shape[2]*shape[3])
		for x := range s {
			s[x] = c.r.IntN(3) != 0
		}
		return s
	}
	full := [4]int{c.B, c.H, c.Lq, c.Lk}
	one := [4]int{1, 1, c.Lq, c.Lk}
	padding := [4]int{c.B, 1, 1, c.Lk}
	short := [4]int{1, c.H, 1, c.Lk / 2}
	switch c.level("bools") {
	case 1:
		return contracttest.Visible(draw(full), full)
	case 2:
		return contracttest.Hidden(draw(padding), padding).And(contracttest.Visible(draw(one), one))
	case 3:
		return contracttest.Visible(draw(short), short)
	case 5:
		return contracttest.VisibleLast(draw(one), one)
	case 6:
		last := [4]int{c.B, 1, c.Lq, min(c.Lk, c.Lq)}
		return contracttest.VisibleLast(draw(last), last).And(contracttest.Hidden(draw(padding), padding))
	case 4: // every second row of a larger mask, with gaps
		larger := [4]int{1, 1, 2*c.Lq + 1, c.Lk + 3}
		return contracttest.HiddenStrided(draw(larger)[2:], one, [3]int{7, 7, 2 * (c.Lk + 3)})
	}
	return contracttest.Mask{}
}

func (c *optionCase) blocks() contracttest.Mask {
	draw := func(query, key int) contracttest.Mask {
		s := make([]bool, ints.CeilDiv(c.Lq, query)*ints.CeilDiv(c.Lk, key))
		for x := range s {
			s[x] = c.r.IntN(2) == 0
		}
		return contracttest.BlockSparse(s, query, key)
	}
	switch c.level("sparse") {
	case 1:
		return draw(64, 256)
	case 2:
		return draw(16, 32)
	case 3:
		return draw(5, 7)
	}
	return contracttest.Mask{}
}

// extremeBiases are finite, and the product of most of them and log2 e is not.
var extremeBiases = []float32{-math.MaxFloat32, math.MaxFloat32, -2.4e38, 2.4e38, -2.3e38, -1e30}

func (c *optionCase) biases() kernel.Tensor {
	draw := func(b, h, l, n int) kernel.Tensor {
		s := testutil.Filled(b*h*l*n, 0)
		c.r.Fill(s)
		for x := range s {
			switch c.r.IntN(20) {
			case 0, 1:
				s[x] = contracttest.NegInf
			case 2:
				s[x] = extremeBiases[c.r.IntN(len(extremeBiases))]
			}
		}
		for row := range b * h * l {
			if c.r.IntN(8) == 0 {
				contracttest.Fill(s[row*n:][:n], -math.MaxFloat32)
			}
		}
		return kernel.BHLD(s, b, h, l, n)
	}
	switch c.level("bias") {
	case 1:
		return draw(c.B, c.H, c.Lq, c.Lk)
	case 2:
		return draw(1, 1, c.Lq, c.Lk)
	case 3:
		return draw(c.B, 1, 1, c.Lk)
	case 4:
		return draw(1, c.H, c.Lq, (c.Lk+1)/2)
	case 5: // strided
		t := draw(1, c.Lq, c.H, c.Lk+2)
		return kernel.Strided(contracttest.Floats(t)[min(1, len(contracttest.Floats(t))):], [4]int{c.B, c.H, c.Lq, c.Lk}, [3]int{0, c.Lk + 2, c.H * (c.Lk + 2)})
	}
	return kernel.Tensor{}
}

// poison puts NaN and Inf into k and v: level 1 into a few rows that may be visible,
// level 2 into every row that no query of its batch row sees. Level 3 puts other special
// numbers into q, too.
func (c *optionCase) poison(q, k, v kernel.Tensor, o *kernel.Options) {
	m := c.Model(q, k, v, o)
	if c.level("poison") == 3 {
		sprinkle(&c.r, &q, &k, &v)
	}
	for b := range c.B {
		for h := range c.HKV {
			for j := range c.Lk {
				switch c.level("poison") {
				case 1:
					if c.r.IntN(100) == 0 {
						contracttest.Row(&v, b, h, j)[c.r.IntN(c.Dv)] = []float32{testutil.NaN, testutil.Inf, -testutil.Inf}[c.r.IntN(3)]
					}
					if c.r.IntN(300) == 0 {
						contracttest.Row(&k, b, h, j)[c.r.IntN(c.D)] = []float32{testutil.NaN, testutil.Inf, -testutil.Inf}[c.r.IntN(3)]
					}
				case 2:
					if !c.seen(m, b, h, j) {
						contracttest.Fill(contracttest.Row(&k, b, h, j), testutil.NaN)
						contracttest.Fill(contracttest.Row(&v, b, h, j), testutil.Inf)
					}
				}
			}
		}
	}
}

// sprinkle puts a few special values into tensors.
func sprinkle(r *testutil.Rand, tensors ...*kernel.Tensor) {
	special := []float32{testutil.NaN, testutil.Inf, -testutil.Inf, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, 0x1p-140}
	for _, t := range tensors {
		if t.Shape()[0] == 0 || t.Shape()[1] == 0 || t.Shape()[2] == 0 {
			continue
		}
		for range r.IntN(4) {
			row := contracttest.Row(t, r.IntN(t.Shape()[0]), r.IntN(t.Shape()[1]), r.IntN(t.Shape()[2]))
			row[r.IntN(len(row))] = special[r.IntN(len(special))]
		}
	}
}

// seen tells whether any query sees key j of key head h.
func (c *optionCase) seen(m *contracttest.Model, b, h, j int) bool {
	for head := h * m.Group(); head < min((h+1)*m.Group(), c.H); head++ { // there may be no query head
		for i := range c.Lq {
			if m.SeesRow(b, head, i, j) {
				return true
			}
		}
	}
	return false
}

// raggedLengths draws what the case's level says. The first batch row is the longest.
func (c *optionCase) raggedLengths() raggedLengths {
	var x raggedLengths
	if level := c.level("ragged"); c.B > 0 {
		x.start = level / 2
		if level&1 != 0 {
			x.queries = c.lengths(c.Lq)
			x.queries[0] = c.Lq
		}
		if level&2 != 0 {
			x.keys = c.lengths(c.Lk)
			x.keys[0] = c.Lk
		}
	}
	return x
}

// lists draws lists of up to Lk rows in any order, some twice.
func (c *optionCase) lists(lengths raggedLengths) kernel.KeyRows {
	shapes := [...][4]int{{}, {1, 1, 1, c.Lk}, {c.B, c.HKV, c.Lq, c.Lk}, {c.B, 1, c.Lq, c.Lk}, {1, c.HKV, 1, c.Lk}, {}, {}}
	shape := shapes[c.level("lists")]
	if shape == [4]int{} {
		return kernel.KeyRows{}
	}
	x := kernel.KeyRows{Rows: make([]int32, shape[0]*shape[1]*shape[2]*shape[3]), Shape: shape}
	for list := range ints.CeilDiv(len(x.Rows), max(1, c.Lk)) {
		rows, most := x.Rows[list*c.Lk:][:c.Lk], c.Lk
		for b := range lengths.keys {
			if shape[0] == 1 || b == list/(shape[1]*shape[2]) {
				most = min(most, lengths.keys[b])
			}
		}
		n := min(1, most) * c.r.IntN(c.Lk+1)
		for i := range rows {
			switch {
			case i >= n:
				rows[i] = -1
			case i > 0 && c.r.IntN(2) == 0 && int(rows[i-1]) < most-1:
				rows[i] = rows[i-1] + 1
			default:
				rows[i] = int32(c.r.IntN(most))
			}
		}
	}
	return x
}

// parents draws a tree for all batch rows, or one for each, and puts it into the keys.
func (c *optionCase) parents(o *kernel.Options) []int32 {
	level := c.level("lists") - 5
	if level < 0 || c.B*c.Lq == 0 {
		return nil
	}
	p := make([]int32, c.Lq*(1+level*(c.B-1)))
	for x := range p {
		p[x] = int32(c.r.IntN(x%c.Lq+1)) - 1
		if n := x % c.Lq; c.r.IntN(3) > 0 {
			p[x] = int32(n - 1)
		}
	}
	o.QueryStart = nil
	for b := range c.B {
		start := 0
		if len(o.KeyStart) > 0 {
			start = o.KeyStart[b%len(o.KeyStart)]
		}
		o.QueryStart = append(o.QueryStart, start+c.r.IntN(c.Lk+1))
	}
	return p
}

// outputs asks for what the level says beside out.
func (c *optionCase) outputs(o *kernel.Options) {
	level := c.level("outputs")
	if level == 0 {
		return
	}
	o.ScoreStage = kernel.ScoreStage(level - 1)
	o.LSE = c.Output(1)
	o.Weights = c.Output(c.Lk)
	o.Scores = c.Output(c.Lk)
}

// TestOptions compares calls with options with the contract, on all tiers. Any two levels of any
// two options meet in some call.
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
		if !testing.Short() || n%13 == 0 { // 13: what a test takes by n%4 or n%3 varies
			f(n, newOptionCase(uint64(n), row))
		}
	}
}

// compare makes the call with options o on every tier and compares all that it gives
// with the contract.
func (c *optionCase) compare(t *testing.T, o kernel.Options) {
	q, k, v := c.Inputs()
	lengths := c.raggedLengths()
	if o.Parents = c.parents(&o); o.Parents != nil {
		lengths.keys = nil // the model would count keys that do not exist
	}
	if o.KeyRows = c.lists(lengths); lengths.keys != nil && o.KeyRows.Rows == nil {
		c.Mask = c.Mask.And(contracttest.KeyLengths(lengths.keys))
		o.Mask = c.Mask.Kernel()
	}
	c.poison(q, k, v, &o)
	q, k, v = c.Typed(q, k, v)
	if contracttest.IsSet(o.Bias) {
		o.Bias = contracttest.As(o.Bias, c.Types.Q)
	}
	model := c.Model(q, k, v, &o)
	c.outputs(&o)
	rows := map[[3]int]contracttest.ModelRow{}
	want := c.Tensor(c.B, c.H, c.Lq, c.Dv, 0)
	contracttest.EachRow(&want, func(b, h, i int, row []float32) {
		rows[[3]int{b, h, i}] = model.Row(b, h, i)
		copy(row, rows[[3]int{b, h, i}].Out)
	})
	want = contracttest.As(want, c.Types.Out)
	q, k, v = lengths.pack(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o.Tier = tier
		c.outputs(&o)
		out := lengths.packOutputs(c.Out(), &o)
		if err := kernel.Attention(out, q, k, v, &o); err != nil {
			t.Fatal(err)
		}
		contracttest.Same(t, fmt.Sprintf("levels %v", c.levels), &out, &want)
		contracttest.EachRow(&out, func(b, h, i int, row []float32) {
			want := rows[[3]int{b, h, i}]
			at := fmt.Sprintf("levels %v [%d %d %d]", c.levels, b, h, i)
			if contracttest.IsSet(o.LSE) {
				contracttest.SameRow(t, "LSE "+at, contracttest.Row(&o.LSE, b, h, i), []float32{want.LSE})
				contracttest.SameRow(t, "weights "+at, contracttest.Row(&o.Weights, b, h, i), want.Weights)
				contracttest.SameRow(t, "scores "+at, contracttest.Row(&o.Scores, b, h, i), want.Scores)
			}
		})
		contracttest.CheckGaps(t, &out)
		for _, extra := range []*kernel.Tensor{&o.LSE, &o.Weights, &o.Scores} {
			contracttest.CheckGaps(t, extra)
		}
	})
}

// covering returns rows of levels such that some row has each pair of levels of two factors. It is
// greedy: 50 random rows compete for the most new pairs.
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
	r := testutil.Rand(7)
	var rows [][]int
	for len(open) > 0 {
		var best []int
		most := 0
		for range 50 {
			row := make([]int, len(levels))
			for x := range row {
				row[x] = r.IntN(levels[x])
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
