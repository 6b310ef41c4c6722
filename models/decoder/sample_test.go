package decoder

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/internal/tinyllama"
)

// logitsOf returns n random logits, with some that are equal.
func logitsOf(n int) []float32 {
	f := &tinyllama.File{Random: 77}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(float64(f.Next()*120))) / 10
	}
	return x
}

// left computes by the definition which tokens a sampler leaves, the most probable first, and
// the probabilities among them.
func left(logits []float32, s Sampler) (ids []int, p []float64) {
	total := 0.0
	for i := range logits {
		ids = append(ids, i)
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	if s.TopK > 0 {
		ids = ids[:min(s.TopK, len(ids))]
	}
	for _, id := range ids {
		x := math.Exp(float64(logits[id]-logits[ids[0]]) / s.Temperature)
		p = append(p, x)
		total += x
	}
	if s.TopP > 0 {
		sum := 0.0
		for i, x := range p {
			if sum += x; sum >= s.TopP*total {
				ids, p, total = ids[:i+1], p[:i+1], sum
				break
			}
		}
	}
	for i, id := range ids {
		if math.Exp(float64(logits[id]-logits[ids[0]])) < s.MinP {
			ids, p, total = ids[:i], p[:i], 0
			for _, x := range p {
				total += x
			}
			break
		}
	}
	for i := range p {
		p[i] /= total
	}
	return ids, p
}

// Every setting draws the tokens of its definition, as often as their probabilities say.
func TestDraw(t *testing.T) {
	const n, draws = 600, 4000
	for _, s := range []Sampler{
		{Temperature: 1}, {Temperature: 3}, {Temperature: 0.001},
		{Temperature: 1, TopK: 1}, {Temperature: 2, TopK: 7}, {Temperature: 3, TopK: 300}, {Temperature: 2, TopK: 1000},
		{Temperature: 1, TopP: 0.5}, {Temperature: 3, TopP: 0.95}, {Temperature: 1, TopP: 1e-9}, {Temperature: 3, TopP: LeastTopP}, {Temperature: 3, TopK: 40, TopP: LeastTopP}, {Temperature: 1, TopP: 1},
		{Temperature: 3, TopK: 20, TopP: 0.8}, {Temperature: 3, TopK: 400, TopP: 0.8},
		{Temperature: 3, MinP: 0.05}, {Temperature: 1, MinP: 1}, {Temperature: 2, TopK: 7, MinP: 0.5}, {Temperature: 3, TopP: 0.95, MinP: 0.02},
	} {
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		logits := logitsOf(n)
		ids, p := left(logits, s)
		c, counts := newChooser(s), make([]int, n)
		for range draws {
			id, err := c.next(logits, nil)
			if err != nil {
				t.Fatal(err)
			}
			counts[id]++
		}
		if len(c.ids) > 0 && s.MinP == 0 && !slices.Equal(c.ids, ids) {
			t.Errorf("%+v leaves %v, want %v", s, c.ids, ids)
		}
		total := 0
		for i, id := range ids {
			total += counts[id]
			// Six standard deviations of a binomial distribution.
			if want := p[i] * draws; math.Abs(float64(counts[id])-want) > 6*math.Sqrt(want*(1-p[i]))+6 {
				t.Errorf("%+v draws token %d %d times, want about %.0f", s, id, counts[id], want)
			}
		}
		if total != draws {
			t.Errorf("%+v draws %d tokens that are not left", s, draws-total)
		}
	}
}

// A bias is added to the logits, which keep their bits, before anything else.
func TestBias(t *testing.T) {
	for _, s := range []Sampler{{}, {Temperature: 2, TopK: 40, RepetitionPenalty: 1.3, FrequencyPenalty: 0.5}, {Temperature: 1, TopP: 0.9, MinP: 0.01}} {
		logits, text := logitsOf(300), []int32{5, 7, 5}
		given, biased := slices.Clone(logits), slices.Clone(logits)
		bias := map[int32]float32{5: 3.7, 7: -100, 299: 1.1, 12: 100}
		for id, b := range bias {
			biased[id] += b
		}
		with, want := newChooser(s), newChooser(s)
		with.bias = bias
		for range 50 {
			a, err := with.next(logits, text)
			if err != nil {
				t.Fatal(err)
			}
			b, err := want.next(biased, text)
			if err != nil || a != b {
				t.Fatalf("%+v: token %d, %v, want %d", s, a, err, b)
			}
		}
		if !slices.Equal(logits, given) {
			t.Errorf("%+v changes the logits", s)
		}
	}
}

// The tokens of a seed are the same on every machine.
func TestSeed(t *testing.T) {
	for _, x := range []struct {
		s    Sampler
		want []int32
	}{
		{Sampler{Temperature: 2, Seed: 1}, []int32{310, 26, 376, 5, 364, 290, 464, 309}},
		{Sampler{Temperature: 2, TopK: 40, TopP: 0.9, Seed: 1}, []int32{319, 65, 8, 475, 119, 24, 156, 319}},
		{Sampler{Temperature: 2, TopP: 0.9, Seed: 1 << 63}, []int32{499, 492, 65, 60, 424, 8, 509, 284}},
	} {
		c, got := newChooser(x.s), []int32(nil)
		for range 8 {
			id, err := c.next(logitsOf(600), nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%+v draws %v, want %v", x.s, got, x.want)
		}
	}
}

// The penalties follow llama.cpp: its formula, for the tokens of a window.
func TestPenalty(t *testing.T) {
	logits := []float32{4, 3, -1, 2.5, 0, -2}
	tokens := []int32{1, 1, 0, 2, 0, 5, 0}
	for _, x := range []struct {
		s    Sampler
		want []float32
	}{
		{Sampler{RepetitionPenalty: 2}, []float32{2, 1.5, -2, 2.5, 0, -4}},
		{Sampler{RepetitionPenalty: 2, PenaltyWindow: 5}, []float32{2, 3, -2, 2.5, 0, -4}},
		{Sampler{RepetitionPenalty: 0.5, PenaltyWindow: 1}, []float32{8, 3, -1, 2.5, 0, -2}},
		{Sampler{FrequencyPenalty: 0.5}, []float32{2.5, 2, -1.5, 2.5, 0, -2.5}},
		{Sampler{PresencePenalty: 0.5}, []float32{3.5, 2.5, -1.5, 2.5, 0, -2.5}},
		{Sampler{RepetitionPenalty: 2, FrequencyPenalty: 0.5, PresencePenalty: -1, PenaltyWindow: 6}, []float32{1.5, 2, -1.5, 2.5, 0, -3.5}},
	} {
		c, given := newChooser(x.s), slices.Clone(logits)
		for range 2 { // nothing is left over from the first call
			id, err := c.next(given, tokens)
			if want := slices.Index(x.want, slices.Max(x.want)); err != nil || int(id) != want || !slices.Equal(c.scores, x.want) {
				t.Errorf("%+v: token %d of %v, %v, want %d of %v", x.s, id, c.scores, err, want, x.want)
			}
			if !slices.Equal(given, logits) {
				t.Errorf("%+v changes the logits to %v", x.s, given)
			}
		}
	}
}

// Logits from which nothing can be chosen are errors.
func TestBadLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, x := range []struct {
		s      Sampler
		logits []float32
	}{
		{Sampler{}, []float32{nan, nan}},
		{Sampler{Temperature: 1}, []float32{nan, nan}},
		{Sampler{Temperature: 1}, []float32{nan, 1}},
		{Sampler{Temperature: 1, TopP: 0.5}, []float32{1, nan}},
		{Sampler{Temperature: 1, TopK: 2}, []float32{1, inf, 2}},
		{Sampler{Temperature: 1, TopP: 0.5}, []float32{1, inf, 2}},
		{Sampler{Temperature: 1, MinP: 0.5}, []float32{nan, 1}},
		{Sampler{Temperature: 1, MinP: 0.5}, []float32{1, inf, 2}},
	} {
		if id, err := newChooser(x.s).next(x.logits, nil); err == nil {
			t.Errorf("%+v chooses %d from %v", x.s, id, x.logits)
		}
	}
	if id, err := newChooser(Sampler{}).next([]float32{nan, 1, nan}, nil); err != nil || id != 1 {
		t.Errorf("the most probable token is %d, %v, want 1", id, err)
	}
}
