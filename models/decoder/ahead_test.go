package decoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// along returns a session in which the layer of a model that guesses reads with the texts.
func along(t *testing.T, m *Model, texts, tokens int) *Session {
	t.Helper()
	s := session(t, m, texts, tokens)
	if err := s.OpenAhead(texts, tokens); err != nil {
		t.Fatal(err)
	}
	return s
}

// guessed returns what the layer guesses after a text and a token more.
func guessed(t *testing.T, s *Session, x *Text, next int32, most int) []int32 {
	t.Helper()
	g := &Guess{Text: x, Known: append(slices.Clone(x.Tokens()), next), Most: most}
	if err := s.Ahead(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g.Tokens
}

// TestAheadPieces: the layer that reads along guesses the same however the text was read, with
// wrong guesses that were taken back between, and in forks, which know one state less. Logits have
// the bits of a session without it.
func TestAheadPieces(t *testing.T) {
	const length, most = 250, 5
	for _, name := range mtpFolders {
		dir := tinyfolders.Read(t, tinyFolder(name)).AddAhead().Write()
		m, err := Load(dir, Options{MTP: true, PageSize: 16})
		if err != nil {
			t.Fatal(err)
		}
		ids := prompt(length, 8)
		for i := range ids {
			ids[i] %= int32(m.config.Vocab)
		}
		whole, plain, pieces := along(t, m, 1, 0), session(t, m, 1, 0), along(t, m, 3, 0)
		x, y, z := whole.NewText(), plain.NewText(), pieces.NewText()
		r := rand.New(rand.NewPCG(1, 2))
		full := forward(t, whole, Step{Text: x, Tokens: ids[:length-1]})[0]
		sameBits(t, name, full, forward(t, plain, Step{Text: y, Tokens: ids[:length-1]})[0])
		want := guessed(t, whole, x, ids[length-1], most)
		if len(want) != most {
			t.Fatalf("%s: %d guesses, want %d", name, len(want), most)
		}
		var last []float32
		for z.Len() < length-1 {
			at, n := z.Len(), min(1+r.IntN(40), length-1-z.Len())
			wrong := r.IntN(3)
			tokens := slices.Concat(ids[at:at+n], []int32{1, 2, 3}[:wrong])
			logits := forward(t, pieces, Step{Text: z, Tokens: tokens, Logits: LogitsAll})[0]
			last = slices.Clone(logits[(n-1)*m.config.Vocab:][:m.config.Vocab])
			if err := z.Truncate(at + n); err != nil {
				t.Fatal(err)
			}
			guessed(t, pieces, z, ids[at+n], r.IntN(4))
			if got := z.draft.Len() + z.from; got != at+n+1 || z.from != 1 {
				t.Fatalf("%s: the layer has read the tokens from %d up to %d, want 1 to %d", name, z.from, got, at+n+1)
			}
		}
		sameBits(t, name+" in pieces", last, full)
		if got := guessed(t, pieces, z, ids[length-1], most); !slices.Equal(got, want) {
			t.Errorf("%s: guesses %v in pieces, want %v", name, got, want)
		}
		fork, err := z.Fork(length / 2)
		if err != nil {
			t.Fatal(err)
		}
		z.Free()
		free := pieces.FreeAhead()
		forward(t, pieces, Step{Text: fork, Tokens: ids[length/2 : length-1]})
		if guessed(t, pieces, fork, ids[length-1], most); fork.from != 1 || fork.draft.Len() != length-1 {
			t.Errorf("%s: the layer has read %d tokens from %d on of a fork, want %d from 1 on", name, fork.draft.Len(), fork.from, length-1)
		}
		if !fork.CloseAhead() || fork.CloseAhead() || guessed(t, pieces, fork, 1, most) != nil || pieces.FreeAhead() <= free {
			t.Errorf("%s: a text that is closed", name)
		}
		fork.Free()
		if n := pieces.FreeAhead(); n != 3*m.ahead.Pages(m.options.Context) {
			t.Errorf("%s: %d pages are free in the end", name, n)
		}
	}
}

// TestAheadTexts: whatever is forked, truncated, left or lacks pages, logits have the bits that
// they have without guesses.
func TestAheadTexts(t *testing.T) {
	const length = 120
	for _, name := range []string{"qwen3_5_text-2", "deepseek_v3-31"} {
		dir := tinyfolders.Read(t, tinyFolder(name)).AddAhead().Write()
		m, err := Load(dir, Options{MTP: true, PageSize: 16, Context: length})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		s, plain := session(t, m, 4, length), session(t, m, 1, length)
		if err := s.OpenAhead(2, length/2); err != nil {
			t.Fatal(err)
		}
		texts := []*Text{s.NewText(), s.NewText(), s.NewText()}
		full, canceled := 0, 0
		for round := range 80 {
			var steps []Step
			var guesses []*Guess
			for i, x := range texts {
				n := r.IntN(min(x.Len(), length-30) + 1)
				if r.IntN(3) == 0 {
					fork, err := x.Fork(n)
					if err != nil {
						t.Fatal(err)
					}
					x.Free()
					texts[i] = fork
				} else if err := x.Truncate(n); err != nil {
					t.Fatal(err)
				}
				ids := make([]int32, 1+r.IntN(25))
				for j := range ids {
					ids[j] = r.Int32N(int32(m.config.Vocab))
				}
				x = texts[i]
				steps = append(steps, Step{Text: x, Tokens: ids})
				guesses = append(guesses, &Guess{Text: x, Known: append(slices.Concat(x.Tokens(), ids), 1), Most: r.IntN(4)})
			}
			got := forward(t, s, steps...)
			for i, x := range texts {
				y := plain.NewText()
				sameBits(t, fmt.Sprintf("%s, round %d, text %d", name, round, i), got[i], forward(t, plain, Step{Text: y, Tokens: x.Tokens()})[0])
				y.Free()
			}
			stop := &stops{Context: t.Context(), calls: 1 << 30}
			if r.IntN(4) == 0 {
				stop.calls = r.IntN(3)
			}
			switch err := s.Ahead(stop, guesses...); {
			case isFull(err):
				full++
				if r.IntN(2) == 0 {
					texts[r.IntN(len(texts))].CloseAhead()
				}
			case errors.Is(err, context.Canceled):
				canceled++
			case err != nil:
				t.Fatal(err)
			}
		}
		if full == 0 || canceled == 0 {
			t.Errorf("%s: pages lacked %d times, %d calls were canceled", name, full, canceled)
		}
	}
}

// TestAheadLong: a call that reads a long text keeps the states of its last tokens, where the layer
// begins, anew if it had read tokens before them.
func TestAheadLong(t *testing.T) {
	const most = 3
	for _, name := range []string{"glm4_moe-25", "qwen3_5_text-2"} {
		m, err := Load(tinyfolders.Read(t, tinyFolder(name)).AddAhead().Write(), Options{MTP: true, Context: 5 * chunk})
		if err != nil {
			t.Fatal(err)
		}
		s, w := along(t, m, 1, 0), m.config.Width
		x := s.NewText()
		for _, n := range []int{4 * chunk, 10, chunk/2 + 100} {
			if err := x.Truncate(0); err != nil {
				t.Fatal(err)
			}
			forward(t, s, Step{Text: x, Tokens: []int32{1, 2, 3}})
			guessed(t, s, x, 1, most)
			ids := prompt(n, 5)
			for i := range ids {
				ids[i] %= int32(m.config.Vocab)
			}
			forward(t, s, Step{Text: x, Tokens: ids})
			rows := len(x.trail.states) / w
			if rows < min(n, chunk) || rows > min(n, 2*chunk) || cap(x.trail.states) > 5*chunk/2*w || x.trail.first+rows != x.Len() {
				t.Errorf("%s: after %d tokens the states of %d from %d on are kept, in the memory of %d", name, n, rows, x.trail.first, cap(x.trail.states)/w)
			}
			from := 1
			if n > 2*chunk {
				from = x.trail.first + 1
			}
			if got := guessed(t, s, x, 1, most); len(got) != most || x.from != from || x.from+x.draft.Len() != x.Len()+1 {
				t.Errorf("%s: after %d tokens the layer has read %d from %d on, want %d from %d on, and guesses %v", name, n, x.draft.Len(), x.from, x.Len()+1-from, from, got)
			}
		}
	}
}

// TestAheadContext: Ahead makes Most guesses, or fewer where the context of the model ends. They
// equal the guesses of a text whose context is long enough.
func TestAheadContext(t *testing.T) {
	const context = 20
	dir := tinyfolders.Read(t, tinyFolder("glm4_moe-25")).AddAhead().Write()
	m, err := Load(dir, Options{MTP: true, Context: context})
	if err != nil {
		t.Fatal(err)
	}
	far, err := Load(dir, Options{MTP: true, Context: 10 * context})
	if err != nil {
		t.Fatal(err)
	}
	for n := context - 4; n <= context; n++ {
		s, long := along(t, m, 1, 0), along(t, far, 1, 0)
		x, y, room := s.NewText(), long.NewText(), max(0, context-n-1)
		for _, step := range []struct {
			s *Session
			x *Text
		}{{s, x}, {long, y}} {
			forward(t, step.s, Step{Text: step.x, Tokens: prompt(n, 5)})
		}
		want := guessed(t, long, y, 1, room)
		for _, most := range []int{room, room + 1, math.MaxInt} {
			if got := guessed(t, s, x, 1, most); len(got) != room || !slices.Equal(got, want) {
				t.Errorf("%d of %d tokens are read: guesses %v of %d, want %v", n, context, got, most, want)
			}
		}
	}
}

// TestAheadErrors: calls that do not fit a session are errors that say so.
func TestAheadErrors(t *testing.T) {
	dir := tinyfolders.Read(t, tinyFolder("glm4_moe-25")).AddAhead().Write()
	m, err := Load(dir, Options{MTP: true})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, plain := along(t, m, 1, 20), session(t, m, 1, 20)
	x := s.NewText()
	g := &Guess{Text: x, Known: []int32{1}, Most: 1}
	_, generates := collectOne(t, s, GenerateOptions{Draft: 1, MaxTokens: 2}, Step{Text: x, Tokens: []int32{1}})
	for where, err := range map[string]error{
		"Session.OpenAhead": session(t, without, 1, 20).OpenAhead(1, 20), "NewSession": plain.OpenAhead(0, 20),
		"Session.Ahead": plain.Ahead(t.Context(), &Guess{Text: plain.NewText(), Known: []int32{1}}), "Guess 0: Text": plain.Ahead(t.Context(), g),
		"Guess 0: Known": s.Ahead(t.Context(), &Guess{Text: x, Known: []int32{1, 2}}), "GenerateOptions.Draft": generates,
	} {
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Where != "decoder: "+where {
			t.Errorf("%s: %v", where, err)
		}
	}
	if n, none := s.FreeAhead(), plain.FreeAhead(); n != m.ahead.Pages(20) || none != 0 {
		t.Errorf("%d pages are free, and %d of a session without OpenAhead", n, none)
	}
	if bytes, err := m.AheadBytes(); err != nil || bytes != len(m.ahead.layout.places)*m.options.PageSize*m.config.KVHeads*m.config.HeadSize*2*4 {
		t.Errorf("a page takes %d bytes: %v", bytes, err)
	}
	if bytes, err := without.AheadBytes(); err != nil || bytes != 0 {
		t.Errorf("a page of no layer takes %d bytes: %v", bytes, err)
	}
	if err := s.Ahead(t.Context(), g); err != nil || len(g.Tokens) != 0 {
		t.Errorf("guesses %v of a text of which nothing is read: %v", g.Tokens, err)
	}
	if err := s.OpenAhead(0, 20); err == nil {
		t.Error("a cache for no text is no error")
	}
	if forward(t, s, Step{Text: x, Tokens: []int32{1, 2, 3}}); len(guessed(t, s, x, 4, 2)) != 2 {
		t.Error("a session guesses nothing after OpenAhead has failed")
	}
}

// TestAheadKnown: an error of a token that the model does not know names the guess and the token,
// also where nothing is guessed for the texts before it.
func TestAheadKnown(t *testing.T) {
	m, err := Load(tinyfolders.Read(t, tinyFolder("glm4_moe-25")).AddAhead().Write(), Options{MTP: true})
	if err != nil {
		t.Fatal(err)
	}
	s := along(t, m, 3, 20)
	var all []*Guess
	for range 3 {
		x := s.NewText()
		forward(t, s, Step{Text: x, Tokens: []int32{1, 2, 3}})
		all = append(all, &Guess{Text: x, Known: []int32{1, 2, 3, 4}, Most: 1})
	}
	all[0].Text.CloseAhead()
	all[1].Text.trail.empty(m.config.Width)
	for i, g := range all {
		for j := range g.Known {
			for _, id := range []int32{-1, int32(m.config.Vocab)} {
				right := g.Known[j]
				g.Known[j] = id
				want := kernel.Error{Where: fmt.Sprintf("decoder: Guess %d: Known", i), Got: fmt.Sprintf("id %d of token %d", id, j), Want: fmt.Sprintf("0 to %d", m.config.Vocab-1)}
				err := s.Ahead(t.Context(), all...)
				if got, ok := errors.AsType[*kernel.Error](err); !ok || *got != want || len(all[2].Tokens) > 0 {
					t.Errorf("%v, want %v", err, &want)
				}
				g.Known[j] = right
			}
		}
	}
	if err := s.Ahead(t.Context(), all...); err != nil || len(all[2].Tokens) != 1 {
		t.Errorf("guesses %v: %v", all[2].Tokens, err)
	}
}

// collectOne returns the tokens of a text up to an error.
func collectOne(t *testing.T, s *Session, o GenerateOptions, step Step) (ids []int32, err error) {
	t.Helper()
	for token, err := range s.Generate(t.Context(), o, step) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, token.ID)
	}
	return ids, nil
}
