package recurrent

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A sample is a text of a test. Rows of queries, keys and values lie side by side, with gaps.
type sample struct {
	Layer
	tokens      int
	rows        []float32 // [tokens, width]
	decay, gate []float32
	factors     []float32 // exponentials of decay, for plain
}

func (s *sample) width() int { return 2*s.KeyHeads*s.KeySize + s.Heads*s.ValueSize + 3 }

func newSample(d Layer, tokens int, seed uint64) *sample {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &sample{Layer: d, tokens: tokens}
	s.rows = make([]float32, tokens*s.width())
	for i := range s.rows {
		s.rows[i] = (r.Float32()*2 - 1) / float32(math.Sqrt(float64(d.KeySize)))
	}
	for range tokens * d.Heads {
		for range d.decays() {
			s.decay = append(s.decay, -r.Float32()*r.Float32())
		}
		s.gate = append(s.gate, r.Float32())
	}
	return s
}

// text returns some of the tokens.
func (s *sample) text(lo, hi int) Text {
	at := func(column, heads, size int) kernel.Tensor {
		n, w := hi-lo, s.width()
		return kernel.Strided(s.rows[lo*w+column:], [4]int{1, heads, n, size}, [3]int{n * w, size, w})
	}
	keys := s.KeyHeads * s.KeySize
	return Text{
		Q: at(0, s.KeyHeads, s.KeySize), K: at(keys, s.KeyHeads, s.KeySize), V: at(2*keys, s.Heads, s.ValueSize),
		Decay: s.decay[lo*s.Heads*s.decays() : hi*s.Heads*s.decays()], Gate: s.gate[lo*s.Heads : hi*s.Heads], Position: lo,
	}
}

// read computes the text in pieces that end at some tokens. States grow where they can.
func (s *sample) read(t *testing.T, exec kernel.Exec, ends ...int) (out, state []float32) {
	t.Helper()
	size := s.Heads * s.ValueSize
	out = make([]float32, s.tokens*size)
	for lo, i := 0, 0; lo < s.tokens; i++ {
		hi := s.tokens
		if i < len(ends) {
			hi = ends[i]
		}
		x := s.text(lo, hi)
		if x.Before, x.After = state, state; lo%chunk == 0 || lo/chunk != hi/chunk || i%3 == 0 || s.Rule.byElement() { // every third one that could grow is copied
			x.After = make([]float32, s.StateSize(hi))
		}
		if err := s.Apply(kernel.Strided(out[lo*size:], [4]int{1, s.Heads, hi - lo, s.ValueSize}, [3]int{(hi - lo) * size, s.ValueSize, size}), x, exec); err != nil {
			t.Fatal(err)
		}
		lo, state = hi, x.After
	}
	return out, state
}

func exp(x float64) float32 { return numeric.Exp2(float32(x) * float32(math.Log2E)) }

// chain adds up fma(a(i), b(i), sum) from 0.
func chain(lo, hi int, a, b func(i int) float32) (sum float32) {
	for i := lo; i < hi; i++ {
		sum = numeric.FMA(a(i), b(i), sum)
	}
	return sum
}

// segments adds the chains of segments to a number.
func segments(sum float32, n int, a, b func(i int) float32) float32 {
	for lo := 0; lo < n; lo += segment {
		sum += chain(lo, min(n, lo+segment), a, b)
	}
	return sum
}

// factor is the decay of element x of a head by tokens lo to hi-1, and 1 if the head has one decay.
func (s *sample) factor(h, x, lo, hi int) float32 {
	d := float32(1)
	for i := lo; i < hi && s.Rule.byElement(); i++ {
		d *= s.factors[(i*s.Heads+h)*s.KeySize+x]
	}
	return d
}

// decayed is element x of the key of token j as token t of its chunk, or of the next one, sees it.
func (s *sample) decayed(k float32, h, x, j, t int) float32 {
	own := j/segment*segment + segment
	for i := j + 1; i <= min(t, own-1); i++ {
		k *= s.factor(h, x, i, i+1)
	}
	for ; own < t/segment*segment; own += segment {
		k *= s.factor(h, x, own, own+segment)
	}
	return k
}

// plain computes the text token by token, as the contract has it.
func (s *sample) plain() (out []float32) {
	w, keys := s.width(), s.KeyHeads*s.KeySize
	out = make([]float32, s.tokens*s.Heads*s.ValueSize)
	s.factors = make([]float32, len(s.decay))
	for i, d := range s.decay {
		s.factors[i] = exp(float64(d))
	}
	for h := range s.Heads {
		group := h / (s.Heads / s.KeyHeads) * s.KeySize
		q := func(t, x int) float32 { return s.rows[t*w+group+x] }
		k := func(t, x int) float32 { return s.rows[t*w+keys+group+x] }
		state := make([][]float32, s.KeySize)
		for x := range state {
			state[x] = make([]float32, s.ValueSize)
		}
		u, sum, first := make([][]float32, s.tokens), make([]float64, s.tokens), 0
		for t := range s.tokens {
			if !s.Rule.byElement() {
				sum[t] = float64(s.decay[t*s.Heads+h])
			}
			if t > first {
				sum[t] += sum[t-1]
			}
			by := func(x, lo, hi int) float32 { return s.factor(h, x, lo, hi) }
			key := func(j, x int) float32 { return s.decayed(k(j, x), h, x, j, t) }
			beta, n := s.gate[t*s.Heads+h], t-first
			begin := first + n/segment*segment
			uses := func(of func(t, x int) float32, factor func(d, product float32) float32) []float32 {
				list := make([]float32, n+1)
				for j := range list {
					row := func(x int) float32 {
						if first+j < begin {
							return of(t, x) * by(x, begin, t+1)
						}
						return of(t, x)
					}
					product := chain(0, s.KeySize, row, func(x int) float32 { return key(first+j, x) })
					list[j] = factor(exp(sum[t]-sum[first+j]), product)
				}
				return list
			}
			ofKeys := uses(k, func(d, product float32) float32 { return -(beta * (d * product)) })
			ofQueries := uses(q, func(d, product float32) float32 { return d * product })
			u[t] = make([]float32, s.ValueSize)
			for c := range s.ValueSize {
				column := func(x int) float32 { return state[x][c] }
				ofU := func(j int) float32 { return u[first+j][c] }
				ks := chain(0, s.KeySize, func(x int) float32 { return k(t, x) * by(x, first, t+1) }, column)
				qs := chain(0, s.KeySize, func(x int) float32 { return q(t, x) * by(x, first, t+1) }, column)
				v := s.rows[t*w+2*keys+h*s.ValueSize+c]
				if u[t][c] = beta * v; s.Rule.corrects() {
					u[t][c] = segments(beta*(v-float32(exp(sum[t])*ks)), n, func(j int) float32 { return ofKeys[j] }, ofU)
				}
				out[(t*s.Heads+h)*s.ValueSize+c] = segments(exp(sum[t])*qs, n+1, func(j int) float32 { return ofQueries[j] }, ofU)
			}
			if n < chunk-1 {
				continue
			}
			for x := range state {
				for c := range state[x] {
					left := float32(by(x, first, t+1) * state[x][c])
					last := func(j int) float32 { // as a row of the next segment would see it
						return exp(sum[t]-sum[first+j]) * s.decayed(k(first+j, x), h, x, first+j, first+chunk)
					}
					state[x][c] = float32(exp(sum[t])*left) + chain(0, chunk, last, func(j int) float32 { return u[first+j][c] })
				}
			}
			first = t + 1
		}
	}
	return out
}

// exact is the recurrence itself, in float64.
func (s *sample) exact() (out []float64) {
	w, keys := s.width(), s.KeyHeads*s.KeySize
	out = make([]float64, s.tokens*s.Heads*s.ValueSize)
	for h := range s.Heads {
		group := h / (s.Heads / s.KeyHeads) * s.KeySize
		state := make([]float64, s.KeySize*s.ValueSize)
		for t := range s.tokens {
			row := s.rows[t*w:]
			decay, beta := s.decay[(t*s.Heads+h)*s.decays():][:s.decays()], float64(s.gate[t*s.Heads+h])
			for c := range s.ValueSize {
				ks, qs := 0.0, 0.0
				for x := range s.KeySize {
					state[x*s.ValueSize+c] *= math.Exp(float64(decay[x%len(decay)]))
					ks += float64(row[keys+group+x]) * state[x*s.ValueSize+c]
				}
				if !s.Rule.corrects() {
					ks = 0
				}
				delta := beta * (float64(row[2*keys+h*s.ValueSize+c]) - ks)
				for x := range s.KeySize {
					state[x*s.ValueSize+c] += float64(row[keys+group+x]) * delta
					qs += float64(row[group+x]) * state[x*s.ValueSize+c]
				}
				out[(t*s.Heads+h)*s.ValueSize+c] = qs
			}
		}
	}
	return out
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v, bits %08x and %08x", what, i, got[i], want[i], math.Float32bits(got[i]), math.Float32bits(want[i]))
		}
	}
}

var sizes = []Layer{{1, 1, 1, 1, GatedDelta}, {2, 1, 8, 6, GatedDelta}, {4, 2, 12, 20, GatedDelta}, {3, 3, 33, 16, GatedDelta}, {1, 1, 1, 1, StateSpace}, {4, 2, 12, 20, StateSpace}, {3, 1, 33, 16, StateSpace}, {4, 2, 12, 20, KimiDelta}, {3, 1, 33, 16, KimiDelta}, {2, 1, 8, 6, GatedLinear}}

// TestBits: a text has the bits of the contract, in whatever pieces it is read, on all tiers and
// threads, and so has its state.
func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i, d := range sizes {
		s := newSample(d, 150+i*17, uint64(i))
		want, state := s.read(t, kernel.Exec{})
		if !testutil.Race { // where it takes most of the time, and shows nothing of threads
			want = s.plain()
		}
		for _, tier := range kernel.Tiers() {
			each := make([]int, s.tokens)
			for j := range each {
				each[j] = j + 1
			}
			ways := [][]int{nil, each, {64, 128}, {63, 65, 66}}
			for range 4 {
				var ends []int
				for at := r.IntN(80); at < s.tokens; at += 1 + r.IntN(80) {
					ends = append(ends, at)
				}
				ways = append(ways, slices.DeleteFunc(ends, func(at int) bool { return at == 0 }))
			}
			for _, ends := range ways {
				what := fmt.Sprintf("%+v, %s, %d pieces", d, tier, len(ends)+1)
				got, after := s.read(t, kernel.Exec{Tier: tier, Threads: 1 + r.IntN(3)}, ends...)
				same(t, what, got, want)
				same(t, what+", the state", after, state)
			}
		}
	}
}

// canonical gives every NaN of x the bits of the contract.
func canonical(x []float32) []float32 {
	for i := range x {
		x[i] = scalar.Canonical(x[i])
	}
	return x
}

// TestNaNs: with infinities, NaNs and zeros of both signs in all arguments, a text has the bits of
// the contract on all tiers and in all pieces, and so has its state: no NaN but 7fc00000.
func TestNaNs(t *testing.T) {
	inf := float32(math.Inf(1))
	for i := range 8 {
		d := []Layer{{1, 1, 1, 1, Rule(i / 2)}, {2, 1, 5, 3, Rule(i / 2)}}[i%2]
		for j, special := range []float32{inf, -inf, math.Float32frombits(0xffc12345), float32(math.Copysign(0, -1)), 0} {
			s := newSample(d, 70, uint64(i))
			for k, x := range [][]float32{s.rows, s.decay, s.gate} {
				if x[(5*i+7*j)%len(x)] = special; k == 1 && !(special < 0) {
					x[(5*i+7*j)%len(x)] = -inf
				}
				x[len(x)-1-3*j] = special // in the next chunk, too
			}
			s.rows[69*s.width()+d.KeySize] = special // a key
			want := canonical(s.plain())
			var state []float32
			for _, tier := range kernel.Tiers() {
				for _, ends := range [][]int{nil, {1, 2, 3, 4, 5, 6, 8, 63, 64, 65, 66}, {15, 17, 20}, {66, 67, 68}} {
					what := fmt.Sprintf("%+v, %v, %s, %v", d, special, tier, ends)
					got, after := s.read(t, kernel.Exec{Tier: tier}, ends...)
					if state == nil {
						state = canonical(slices.Clone(after))
					}
					same(t, what, got, want)
					same(t, what+", the state", after, state)
				}
			}
		}
	}
}

// TestExact: the results are near the recurrence in float64.
func TestExact(t *testing.T) {
	for i, d := range sizes {
		s := newSample(d, 300, uint64(20+i))
		got, _ := s.read(t, kernel.Exec{})
		largest, most := 0.0, 0.0
		for j, want := range s.exact() {
			largest, most = max(largest, math.Abs(want)), max(most, math.Abs(float64(got[j])-want))
		}
		if !(most <= 1e-5*largest) || largest == 0 {
			t.Errorf("%+v: an error of %g, and numbers up to %g", d, most, largest)
		}
	}
}

// TestGivenUp: a state that grew in place holds the one before, too. What is read from there has
// the bits that it would have without the tokens given up, and so has its state.
func TestGivenUp(t *testing.T) {
	for i, d := range sizes {
		if d.Rule.byElement() {
			continue // grows nowhere, see TestErrors
		}
		s, draft := newSample(d, 70, uint64(i)), newSample(d, 70, uint64(40+i))
		apply := func(s *sample, lo, hi int, before, after []float32) []float32 {
			x, out := s.text(lo, hi), make([]float32, (hi-lo)*d.Heads*d.ValueSize)
			x.Before, x.After = before, after
			if err := d.Apply(kernel.BLHD(out, 1, hi-lo, d.Heads, d.ValueSize), x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, end := range []int{7, 9, 10, 63, 64, 70} {
			var outs, states [3][]float32
			for way := range outs {
				at, state := 5, make([]float32, d.StateSize(5))
				if apply(s, 0, at, nil, state); way > 0 {
					apply(draft, at, 10, state, state)
				}
				if way == 2 { // one more in place
					outs[way], at = apply(s, at, 6, state, state), 6
				}
				states[way] = make([]float32, d.StateSize(end))
				outs[way] = append(outs[way], apply(s, at, end, state, states[way])...)
			}
			for way := 1; way < len(outs); way++ {
				what := fmt.Sprintf("%+v, way %d, %d tokens", d, way, end)
				same(t, what, outs[way], outs[0])
				same(t, what+", the state", states[way], states[0])
			}
		}
	}
}

// TestErrors: arguments that do not fit are named, and nothing is written.
func TestErrors(t *testing.T) {
	s := newSample(Layer{4, 2, 12, 20, GatedDelta}, 70, 1)
	grow := func(d *Layer, x *Text) *Text { // 9 tokens in place
		*x = s.text(0, 9)
		x.Position, x.Before = 1, make([]float32, d.StateSize(1))
		x.After = x.Before
		return x
	}
	for _, c := range []struct {
		change func(d *Layer, x *Text)
		arg    string
	}{
		{func(d *Layer, x *Text) { d.KeyHeads = 3 }, "Layer.KeyHeads"},
		{func(d *Layer, x *Text) { d.KeySize = MostSize + 1 }, "Layer.KeySize"},
		{func(d *Layer, x *Text) { d.ValueSize = 0 }, "Layer.ValueSize"},
		{func(d *Layer, x *Text) { d.Rule = GatedLinear + 1 }, "Layer.Rule"},
		{func(d *Layer, x *Text) { x.Q = x.V }, "Text.Q"},
		{func(d *Layer, x *Text) { x.K = kernel.Tensor{} }, "Text.K"},
		{func(d *Layer, x *Text) { x.Position = -1 }, "Text.Position"},
		{func(d *Layer, x *Text) { x.Position = 1 }, "Text.Before"},
		{func(d *Layer, x *Text) { x.Decay = x.Decay[1:] }, "Text.Decay"},
		{func(d *Layer, x *Text) { x.Gate = nil }, "Text.Gate"},
		{func(d *Layer, x *Text) { x.After = x.After[1:] }, "Text.After"},
		{func(d *Layer, x *Text) { x.After = x.Decay[:0] }, "Text.After"},
		{func(d *Layer, x *Text) { // a chunk ends on the way
			x.Position, x.Before = 1, make([]float32, d.StateSize(1))
			x.After = x.Before
		}, "Text.After"},
		{func(d *Layer, x *Text) {
			d.Rule = KimiDelta
			grow(d, x).Decay = make([]float32, 9*d.Heads*d.KeySize)
		}, "Text.After"},
		{func(d *Layer, x *Text) { d.Rule, x.After = KimiDelta, nil }, "Text.Decay"},
		{func(d *Layer, x *Text) { grow(d, x).Q = kernel.BHLD(x.After, 1, d.KeyHeads, 9, d.KeySize) }, "Text.After"},
		{func(d *Layer, x *Text) { grow(d, x).K = kernel.BHLD(x.After[9:], 1, d.KeyHeads, 9, d.KeySize) }, "Text.After"},
		{func(d *Layer, x *Text) { grow(d, x).V = kernel.BHLD(x.After[99:], 1, d.Heads, 9, d.ValueSize) }, "Text.After"},
		{func(d *Layer, x *Text) { grow(d, x).Decay = x.After[:9*d.Heads] }, "Text.After"},
		{func(d *Layer, x *Text) { grow(d, x).Gate = x.After[len(x.After)-9*d.Heads:] }, "Text.After"},
	} {
		d, x := s.Layer, s.text(0, s.tokens)
		x.After = make([]float32, d.StateSize(s.tokens))
		c.change(&d, &x)
		out := make([]float32, s.tokens*s.Heads*s.ValueSize)
		tokens := max(1, x.Q.Shape()[2])
		err := d.Apply(kernel.BHLD(out[:s.Heads*tokens*s.ValueSize], 1, s.Heads, tokens, s.ValueSize), x, kernel.Exec{})
		var bad *kernel.Error
		if !errors.As(err, &bad) || bad.Arg() != c.arg {
			t.Errorf("%v, want an error about %s", err, c.arg)
		}
		if slices.ContainsFunc(slices.Concat(out, x.After), func(x float32) bool { return x != 0 }) && c.arg != "Text.After" {
			t.Errorf("%s: a call with an error has written", c.arg)
		}
	}
}

// TestAllocations: in the steady state a call allocates nothing.
func TestAllocations(t *testing.T) {
	s := newSample(Layer{4, 2, 12, 20, GatedDelta}, 70, 1)
	x, out := s.text(0, s.tokens), make([]float32, s.tokens*s.Heads*s.ValueSize)
	x.After = make([]float32, s.StateSize(s.tokens))
	if n := testing.AllocsPerRun(20, func() {
		if err := s.Apply(kernel.BHLD(out, 1, s.Heads, s.tokens, s.ValueSize), x, kernel.Exec{Threads: 1}); err != nil {
			t.Fatal(err)
		}
	}); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkLayer computes 2,048 tokens of 16 heads of 128 by each rule, and attention of these
// sizes beside it.
func BenchmarkLayer(b *testing.B) {
	const tokens = 2048
	d := Layer{16, 16, 128, 128, GatedDelta}
	s := newSample(d, tokens, 1)
	out := make([]float32, tokens*d.Heads*d.ValueSize)
	o := kernel.Strided(out, [4]int{1, d.Heads, tokens, d.ValueSize}, [3]int{len(out), d.ValueSize, d.Heads * d.ValueSize})
	x := s.text(0, tokens)
	report := func(b *testing.B) { b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s") }
	for rule, name := range []string{"delta", "statespace", "kimi", "linear"} {
		b.Run(name, func(b *testing.B) {
			d := d
			d.Rule = Rule(rule)
			x := newSample(d, tokens, 1).text(0, tokens)
			x.After = make([]float32, d.StateSize(tokens))
			for b.Loop() {
				if err := d.Apply(o, x, kernel.Exec{Threads: 1}); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
	}
	b.Run("attention", func(b *testing.B) {
		for b.Loop() {
			if err := kernel.Attention(o, x.Q, x.K, x.V, &kernel.Options{Exec: kernel.Exec{Threads: 1}, Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
	b.Run("token", func(b *testing.B) {
		one := s.text(100, 101)
		one.Before, one.After = make([]float32, d.StateSize(100)), make([]float32, d.StateSize(101))
		for b.Loop() {
			if err := d.Apply(kernel.BHLD(out[:d.Heads*d.ValueSize], 1, d.Heads, 1, d.ValueSize), one, kernel.Exec{Threads: 1}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestStateSizeSaturates: sizes that an int does not hold, as of 32 bits, are the largest int, and
// no slice fits them.
func TestStateSizeSaturates(t *testing.T) {
	d := Layer{Heads: 1 << 16, KeyHeads: 1, KeySize: 1 << 10, ValueSize: 64}
	for _, position := range []int{1, chunk} {
		if got, want := d.StateSize(position), min(uint64(math.MaxInt), 1<<16*uint64(d.headSize(position))); uint64(got) != want {
			t.Errorf("StateSize(%d) is %d, want %d", position, got, want)
		}
	}
	d.Heads = 1 << 15 // 2^31
	if got := d.StateSize(chunk); got < math.MaxInt32 {
		t.Errorf("StateSize is %d", got)
	}
	row := func(heads, size int) kernel.Tensor {
		return kernel.BLHD(make([]float32, heads*size), 1, 1, heads, size)
	}
	x := Text{Q: row(1, d.KeySize), K: row(1, d.KeySize), V: row(d.Heads, d.ValueSize), Decay: make([]float32, d.Heads), Gate: make([]float32, d.Heads), Position: chunk}
	if err := d.Apply(row(d.Heads, d.ValueSize), x, kernel.Exec{}); err == nil || !strings.Contains(err.Error(), "Text.Before: 0 numbers") {
		t.Errorf("a state that fits no slice: %v", err)
	}
}
