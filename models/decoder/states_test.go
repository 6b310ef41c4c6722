package decoder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// recurrentFolders are models with layers that carry a state.
var recurrentFolders = []string{"lfm2-1", "qwen3_5_text-2", "qwen3_next-2", "granitemoehybrid-42", "nemotron_h-41", "falcon_h1-41"}

// loadRecurrent returns a model of a folder.
func loadRecurrent(t *testing.T, name string, o Options) *Model {
	t.Helper()
	m, err := Load(tinyFolder(name), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A story is a text of a test, and the logits after each of its tokens when it is read token by
// token.
type story struct {
	tokens []int32
	logits [][]float32
}

// TestStates: in whatever pieces texts are read, forked, truncated and read on, also after a
// call that has failed in the middle, they have the bits of texts that are read token by token.
// With shorter passes most of those end between two checkpoints.
func TestStates(t *testing.T) {
	for _, name := range recurrentFolders {
		t.Run(name, func(t *testing.T) { checkStates(t, loadRecurrent(t, name, Options{PageSize: 16}), chunk, 150) })
		t.Run(name+", short passes", func(t *testing.T) {
			m := loadRecurrent(t, name, Options{PageSize: 16})
			m.checkpoint = 128
			checkStates(t, m, 20, 150)
		})
	}
}

func checkStates(t *testing.T, m *Model, chunk, rounds int) {
	if m.checkpoint == 0 && slices.Max(m.layout.windows) == 0 {
		t.Fatal("a model without states and windows")
	}
	const most, stories = 230, 3
	vocab := m.config.Vocab
	all := make([]story, stories)
	for i := range all {
		ids := prompt(most, 40+i)
		for j := range ids {
			ids[j] %= int32(vocab)
		}
		copy(ids, all[0].tokens[:min(len(all[0].tokens), 70*i)]) // in common with the first one
		all[i].tokens = ids
		logits := oneByOne(t, m, ids)
		all[i].logits = slices.Collect(slices.Chunk(logits, vocab))
	}
	r := rand.New(rand.NewPCG(1, 2))
	s := session(t, m, 16, 0)
	s.chunk = chunk
	type reading struct {
		*Text
		*story
	}
	var texts []reading
	again := 0
	for range rounds {
		switch k := r.IntN(10); {
		case len(texts) < 2:
			texts = append(texts, reading{s.NewText(), &all[r.IntN(stories)]})
		case k == 0 && len(texts) < 6:
			from := texts[r.IntN(len(texts))]
			fork, err := from.Fork(r.IntN(from.Len() + 1))
			if err != nil {
				t.Fatal(err)
			}
			to := &all[r.IntN(stories)]
			if n := common(fork.Tokens(), to.tokens); n < fork.Len() {
				to = from.story
			}
			texts = append(texts, reading{fork, to})
		case k == 1:
			x := &texts[r.IntN(len(texts))]
			if err := x.Truncate(r.IntN(x.Len() + 1)); err != nil {
				t.Fatal(err)
			}
			if to := &all[r.IntN(stories)]; common(x.Tokens(), to.tokens) == x.Len() {
				x.story = to // the states of the tokens that are gone must be, too
			}
		case k == 3:
			texts[r.IntN(len(texts))].Trim()
		case k == 2 && len(texts) > 3:
			i := r.IntN(len(texts))
			texts[i].Free()
			texts = slices.Delete(texts, i, i+1)
		}
		var steps []Step
		var of []reading
		tokens := 0
		for _, x := range texts {
			n := min(r.IntN(1+[]int{1, 3, 90}[r.IntN(3)]), most-x.Len())
			steps = append(steps, Step{Text: x.Text, Tokens: x.story.tokens[x.Len() : x.Len()+n], Logits: LogitsAll})
			of, tokens = append(of, x), tokens+n
			if at := x.Checkpoint(x.Len()); at > x.Len() {
				t.Fatalf("a checkpoint after %d of %d tokens", at, x.Len())
			} else if at < x.Len() && n > 0 {
				again++
			}
		}
		if passes := (tokens + chunk - 1) / chunk; r.IntN(4) == 0 && passes > 0 { // the call fails in any of them
			failing, before := &stops{Context: t.Context(), calls: r.IntN(passes * len(m.layers.Layers))}, [][2]int{}
			for _, x := range texts {
				before = append(before, [2]int{x.Len(), x.Checkpoint(x.Len())})
			}
			if _, err := s.Forward(failing, steps...); err == nil {
				t.Fatal("a call that is stopped has no error")
			}
			for i, x := range texts {
				if n := x.Checkpoint(x.Len()); x.Len() != before[i][0] || n < before[i][1] { // it may have read up to a later one
					t.Fatalf("a call that has failed has left %d tokens and a checkpoint after %d, want %v", x.Len(), n, before[i])
				}
			}
		}
		logits := forward(t, s, steps...)
		for i, x := range of {
			n := len(steps[i].Tokens)
			for j := range n {
				at := x.Len() - n + j
				sameBits(t, fmt.Sprintf("token %d of %d", at, x.Len()), logits[i][j*vocab:][:vocab], x.logits[at])
			}
		}
	}
	if again < 10 {
		t.Errorf("%d texts were read again from a checkpoint on, want more", again)
	}
}

// TestForks: forks that read other tokens have the bits of texts that are read at once, in whatever
// order they are read on, truncated and freed, also after calls that have failed in any layer:
// where a text may add to the memory of a state, no other text has it.
func TestForks(t *testing.T) {
	const most, texts = 200, 5
	for _, name := range recurrentFolders {
		m := loadRecurrent(t, name, Options{PageSize: 16})
		r := rand.New(rand.NewPCG(7, 9))
		s := session(t, m, texts, most)
		all := []*Text{s.NewText()}
		checked := 0
		for range 150 {
			x := all[r.IntN(len(all))]
			switch k := r.IntN(6); {
			case k == 0 && len(all) < texts:
				fork, err := x.Fork(x.Len() - min(x.Len(), r.IntN(3)))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, fork)
			case k == 1:
				if err := x.Truncate(x.Len() - min(x.Len(), r.IntN(12))); err != nil {
					t.Fatal(err)
				}
			case k == 2 && len(all) > 2:
				x.Free()
				all = slices.DeleteFunc(all, func(y *Text) bool { return y == x })
			}
			var steps []Step
			for _, y := range all {
				n := r.IntN([]int{1, 4, 40}[r.IntN(3)] + 1)
				if y.Len()+n > most {
					if err := y.Truncate(r.IntN(most / 2)); err != nil {
						t.Fatal(err)
					}
				}
				ids := make([]int32, n)
				for i := range ids {
					ids[i] = int32((y.Len()+i)*7+r.IntN(2)) % int32(m.config.Vocab)
				}
				if n > 0 {
					steps = append(steps, Step{Text: y, Tokens: ids})
				}
			}
			if r.IntN(4) == 0 && len(steps) > 0 {
				stop := &stops{Context: t.Context(), calls: r.IntN(len(m.layers.Layers) + 1)}
				if _, err := s.Forward(stop, steps...); err == nil {
					t.Fatal("a call that is stopped has no error")
				}
				if r.IntN(2) == 0 {
					continue
				}
			}
			logits := forward(t, s, steps...)
			if len(steps) == 0 || r.IntN(2) == 0 {
				continue
			}
			i := r.IntN(len(steps))
			alone, read := session(t, m, 1, most), steps[i].Text.Tokens()
			want := forward(t, alone, Step{Text: alone.NewText(), Tokens: read})[0]
			sameBits(t, fmt.Sprintf("%s, %d tokens", name, len(read)), logits[i], want)
			checked++
		}
		if checked < 30 {
			t.Errorf("%s: %d texts were compared, want more", name, checked)
		}
	}
}

// A stops is a context that ends after some calls.
type stops struct {
	context.Context
	calls int
	each  func() // of every call, or nil
}

func (s *stops) Err() error {
	if s.each != nil {
		s.each()
	}
	if s.calls--; s.calls < 0 {
		return context.Canceled
	}
	return nil
}

// TestFewStates: the states that a session keeps do not grow with the passes of a call, nor with
// the texts that it has read.
func TestFewStates(t *testing.T) {
	m := loadRecurrent(t, "lfm2-1", Options{})
	s := session(t, m, 1, 0)
	s.chunk = 10
	for range 50 {
		x := s.NewText()
		most := 0
		seen := &stops{Context: t.Context(), calls: 1 << 30, each: func() { most = max(most, len(x.states)) }}
		if _, err := s.Forward(seen, Step{Text: x, Tokens: make([]int32, 150)}); err != nil {
			t.Fatal(err)
		}
		if most != 3 {
			t.Fatalf("at most %d states during a call, want 3: two at checkpoints, and the last one", most)
		}
		x.Free()
		if n := len(s.spare); n < 1 || n > 2 {
			t.Fatalf("%d spare states, want 1 or 2: a pass writes no more", n)
		}
	}
}

// TestCheckpoints: a text keeps a state after every so many tokens, and goes on from there.
func TestCheckpoints(t *testing.T) {
	m := loadRecurrent(t, "lfm2-1", Options{Exec: kernel.Exec{Threads: 1}})
	s := session(t, m, 2, 0)
	x := s.NewText()
	forward(t, s, Step{Text: x, Tokens: make([]int32, 150)})
	for n, want := range map[int]int{0: 0, 63: 0, 64: 64, 127: 64, 128: 128, 149: 128, 150: 150, 151: 150} {
		if got := x.Checkpoint(n); got != want {
			t.Errorf("the checkpoint of %d tokens is after %d, want %d", n, got, want)
		}
	}
	if err := x.Truncate(140); err != nil || x.Len() != 140 || x.Checkpoint(140) != 128 {
		t.Errorf("truncated to 140: %d tokens, a checkpoint after %d, %v", x.Len(), x.Checkpoint(140), err)
	}
	for _, n := range []int{-1, 141} {
		if _, err := x.Fork(n); err == nil {
			t.Errorf("a fork of %d of 140 tokens", n)
		}
	}
	if x := session(t, tiny(t, Options{}), 1, 0).NewText(); x.Checkpoint(0) != 0 {
		t.Error("a text without tokens has none")
	}
}

// TestDraftStates: guesses change no text, although wrong ones are taken back.
func TestDraftStates(t *testing.T) {
	for _, name := range recurrentFolders {
		checkDrafts(t, name, loadRecurrent(t, name, Options{}), 0)
	}
	for _, x := range windowFolders {
		checkDrafts(t, x.name, loadWindows(t, x.name, Options{}), 700)
	}
}

// checkDrafts has texts of some tokens continued with guesses, which take other pages.
func checkDrafts(t *testing.T, name string, m *Model, tokens int) {
	prompts := [][]int32{append(prompt(tokens, 1), 5, 6, 7, 5, 6, 7, 5, 6), append(prompt(tokens, 2), 9, 9, 9, 9)}
	var want [][]int32
	for _, model := range []*Model{nil, m} {
		for draft := range 6 {
			if draft == 0 && model != nil {
				continue
			}
			got := make([][]int32, len(prompts))
			for token, err := range m.GenerateBatch(t.Context(), prompts, GenerateOptions{MaxTokens: 80, Stop: []int32{}, Draft: draft, DraftModel: model}) {
				if err != nil {
					t.Fatal(err)
				}
				got[token.Index] = append(got[token.Index], token.ID)
			}
			if want == nil {
				want = got
			} else if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s: %d guesses change the text", name, draft)
			}
		}
	}
}
