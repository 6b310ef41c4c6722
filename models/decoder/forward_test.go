package decoder

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/race"
)

// oneByOne returns the logits after every token of a text that is read token by token, alone.
func oneByOne(t *testing.T, m *Model, tokens []int32) (logits []float32) {
	s := session(t, m, 1, len(tokens))
	x := s.NewText()
	for _, id := range tokens {
		logits = append(logits, forward(t, s, Step{Text: x, Tokens: []int32{id}})[0]...)
	}
	return logits
}

// A text gives the same logits in whatever way it is read.
func TestReadings(t *testing.T) {
	const n = 600 // more than a chunk, and than two blocks of keys
	m := tiny(t, Options{Exec: kernel.Exec{Threads: 1}})
	tokens, other := prompt(n, 5), prompt(n, 6)
	type setting struct {
		dtype     kernel.DType
		quantized bool
	}
	settings := []setting{{kernel.Int8, true}, {kernel.Int4, true}}
	for _, dtype := range cacheTypes {
		settings = append(settings, setting{dtype, false})
	}
	for _, x := range settings {
		dtype, quantized := x.dtype, x.quantized
		t.Run(fmt.Sprintf("%v, quantized %v", dtype, quantized), func(t *testing.T) {
			with := func(tier kernel.Tier, threads, page int) *Model {
				m, err := m.With(Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, CacheType: dtype, DynamicInt12: quantized, PageSize: page})
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			want := oneByOne(t, with(kernel.Tier{}, 1, 64), tokens)
			check := func(what string, from int, logits []float32) {
				t.Helper()
				sameBits(t, what, logits, want[from*tinyVocab:][:len(logits)])
			}
			for _, tier := range kernel.Tiers() {
				if testing.Short() && !isDefault(tier) {
					continue
				}
				for _, threads := range []int{1, 2} {
					s := session(t, with(tier, threads, 16), 3, n)
					x := s.NewText()
					check(fmt.Sprintf("at once, %s, %d threads", tier, threads), 0, forward(t, s, Step{Text: x, Tokens: tokens, Logits: LogitsAll})[0])
				}
			}
			calls := 0
			own, err := m.With(Options{CacheType: dtype, DynamicInt12: quantized, Exec: kernel.Exec{Threads: 3, ParallelFor: func(n int, task func(int)) {
				calls++
				for i := range n {
					task(i)
				}
			}}})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, own, 1, n)
			check("by a parallel-for", 0, forward(t, s, Step{Text: s.NewText(), Tokens: tokens, Logits: LogitsAll})[0])
			if calls == 0 {
				t.Error("the parallel-for is not used")
			}
			for _, size := range []int{7, 64, 256, 299} {
				s := session(t, with(kernel.Tier{}, 1, size), 1, n)
				x := s.NewText()
				for at := 0; at < n; at += size {
					part := tokens[at:min(at+size, n)]
					check(fmt.Sprintf("chunks of %d", size), at, forward(t, s, Step{Text: x, Tokens: part, Logits: LogitsAll})[0])
				}
			}
			beside(t, with(kernel.Tier{}, 2, 16), tokens, other, check)
			forks(t, with(kernel.Tier{}, 1, 16), tokens, other, check)
		})
	}
}

// isDefault tells whether calls that name no tier run on x.
func isDefault(x kernel.Tier) bool { return x.String() == kernel.Tier{}.String() }

// beside reads a text in one batch with others: prompts and single tokens in turn.
func beside(t *testing.T, m *Model, tokens, other []int32, check func(what string, from int, logits []float32)) {
	s := session(t, m, 4, len(tokens))
	var texts [4]*Text
	for i := range texts {
		texts[i] = s.NewText()
	}
	at, turn := 0, 0
	for at < len(tokens) {
		n := min([]int{1, 1, 40, 1, 200, 3}[turn%6], len(tokens)-at)
		steps := []Step{{Text: texts[0], Tokens: tokens[at : at+n], Logits: LogitsAll}}
		for i, x := range texts[1:] {
			k := min([]int{1, 5, 1, 90, 1, 0, 150}[(turn+i)%7], len(other)-x.Len())
			steps = append(steps, Step{Text: x, Tokens: other[x.Len():][:k], Logits: Rows((turn + i) % 3)})
		}
		mine := turn % len(steps)
		steps[0], steps[mine] = steps[mine], steps[0]
		logits := forward(t, s, steps...)
		for i, step := range steps {
			if got, want := len(logits[i]), step.Logits.count(len(step.Tokens))*tinyVocab; got != want {
				t.Errorf("turn %d: step %d has %d logits, want %d", turn, i, got, want)
			}
		}
		check(fmt.Sprintf("in a batch, turn %d", turn), at, logits[mine])
		at += n
		turn++
	}
}

// forks leaves the text for another one, and comes back.
func forks(t *testing.T, m *Model, tokens, other []int32, check func(what string, from int, logits []float32)) {
	s := session(t, m, 3, len(tokens)+50)
	a := s.NewText()
	forward(t, s, Step{Text: a, Tokens: tokens[:250], Logits: LogitsNone})
	forward(t, s, Step{Text: a, Tokens: other[:20]})
	f, err := a.Fork(245)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := a.Keep(tokens)
	if err != nil || !slices.Equal(rest, tokens[a.Len():]) || a.Len() != 250 {
		t.Fatalf("kept %d tokens with %d to read, %v, want 250 of %d", a.Len(), len(rest), err, len(tokens))
	}
	logits := forward(t, s, Step{Text: f, Tokens: tokens[245:], Logits: LogitsAll}, Step{Text: a, Tokens: rest, Logits: LogitsAll})
	check("fork", 245, logits[0])
	check("after a truncation", 250, logits[1])
	if rest, err = a.Keep(tokens); err != nil || len(rest) != 1 {
		t.Fatalf("a text that is the wanted one has %d tokens to read, %v, want the last one", len(rest), err)
	}
	check("last token again", len(tokens)-1, forward(t, s, Step{Text: a, Tokens: rest})[0])
	if !slices.Equal(a.Tokens(), tokens) || !slices.Equal(f.Tokens(), tokens) {
		t.Error("the texts have other tokens than they have read")
	}
	free := s.FreePages()
	a.Free()
	f.Free()
	if s.FreePages() <= free || s.FreePages() != 3*((len(tokens)+50+15)/16) {
		t.Errorf("%d pages are free in the end", s.FreePages())
	}
}

// A step of single tokens allocates nothing, and neither does choosing the next ones.
func TestForwardAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties free lists
	for _, dtype := range cacheTypes {
		m := tiny(t, Options{Exec: kernel.Exec{Threads: 1}, CacheType: dtype})
		s := session(t, m, 2, 100)
		a, b := s.NewText(), s.NewText()
		steps := []Step{{Text: a, Tokens: prompt(10, 1)}, {Text: b, Tokens: prompt(20, 2)}}
		forward(t, s, steps...)
		steps[0].Tokens, steps[1].Tokens = []int32{5}, []int32{6}
		c := newChooser(Sampler{Temperature: 1, TopK: 40, TopP: 0.9, RepetitionPenalty: 1.1})
		step := func() { // 20 calls together: an average would be rounded down
			for range 20 {
				logits, err := s.Forward(t.Context(), steps...)
				if err == nil {
					_, err = c.next(logits[0], a.Tokens())
				}
				if err == nil {
					err = errors.Join(a.Truncate(10), b.Truncate(20))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		got := testing.AllocsPerRun(1, step)
		for tries := 1; got != 0 && tries < 5; tries++ { // the runtime makes threads
			got = testing.AllocsPerRun(1, step)
		}
		if got != 0 && !race.Enabled {
			t.Errorf("%v: %v allocations in 20 steps", dtype, got)
		}
	}
}

// Forks share the memory of tokens, and none sees what another one reads after them.
func TestForksShareTokens(t *testing.T) {
	s := session(t, tiny(t, Options{Exec: kernel.Exec{Threads: 1}}), 4, 100)
	a := s.NewText()
	forward(t, s, Step{Text: a, Tokens: prompt(40, 1)})
	texts, wants := []*Text{a}, [][]int32{prompt(40, 1)}
	fork := func(from, n int) {
		x, err := texts[from].Fork(n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && unsafe.SliceData(x.Tokens()) != unsafe.SliceData(texts[from].Tokens()) {
			t.Errorf("a fork of %d tokens copies them", n)
		}
		texts, wants = append(texts, x), append(wants, slices.Clone(wants[from][:n]))
	}
	fork(0, 30)
	fork(1, 20)
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		i := r.IntN(len(texts))
		switch n := r.IntN(texts[i].Len() + 1); {
		case r.IntN(3) == 0 && len(texts) < 6:
			fork(i, n)
		case r.IntN(2) == 0:
			if err := texts[i].Truncate(n); err != nil {
				t.Fatal(err)
			}
			wants[i] = wants[i][:n]
		case texts[i].Len() < 50:
			more := prompt(1+r.IntN(5), r.IntN(1000))
			forward(t, s, Step{Text: texts[i], Tokens: more, Logits: LogitsNone})
			wants[i] = append(wants[i], more...)
		}
		for k, x := range texts {
			if !slices.Equal(x.Tokens(), wants[k]) {
				t.Fatalf("text %d has the tokens %v, want %v", k, x.Tokens(), wants[k])
			}
		}
	}
}
