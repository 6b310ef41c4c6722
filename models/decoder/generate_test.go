package decoder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// collect returns the tokens that each text gets.
func collect(t testing.TB, texts int, tokens iter.Seq2[Token, error]) [][]int32 {
	t.Helper()
	got := make([][]int32, texts)
	for token, err := range tokens {
		if err != nil {
			t.Fatal(err)
		}
		if token.End != EndToken {
			got[token.Index] = append(got[token.Index], token.ID)
		}
	}
	return got
}

// samplers are settings that take all paths.
var samplers = []Sampler{
	{},
	{RepetitionPenalty: 1.3},
	{Temperature: 1, Seed: 3},
	{Temperature: 0.7, TopK: 10, TopP: 0.8, Seed: 4},
	{Temperature: 2, TopP: 0.9, RepetitionPenalty: 1.1, Seed: 5},
	{Temperature: 1, FrequencyPenalty: 0.5, PresencePenalty: -0.25, PenaltyWindow: 20, Seed: 6},
}

// prompts are some that have a beginning in common, and two that are the same.
func prompts() [][]int32 {
	p := prompt(90, 8)
	return [][]int32{append(p[:70:70], 1, 2, 3), p[:60:60], p, slices.Clone(p)}
}

// Prompts side by side get the tokens that each gets alone, with its seed, on every tier,
// with and without guesses.
func TestGenerateBatch(t *testing.T) {
	m := tiny(t, Options{Exec: kernel.Exec{Threads: 1}})
	const n = 60
	for i, sampler := range samplers {
		o := GenerateOptions{MaxTokens: n, Sampler: sampler, Stop: []int32{}}
		var want [][]int32
		for i, p := range prompts() {
			alone := o
			alone.Sampler.Seed += uint64(i)
			got := collect(t, 1, m.Generate(t.Context(), p, alone))[0]
			if len(got) != n {
				t.Fatalf("%+v: %d tokens, want %d", sampler, len(got), n)
			}
			want = append(want, got)
		}
		if sampler.Temperature > 0 && slices.Equal(want[2], want[3]) {
			t.Errorf("%+v: two seeds draw the same tokens", sampler)
		}
		for _, tier := range kernel.Tiers() {
			other, err := m.With(Options{Exec: kernel.Exec{Tier: tier, Threads: 2}, PageSize: 16})
			if err != nil {
				t.Fatal(err)
			}
			o.Draft = 5 * (i % 2)
			for j, got := range collect(t, 4, other.GenerateBatch(t.Context(), prompts(), o)) {
				if !slices.Equal(got, want[j]) {
					t.Errorf("%+v on %s, text %d: tokens %v, want %v", sampler, tier, j, got, want[j])
				}
			}
		}
	}
}

// Prompts that fit one page, which they share, have room.
func TestShortPrompts(t *testing.T) {
	m := tiny(t, Options{PageSize: 64})
	p := prompt(4, 9)
	o := GenerateOptions{MaxTokens: 60, Stop: []int32{}}
	want := collect(t, 1, m.Generate(t.Context(), p, o))[0]
	for i, got := range collect(t, 3, m.GenerateBatch(t.Context(), [][]int32{p, p, p}, o)) {
		if !slices.Equal(got, want) {
			t.Errorf("text %d: %v, want %v", i, got, want)
		}
	}
	for _, x := range []struct {
		prompts [][]int32
		want    int
	}{{nil, 0}, {[][]int32{p}, 0}, {[][]int32{p, p}, 3}, {[][]int32{p, p[:2], p}, 1}, {[][]int32{p, {}}, 0}, {[][]int32{p, p[1:]}, 0}} {
		if got := SharedPrefix(x.prompts); got != x.want {
			t.Errorf("%v share %d tokens, want %d", x.prompts, got, x.want)
		}
	}
}

// Guesses change no token, and save steps where a text repeats itself: without attention the
// most probable token follows from the one before.
func TestDraft(t *testing.T) {
	file := tinyllama.New(nil)
	for _, w := range file.Tensors {
		if strings.Contains(w.Name, "attn_output") {
			clear(w.Data)
		}
	}
	m, err := loadTiny(file, Options{Exec: kernel.Exec{Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 150
	for _, sampler := range samplers {
		var want []int32
		for _, draft := range []int{0, 1, 7, 40} {
			s := session(t, m, 1, tinyContext)
			passes := 0
			s.tokens.See = func(name string, _ int, _ []float32) {
				if name == "embd" {
					passes++
				}
			}
			x := s.NewText()
			o := GenerateOptions{MaxTokens: n, Sampler: sampler, Stop: []int32{}, Draft: draft}
			got := collect(t, 1, s.Generate(t.Context(), o, Step{Text: x, Tokens: prompt(30, 2)}))[0]
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v, %d guesses: tokens %v, want %v", sampler, draft, got, want)
			}
			if all := append(prompt(30, 2), got[:n-1]...); !slices.Equal(x.Tokens(), all) || x.kv.Len() != len(all) {
				t.Errorf("%+v, %d guesses: the text has %d tokens, want %d", sampler, draft, x.Len(), len(all))
			}
			if sampler == (Sampler{}) && draft >= 7 && passes > n/3 {
				t.Errorf("%d guesses: %d passes for %d tokens", draft, passes, n)
			}
		}
	}
}

// TestDraftModel: whatever a draft model guesses, the tokens are the same. One with the same
// weights is always right with greedy texts, and others, also with a smaller context, are not.
func TestDraftModel(t *testing.T) {
	const n, draft = 60, 4
	m, same, short := tiny(t, Options{}), tiny(t, Options{}), tiny(t, Options{Context: 50, PageSize: 16})
	file := tinyllama.New(nil)
	for _, w := range file.Tensors {
		if strings.Contains(w.Name, "ffn_down") {
			clear(w.Data)
		}
	}
	other, err := loadTiny(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sampler := range samplers {
		o := GenerateOptions{MaxTokens: n, Sampler: sampler, Stop: []int32{}}
		want := collect(t, 4, m.GenerateBatch(t.Context(), prompts(), o))
		for name, by := range map[string]*Model{"the same": same, "short": short, "another": other} {
			passes := 0
			o.Draft, o.DraftModel = draft, by
			s, steps := session(t, m, 4, tinyContext), []Step(nil)
			for _, p := range prompts() {
				steps = append(steps, Step{Text: s.NewText(), Tokens: p})
			}
			s.tokens.See = func(name string, _ int, _ []float32) {
				if name == "embd" {
					passes++
				}
			}
			if got := collect(t, 4, s.Generate(t.Context(), o, steps...)); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
				t.Errorf("%s, %+v: tokens %v, want %v", name, sampler, got, want)
			}
			t.Logf("%s, %+v: %d passes for %d tokens of each text", name, sampler, passes, n)
			if name == "the same" && sampler == (Sampler{}) && passes > n/(draft+1)+2 {
				t.Errorf("%d passes for %d tokens of each text", passes, n)
			}
		}
	}
	for _, o := range []GenerateOptions{{DraftModel: same}, {Draft: 1, DraftModel: loadRecurrent(t, "lfm2-1", Options{})}} {
		for _, err := range m.Generate(t.Context(), []int32{1}, o) {
			if bad := (*kernel.Error)(nil); !errors.As(err, &bad) || !strings.Contains(bad.Where, "GenerateOptions.Draft") {
				t.Errorf("the error %v, want one of GenerateOptions.Draft", err)
			}
			break
		}
	}
}

// TestDraftModelStates: guesses that are wrong leave no trace in the states of recurrent layers, of
// either model.
func TestDraftModelStates(t *testing.T) {
	for name, draft := range map[string]string{"falcon_h1-41": "falcon_h1-41", "granitemoehybrid-41": "granitemoehybrid-42"} {
		m, by := loadRecurrent(t, name, Options{}), loadRecurrent(t, draft, Options{})
		for _, sampler := range samplers[:4] {
			o := GenerateOptions{MaxTokens: 24, Sampler: sampler, Stop: []int32{}}
			some, steps, passes := prompts()[:2], []Step(nil), 0
			want := collect(t, 2, m.GenerateBatch(t.Context(), some, o))
			o.Draft, o.DraftModel = 3, by
			s := session(t, m, 4, tinyContext) // with room for guesses
			for _, p := range some {
				steps = append(steps, Step{Text: s.NewText(), Tokens: p})
			}
			s.tokens.See = func(name string, _ int, _ []float32) {
				if name == "embd" {
					passes++
				}
			}
			if got := collect(t, 2, s.Generate(t.Context(), o, steps...)); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
				t.Errorf("%s by %s, %+v: tokens %v, want %v", name, draft, sampler, got, want)
			}
			if name == draft && sampler == (Sampler{}) && passes > o.MaxTokens/2 {
				t.Errorf("%s: %d passes for %d tokens of each text", name, passes, o.MaxTokens)
			}
		}
	}
}

// TestDraftTurns: a draft model reads what is new in a turn of a conversation, and all of it again
// where its cache became too small, which grows to twice its size at least.
func TestDraftTurns(t *testing.T) {
	m := tiny(t, Options{PageSize: 16})
	s := session(t, m, 2, 0)
	x, other := s.NewText(), s.NewText()
	o := GenerateOptions{MaxTokens: 10, Stop: []int32{}, Draft: 3, DraftModel: tiny(t, Options{PageSize: 16})}
	read, grown := 0, 0
	var talk []int32
	var drafts *Session // of the last turn
	for turn := range 12 {
		talk = append(talk, prompt(8, turn)...)
		rest, err := x.Keep(talk)
		if err != nil {
			t.Fatal(err)
		}
		before, had := read, len(talk)-8
		if s.draft != nil {
			s.draft.tokens.See = func(name string, _ int, rows []float32) {
				if name == "embd" {
					read += len(rows) / tinyWidth
				}
			}
		}
		talk = append(talk, collect(t, 1, s.Generate(t.Context(), o, Step{Text: x, Tokens: rest}))[0]...)
		if s.draft != drafts {
			grown, drafts = grown+1, s.draft
		} else if read-before > 8+3*o.MaxTokens {
			t.Errorf("turn %d: the draft model has read %d tokens behind %d, want what is new", turn, read-before, had)
		}
		if turn == 6 {
			collect(t, 1, s.Generate(t.Context(), o, Step{Text: other, Tokens: prompt(5, 1)}))
		}
	}
	if read == 0 || grown > 6 {
		t.Errorf("%d tokens are read in caches that are new %d times", read, grown)
	}
	free := s.draft.FreePages()
	if x.Free(); s.draft.FreePages() <= free {
		t.Error("a text that is freed keeps what the draft model has read of it")
	}
}

// TestDraftShort: texts of few tokens, whose cache has room for them alone, have guesses: a model
// that guesses for itself needs a step for each four tokens.
func TestDraftShort(t *testing.T) {
	m := tiny(t, Options{PageSize: 16})
	o := GenerateOptions{MaxTokens: 12, Stop: []int32{}}
	want := collect(t, 4, m.GenerateBatch(t.Context(), prompts(), o))
	o.Draft, o.DraftModel = 3, m
	s, steps, err := m.begin(t.Context(), prompts(), &o)
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	s.tokens.See = func(name string, _ int, _ []float32) {
		if name == "embd" {
			passes++
		}
	}
	if got := collect(t, 4, s.Generate(t.Context(), o, steps...)); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
		t.Errorf("tokens %v, want %v", got, want)
	}
	if passes > 4 { // of the prompts, and of 11 tokens
		t.Errorf("%d passes for %d tokens of each text", passes, o.MaxTokens)
	}
}

// TestDraftFull: where the cache has no room for guesses, texts go on without them.
func TestDraftFull(t *testing.T) {
	m := tiny(t, Options{PageSize: 16})
	o := GenerateOptions{MaxTokens: 60, Stop: []int32{}}
	stop := collect(t, 1, m.Generate(t.Context(), prompt(5, 1), o))[0][9]
	o.Stop = []int32{stop}
	want := collect(t, 1, m.Generate(t.Context(), prompt(5, 1), o))[0]
	o.Draft, o.DraftModel = 12, m
	s := session(t, m, 2, 16) // as many as the texts need
	step := func() Step { return Step{Text: s.NewText(), Tokens: prompt(5, 1)} }
	g, err := s.newGeneration(&o, []Step{step(), step()})
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]int32
	full := false
	for len(g.streams) > 0 {
		if err := g.step(t.Context(), func(token Token, _ error) bool {
			if token.End != EndToken {
				got[token.Index] = append(got[token.Index], token.ID)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		full = full || g.full
	}
	if !full || !slices.Equal(got[0], want) || !slices.Equal(got[1], want) {
		t.Errorf("full %v, tokens %v, want %v", full, got, want)
	}
}

// TestDraftStale: what a draft model has read of a text that is another one now takes no pages from
// other texts, also where the text ends before anything is guessed for it. Where the draft model
// has no pages, nothing is guessed.
func TestDraftStale(t *testing.T) {
	m := loadWindows(t, "llama-2", Options{})
	s := session(t, m, 2, windowContext)
	a, b := s.NewText(), s.NewText()
	o := GenerateOptions{MaxTokens: 100, Stop: []int32{}}
	first := collect(t, 1, m.Generate(t.Context(), prompt(5, 9), o))[0][0]
	want := collect(t, 1, m.Generate(t.Context(), prompt(690, 4), GenerateOptions{MaxTokens: 100, Stop: []int32{first}}))
	o.MaxTokens, o.Draft, o.DraftModel = 10, 4, m
	collect(t, 1, s.Generate(t.Context(), o, Step{Text: a, Tokens: prompt(900, 3)}))
	if err := a.Truncate(0); err != nil {
		t.Fatal(err)
	}
	o.MaxTokens, o.Stop = 100, []int32{first}
	got := collect(t, 2, s.Generate(t.Context(), o, Step{Text: a, Tokens: prompt(5, 9)}, Step{Text: b, Tokens: prompt(690, 4)}))
	if len(got[0]) != 0 || !slices.Equal(got[1], want[0]) {
		t.Errorf("tokens %v, want none and %v", got, want[0])
	}
	if n := a.draft.Len(); n > 5 {
		t.Errorf("the draft model keeps %d tokens for a text of 5", n)
	}

	if err := b.Truncate(0); err != nil {
		t.Fatal(err)
	}
	g, err := s.newGeneration(&o, []Step{{Text: b, Tokens: prompt(690, 4)}})
	if err != nil {
		t.Fatal(err)
	}
	b.draft.Free()
	b.draft = g.drafts.NewText()
	forward(t, g.drafts, Step{Text: g.drafts.NewText(), Tokens: prompt(16*(g.drafts.FreePages()-1), 1)})
	got = make([][]int32, 1)
	for len(g.streams) > 0 {
		if err := g.step(t.Context(), func(token Token, _ error) bool { got[0] = append(got[0], token.ID); return true }); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(want[0]); len(got[0]) < n || !slices.Equal(got[0][:n], want[0]) {
		t.Errorf("without room for guesses the tokens are %v, want %v", got[0], want[0])
	}
}

// TestDraftModelCancelled: a text whose generation ends while a draft model guesses goes on as if
// nothing had been.
func TestDraftModelCancelled(t *testing.T) {
	const n = 12
	for _, load := range []func() *Model{
		func() *Model { return tiny(t, Options{}) }, func() *Model { return loadRecurrent(t, "falcon_h1-41", Options{}) },
	} {
		m, by, p := load(), load(), prompts()[0]
		o := GenerateOptions{MaxTokens: n, Stop: []int32{}}
		want := collect(t, 1, m.Generate(t.Context(), p, o))[0]
		o.Draft, o.DraftModel = 3, by
		s := session(t, m, 4, tinyContext)
		step := Step{Text: s.NewText(), Tokens: p}
		g, err := s.newGeneration(&o, []Step{step})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		g.drafts.tokens.See = func(string, int, []float32) { cancel() }
		var got []int32
		err = g.step(ctx, func(token Token, _ error) bool { got = append(got, token.ID); return true })
		if cancel(); !errors.Is(err, context.Canceled) || len(got) != 1 {
			t.Fatalf("%d tokens and the error %v, want one and %v", len(got), err, context.Canceled)
		}
		o.MaxTokens, step.Tokens = n-1, got
		if got = append(got, collect(t, 1, s.Generate(t.Context(), o, step))[0]...); !slices.Equal(got, want) {
			t.Errorf("tokens %v, want %v", got, want)
		}
	}
}

// A text ends with a stop token, which is not returned, and the others go on.
func TestStop(t *testing.T) {
	m := tiny(t, Options{})
	o := GenerateOptions{MaxTokens: 40, Stop: []int32{}}
	all := collect(t, 4, m.GenerateBatch(t.Context(), prompts(), o))
	o.Stop = []int32{all[1][20], all[0][30]}
	for i, got := range collect(t, 4, m.GenerateBatch(t.Context(), prompts(), o)) {
		end := slices.IndexFunc(all[i], func(id int32) bool { return slices.Contains(o.Stop, id) })
		if end < 0 {
			end = len(all[i])
		}
		if !slices.Equal(got, all[i][:end]) {
			t.Errorf("text %d: %v, want %v", i, got, all[i][:end])
		}
	}
	if stop := m.Stop(); !slices.Equal(stop, []int32{2}) {
		t.Errorf("the file's stop tokens are %v, want 2", stop)
	}
}

// A text whose context is full ends, and the others go on.
func TestContextFull(t *testing.T) {
	m := tiny(t, Options{Context: 100, PageSize: 16})
	for _, draft := range []int{0, 6} {
		counts, full := [4]int{}, [4]bool{}
		for token, err := range m.GenerateBatch(t.Context(), prompts(), GenerateOptions{Stop: []int32{}, Draft: draft}) {
			if err != nil || full[token.Index] {
				t.Fatalf("%+v, %v after the end: %v", token, err, full[token.Index])
			}
			counts[token.Index]++
			full[token.Index] = token.End == EndContext
		}
		for i, p := range prompts() {
			if want := 101 - len(p); counts[i] != want || !full[i] {
				t.Errorf("text %d has got %d tokens, and an end: %v; want %d and one", i, counts[i], full[i], want)
			}
		}
	}
	for _, err := range m.Generate(t.Context(), prompt(101, 1), GenerateOptions{}) {
		checkError(t, "a prompt that is too long", err, contextError(0, 101, 100))
	}
}

// Who leaves the loop finds the texts in order.
func TestLeave(t *testing.T) {
	m := tiny(t, Options{})
	want := collect(t, 1, m.Generate(t.Context(), prompt(20, 3), GenerateOptions{MaxTokens: 30, Stop: []int32{}}))[0]
	s := session(t, m, 2, 100)
	free := s.FreePages()
	x, got := s.NewText(), []int32(nil)
	for len(got) < 30 {
		rest, err := x.Keep(append(prompt(20, 3), got...))
		if err != nil {
			t.Fatal(err)
		}
		n := len(got) + 4
		for token, err := range s.Generate(t.Context(), GenerateOptions{Stop: []int32{}, Draft: 3}, Step{Text: x, Tokens: rest}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, token.ID); len(got) == n {
				break
			}
		}
	}
	if !slices.Equal(got[:30], want) {
		t.Errorf("tokens %v, want %v", got, want)
	}
	if x.Free(); s.FreePages() != free {
		t.Errorf("%d free pages in the end, want %d", s.FreePages(), free)
	}
}

// A canceled context ends a step within a layer, and a generation; the texts are as before.
func TestCancel(t *testing.T) {
	m := tiny(t, Options{})
	s := session(t, m, 1, tinyContext)
	x := s.NewText()
	forward(t, s, Step{Text: x, Tokens: prompt(20, 1)})
	for layer := range tinyLayers {
		ctx, cancel := context.WithCancel(t.Context())
		s.tokens.See = func(name string, at int, _ []float32) {
			if name == "layer.norm" && at > layer {
				t.Errorf("layer %d runs after a cancellation in layer %d", at, layer)
			}
			if at == layer && name == "layer.qkv" {
				cancel()
			}
		}
		tokens := prompt(600, 2) // two passes
		if _, err := s.Forward(ctx, Step{Text: x, Tokens: tokens}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled in layer %d: %v", layer, err)
		}
		if x.Len() != 20 || x.kv.Len() != 20 {
			t.Errorf("canceled in layer %d: the text has %d tokens, want 20", layer, x.kv.Len())
		}
		cancel()
	}
	s.tokens.See = nil
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range s.Generate(ctx, GenerateOptions{Stop: []int32{}}, Step{Text: x, Tokens: prompt(5, 1)}) {
		if last = err; err == nil {
			n++
		}
		if n == 7 {
			cancel()
		}
	}
	if n != 7 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d tokens and the error %v, want 7 and a cancellation", n, last)
	}
}

// A model generates for many goroutines at once.
func TestConcurrent(t *testing.T) {
	m := tiny(t, Options{Exec: kernel.Exec{Threads: 2}})
	o := GenerateOptions{MaxTokens: 25, Stop: []int32{}, Sampler: Sampler{Temperature: 1, TopK: 50}}
	want := collect(t, 4, m.GenerateBatch(t.Context(), prompts(), o))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			mine := o
			mine.Sampler.Seed = uint64(i)
			n := 0
			for token, err := range m.Generate(t.Context(), prompts()[i], mine) {
				if err != nil || token.ID != want[i][n] {
					t.Errorf("text %d: token %d is %d, %v, want %d", i, n, token.ID, err, want[i][n])
					return
				}
				n++
			}
		})
	}
	wg.Wait()
}

// A cache that is full is an error that leaves the texts as they were.
func TestCapacity(t *testing.T) {
	m := tiny(t, Options{PageSize: 16})
	s := session(t, m, 1, 64)
	x := s.NewText()
	forward(t, s, Step{Text: x, Tokens: prompt(40, 1)})
	var full *kvcache.CapacityError
	if _, err := s.Forward(t.Context(), Step{Text: x, Tokens: prompt(40, 2)}); !errors.As(err, &full) || full.Need != 2 || full.Free != 1 {
		t.Errorf("error %v, want one that 2 pages are needed and 1 is free", err)
	}
	want := forward(t, s, Step{Text: x, Tokens: prompt(24, 2)})[0]
	alone := session(t, m, 1, 64)
	sameBits(t, "after an error", want, forward(t, alone, Step{Text: alone.NewText(), Tokens: append(prompt(40, 1), prompt(24, 2)...)})[0])
}

// checkError fails the test unless err has the type of want, and its fields.
func checkError(t testing.TB, what string, err, want error) {
	t.Helper()
	var got *kernel.Error
	if !errors.As(err, &got) || got.Error() != want.Error() {
		t.Errorf("%s: error %v (%T), want %v", what, err, err, want)
	}
}

func TestGenerateErrors(t *testing.T) {
	m := tiny(t, Options{})
	for _, x := range []struct {
		prompt []int32
		o      GenerateOptions
		want   string
	}{
		{nil, GenerateOptions{}, "prompts[0]: no tokens, want at least one"},
		{[]int32{1}, GenerateOptions{MaxTokens: -1}, "GenerateOptions.MaxTokens: -1"},
		{[]int32{1}, GenerateOptions{Draft: 513}, "GenerateOptions.Draft: 513"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{Temperature: -1}}, "Sampler.Temperature: -1"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{TopK: -1}}, "Sampler.TopK: -1"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{TopP: 1.5}}, "Sampler.TopP: 1.5"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{RepetitionPenalty: 11}}, "Sampler.RepetitionPenalty: 11"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{FrequencyPenalty: 101}}, "Sampler.FrequencyPenalty: 101"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{PresencePenalty: math.NaN()}}, "Sampler.PresencePenalty: NaN"},
		{[]int32{1}, GenerateOptions{Sampler: Sampler{PenaltyWindow: -1}}, "Sampler.PenaltyWindow: -1"},
		{[]int32{1}, GenerateOptions{TopLogprobs: 1}, "GenerateOptions.TopLogprobs: 1 without Logprobs"},
		{[]int32{1}, GenerateOptions{Logprobs: true, TopLogprobs: 257}, "GenerateOptions.TopLogprobs: 257"},
		{[]int32{1}, GenerateOptions{Bias: map[int32]float32{3: 101}}, "GenerateOptions.Bias[3]: 101"},
		{[]int32{1}, GenerateOptions{Bias: map[int32]float32{1 << 20: 1}}, "GenerateOptions.Bias: one for the token 1048576"},
		{[]int32{1}, GenerateOptions{StopText: []string{"a", ""}}, "GenerateOptions.StopText[1]: 0 bytes"},
		{[]int32{1}, GenerateOptions{StopText: []string{"\xff"}}, "GenerateOptions.StopText[0]: 1 bytes"},
		{[]int32{1}, GenerateOptions{StopText: make([]string, 257)}, "GenerateOptions.StopText: 257 strings"},
	} {
		n := 0
		for _, err := range m.Generate(t.Context(), x.prompt, x.o) {
			n++
			if e := (*kernel.Error)(nil); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "decoder: "+x.want) {
				t.Errorf("error %v, want one of %s", err, x.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d rounds of the loop, want 1", x.want, n)
		}
	}
	for _, err := range m.GenerateBatch(t.Context(), [][]int32{{1}, {2, tinyVocab}}, GenerateOptions{}) {
		checkError(t, "unknown token", err, tokenError(1, 1, tinyVocab, tinyVocab))
	}
	for range m.GenerateBatch(t.Context(), nil, GenerateOptions{}) {
		t.Error("no prompts give a token or an error")
	}
}

// TestDraftErrors: where a draft model guesses, a text that the session does not have is the error
// that it is without, before any text is changed.
func TestDraftErrors(t *testing.T) {
	m := tiny(t, Options{Context: 50})
	s, other := session(t, m, 2, 50), session(t, m, 1, 50)
	x, foreign, freed := s.NewText(), other.NewText(), s.NewText()
	forward(t, s, Step{Text: x, Tokens: []int32{1, 2}})
	forward(t, other, Step{Text: foreign, Tokens: []int32{1, 2}})
	freed.Free()
	none := kernel.Error{Got: "no text of this session", Want: "a text that this session made and that is not freed"}
	for what, y := range map[string]struct {
		text *Text
		want kernel.Error
	}{
		"nil": {nil, none}, "foreign": {foreign, none}, "freed": {freed, none},
		"twice": {x, kernel.Error{Got: "a text that another one has", Want: "each text once"}},
	} {
		want := y.want
		want.Where = "decoder: Guess 1: Text"
		err := s.Guess(t.Context(), &Guess{Text: x, Known: []int32{7}, Most: 1}, &Guess{Text: y.text, Known: []int32{7}, Most: 1})
		checkError(t, what, err, &want)
		want.Where = "decoder: Step 1: Text"
		steps := []Step{{Text: x, Tokens: []int32{7}}, {Text: y.text, Tokens: []int32{7}}}
		for _, err := range s.Generate(t.Context(), GenerateOptions{Draft: 2, DraftModel: m}, steps...) {
			checkError(t, what, err, &want)
		}
		if x.Len() != 2 || foreign.Len() != 2 || x.draft != nil || foreign.draft != nil || freed.draft != nil {
			t.Errorf("%s: a text was changed", what)
		}
	}
}

func TestForwardErrors(t *testing.T) {
	m := tiny(t, Options{Context: 50})
	s, other := session(t, m, 2, 50), session(t, m, 1, 50)
	x, freed := s.NewText(), s.NewText()
	freed.Free()
	for what, y := range map[string]struct {
		steps []Step
		want  error
	}{
		"unknown":  {[]Step{{Text: x, Tokens: []int32{3, -1}}}, tokenError(0, 1, -1, tinyVocab)},
		"too long": {[]Step{{Text: x, Tokens: prompt(51, 1)}}, contextError(0, 51, 50)},
		"foreign":  {[]Step{{Text: x}, {Text: other.NewText()}}, &kernel.Error{Where: "decoder: Step 1: Text", Got: "no text of this session", Want: "a text that this session made and that is not freed"}},
		"freed":    {[]Step{{Text: freed}}, &kernel.Error{Where: "decoder: Step 0: Text", Got: "no text of this session", Want: "a text that this session made and that is not freed"}},
		"nil":      {[]Step{{}}, &kernel.Error{Where: "decoder: Step 0: Text", Got: "no text of this session", Want: "a text that this session made and that is not freed"}},
		"twice":    {[]Step{{Text: x}, {Text: x}}, &kernel.Error{Where: "decoder: Step 1: Text", Got: "a text that another one has", Want: "each text once"}},
		"rows":     {[]Step{{Text: x, Logits: 3}}, &kernel.Error{Where: "decoder: Step 0: Logits", Got: "3", Want: "Last, All or None"}},
	} {
		if _, err := s.Forward(t.Context(), y.steps...); err == nil || err.Error() != y.want.Error() || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", y.want) {
			t.Errorf("%s: error %v, want %v", what, err, y.want)
		}
	}
	if logits := forward(t, s, Step{Text: x}); len(logits) != 1 || len(logits[0]) != 0 {
		t.Errorf("a step without tokens gives %v", logits)
	}
	if _, err := m.NewSession(0, 5); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("no texts: %v", err)
	}
	for _, o := range []Options{{Context: -1}, {PageSize: -1}, {CacheType: 9}, {CacheType: kernel.Float8E4M3}, {CacheValueType: kernel.Float8E5M2}, {Exec: kernel.Exec{Threads: -1}}} {
		if _, err := m.With(o); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
