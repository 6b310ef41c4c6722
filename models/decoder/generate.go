package decoder

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/grammar"
)

// GenerateOptions are the settings of generating text.
type GenerateOptions struct {
	// MaxTokens is the most tokens that are added to each text; 0 means no limit but the
	// context.
	MaxTokens int

	// Sampler says how tokens are chosen. The zero value always takes the most probable one.
	Sampler Sampler

	// Bias is added to the logits of tokens, before the penalties of Sampler: from -100 to 100, for
	// tokens of the vocabulary. Logprobs are the model's, without it.
	Bias map[int32]float32

	// Stop are tokens that end a text; they are no part of it. nil means those that the file
	// names as ends of a text or of a turn, and an empty slice means none.
	Stop []int32

	// StopText are strings that end a text as soon as any of them is complete, wherever tokens
	// begin and end. The text before it is returned, nothing of it or after it. Of several that are
	// complete at once the longest counts. They are looked for in what is generated, where special
	// tokens have no text. There are up to 256, of 1 to 1024 bytes of UTF-8 each.
	StopText []string

	// Grammar, if not nil, limits what is generated: only tokens may follow after which some text
	// of the grammar goes on, and tokens of Stop only where a text may end. A text that is complete
	// and cannot go on ends with EndGrammar. So it belongs to the grammar if it ends with EndToken
	// or EndGrammar; after MaxTokens, at the end of the context or at a string of StopText it is
	// the beginning of such a text. Logprobs are the model's, without the grammar. Bytes count as
	// they are within a text: where a tokenizer leaves out a space at the beginning, as
	// SentencePiece's do, that one counts.
	Grammar *grammar.Grammar

	// Markers are special tokens that are part of the text, and that a grammar lets follow by their
	// bytes, such as those around calls of tools. All others are left out of it.
	Markers []int32

	// Budget, if not nil, limits thinking.
	Budget *Budget

	// Logprobs says that Token.Logprob is wanted: the natural logarithm of the probability that the
	// model gives the token, by its logits as they are, before anything that Sampler does.
	// TopLogprobs is the number of most probable tokens of Token.Top, up to 256. The logarithms are
	// the cross-entropy of package contract with the other sign, so they have the same bits on
	// every CPU.
	Logprobs    bool
	TopLogprobs int

	// Logits, if not nil, is called with the logits that each token is chosen from, before the
	// token is returned: the model's, before anything that Sampler does. text is Token.Index. They
	// are valid during the call alone, and must not be changed.
	Logits func(text int, logits []float32)

	// Draft is the most tokens that are guessed and computed together with the next one: those that
	// followed the last tokens where these occur earlier in the text, or with Options.MTP those
	// that the layer of the model guesses. Right guesses save steps, and wrong guesses cost time.
	// The tokens are the same as without.
	Draft int

	// DraftModel, if not nil, guesses them, greedily, in the place of the text. It has the same
	// vocabulary, as a smaller model of the same kind has, and a cache of its own, which stays with
	// the session, for texts that go on in another call. Whatever it guesses, the tokens are the
	// same.
	DraftModel *Model
}

// Check returns a [*kernel.Error] if an option is out of range, as generating would.
func (o *GenerateOptions) Check() error {
	switch {
	case o.MaxTokens < 0:
		return &kernel.Error{Where: "decoder: GenerateOptions.MaxTokens", Got: fmt.Sprint(o.MaxTokens), Want: "0 or more"}
	case o.TopLogprobs < 0 || o.TopLogprobs > fewTokens:
		return &kernel.Error{Where: "decoder: GenerateOptions.TopLogprobs", Got: fmt.Sprint(o.TopLogprobs), Want: fmt.Sprintf("0 to %d", fewTokens)}
	case o.TopLogprobs > 0 && !o.Logprobs:
		return &kernel.Error{Where: "decoder: GenerateOptions.TopLogprobs", Got: fmt.Sprintf("%d without Logprobs", o.TopLogprobs), Want: "0, or Logprobs"}
	case len(o.StopText) > mostStrings:
		return &kernel.Error{Where: "decoder: GenerateOptions.StopText", Got: fmt.Sprintf("%d strings", len(o.StopText)), Want: fmt.Sprintf("at most %d", mostStrings)}
	case o.Draft < 0 || o.Draft > chunk:
		return &kernel.Error{Where: "decoder: GenerateOptions.Draft", Got: fmt.Sprint(o.Draft), Want: fmt.Sprintf("0 to %d", chunk)}
	case o.Draft == 0 && o.DraftModel != nil:
		return &kernel.Error{Where: "decoder: GenerateOptions.Draft", Got: "0 with DraftModel", Want: fmt.Sprintf("1 to %d tokens that it guesses", chunk)}
	}
	for i, text := range o.StopText {
		if n := len(text); n < 1 || n > longestString || !utf8.ValidString(text) {
			return &kernel.Error{Where: "decoder: " + fmt.Sprintf("GenerateOptions.StopText[%d]", i), Got: fmt.Sprintf("%d bytes: %.20q", n, text), Want: fmt.Sprintf("1 to %d bytes of UTF-8", longestString)}
		}
	}
	for id, b := range o.Bias {
		if !(math.Abs(float64(b)) <= mostPenalty) {
			return &kernel.Error{Where: fmt.Sprintf("decoder: GenerateOptions.Bias[%d]", id), Got: fmt.Sprint(b), Want: "-100 to 100"}
		}
	}
	if len(o.Markers) > mostStrings {
		return &kernel.Error{Where: "decoder: GenerateOptions.Markers", Got: fmt.Sprintf("%d tokens", len(o.Markers)), Want: fmt.Sprintf("at most %d", mostStrings)}
	}
	if o.Budget != nil {
		if err := o.Budget.check(); err != nil {
			return err
		}
	}
	return o.Sampler.Check()
}

// The most and the longest strings of StopText: more would take longer than the model.
const (
	mostStrings   = 256
	longestString = 1024
)

// Generate continues a prompt, token by token, in a cache of its own. Leaving the loop ends the
// generation. Errors of [Session.Generate] and [Model.NewSession] end it too.
func (m *Model) Generate(ctx context.Context, prompt []int32, o GenerateOptions) iter.Seq2[Token, error] {
	return m.GenerateBatch(ctx, [][]int32{prompt}, o)
}

// GenerateBatch continues several prompts side by side in one cache: in every step, each of
// them gets a token, which takes little longer than for one. What they have in common at
// their start is read once. Token.Index is the number of the prompt.
func (m *Model) GenerateBatch(ctx context.Context, prompts [][]int32, o GenerateOptions) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		s, steps, err := m.begin(ctx, prompts, &o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		for token, err := range s.Generate(ctx, o, steps...) {
			if !yield(token, err) {
				return
			}
		}
	}
}

// begin makes a session for prompts and lets the texts share what they have in common.
func (m *Model) begin(ctx context.Context, prompts [][]int32, o *GenerateOptions) (*Session, []Step, error) {
	longest, shared := 0, SharedPrefix(prompts)
	for i, p := range prompts {
		if len(p) == 0 {
			return nil, nil, &kernel.Error{Where: fmt.Sprintf("decoder: prompts[%d]", i), Got: "no tokens", Want: "at least one"}
		}
		longest = max(longest, len(p))
		if len(p) > m.options.Context {
			return nil, nil, contextError(i, len(p), m.options.Context)
		}
	}
	tokens := m.options.Context
	if o.MaxTokens > 0 {
		tokens = min(tokens, longest+min(o.MaxTokens, tokens))
	}
	// The last page of what is shared, if it is partly filled, is copied by every text.
	s, err := m.newSession(m.Pages(1) + len(prompts)*m.Pages(tokens))
	if err != nil || len(prompts) == 0 {
		return s, nil, err
	}
	prefix := s.NewText()
	defer prefix.Free()
	if shared > 0 {
		if _, err := s.Forward(ctx, Step{Text: prefix, Tokens: prompts[0][:shared], Logits: LogitsNone}); err != nil {
			return nil, nil, err
		}
	}
	steps := make([]Step, len(prompts))
	for i, p := range prompts {
		t, err := prefix.Fork(prefix.Len())
		if err != nil {
			return nil, nil, err
		}
		steps[i] = Step{Text: t, Tokens: p[t.Len():]}
	}
	return s, steps, nil
}

// Generate lets each text read the tokens of its step, at least one, and then continues all
// of them side by side until each has ended, as Token.End says. An error ends the generation: those
// of [Session.Forward], and a [*kernel.Error].
//
// A text then has all tokens but the last one that it got, which nothing has read yet, or the
// token of Stop. [Text.Keep] finds out what is missing. The texts stay the caller's; meanwhile
// nothing else may use the session.
func (s *Session) Generate(ctx context.Context, o GenerateOptions, steps ...Step) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		g, err := s.newGeneration(&o, steps)
		if err != nil {
			yield(Token{}, err)
			return
		}
		for len(g.streams) > 0 {
			if err := g.step(ctx, yield); err != nil {
				yield(Token{}, err)
				return
			}
		}
	}
}

// SharedPrefix returns the number of tokens that [Model.GenerateBatch] reads once for all prompts:
// the tokens that they have in common at their start, without the last one of any prompt. It is 0
// for a single prompt.
func SharedPrefix(prompts [][]int32) int {
	if len(prompts) < 2 {
		return 0
	}
	shared := len(prompts[0])
	for _, p := range prompts {
		shared = min(shared, len(p)-1, common(p, prompts[0]))
	}
	return max(0, shared)
}

// A generation is a call of Generate.
type generation struct {
	s       *Session
	draft   int
	streams []*stream // that have not ended
	steps   []Step
	left    bool     // the loop
	full    bool     // the cache has no room for guesses
	drafts  *Session // of the draft model, or nil
	ahead   bool     // which is the layer of Options.MTP
}

// A stream is a text that grows.
type stream struct {
	*Continuation
	index   int
	text    *Text
	next    []int32 // tokens to read: the prompt, or the last token and the guesses after it
	guesses int     // at the end of next
}

func (s *Session) newGeneration(o *GenerateOptions, steps []Step) (*generation, error) {
	if err := cmp.Or(o.Check(), s.checkTexts("Step", steps)); err != nil {
		return nil, err
	}
	g := &generation{s: s, draft: o.Draft}
	for i, t := range steps {
		if len(t.Tokens) == 0 {
			return nil, &kernel.Error{Where: "decoder: " + fmt.Sprintf("Step %d: Tokens", i), Got: "none", Want: "at least one token to read"}
		}
		mine := *o
		mine.Sampler.Seed += uint64(i)
		if o.Logits != nil {
			mine.Logits = func(_ int, logits []float32) { o.Logits(i, logits) }
		}
		c, err := s.model.Continue(mine)
		if err != nil {
			return nil, err
		}
		g.streams = append(g.streams, &stream{Continuation: c, index: i, text: t.Text, next: slices.Clone(t.Tokens)})
	}
	return g, g.drafters(o)
}

// step lets every stream read what it has, and choose a token, or several if guesses were
// right.
func (g *generation) step(ctx context.Context, yield func(Token, error) bool) error {
	logits, err := g.read(ctx)
	if err != nil && isFull(err) && g.drop() {
		logits, err = g.read(ctx)
	}
	if err != nil {
		return err
	}
	going := g.streams[:0]
	for i, t := range g.streams {
		if err := g.advance(t, logits[i], yield); err != nil {
			return err
		}
		if g.left {
			g.streams = nil
			return nil
		}
		if t.end == EndNone {
			going = append(going, t)
		}
	}
	g.full = g.full && len(going) == len(g.streams)
	clear(g.streams[len(going):])
	g.streams = going
	if err := g.guess(ctx); !isFull(err) {
		return err
	}
	return nil // what the draft model has no room for is not guessed
}

// read lets every stream read what it has.
func (g *generation) read(ctx context.Context) ([][]float32, error) {
	g.steps = g.steps[:0]
	for _, t := range g.streams {
		step := Step{Text: t.text, Tokens: t.next}
		if t.guesses > 0 {
			step.Logits = LogitsAll
		}
		g.steps = append(g.steps, step)
	}
	if g.ahead {
		g.s.follows = chunk
		defer func() { g.s.follows = 0 }()
	}
	return g.s.run(ctx, g.steps, false, func(i int) int { return g.streams[i].index })
}

// drop forgets all guesses, for which the cache has no room until a stream ends, and tells whether
// there were some.
func (g *generation) drop() (dropped bool) {
	for _, t := range g.streams {
		dropped = dropped || t.guesses > 0
		t.next, t.guesses = t.next[:len(t.next)-t.guesses], 0
	}
	g.full = dropped
	return dropped
}

// advance chooses the token after those that the stream has read, and as long as that is
// what was guessed, the one after it.
func (g *generation) advance(t *stream, logits []float32, yield func(Token, error) bool) error {
	vocab := g.s.model.config.Vocab
	guesses := t.next[len(t.next)-t.guesses:]
	read := t.text.Len() - len(guesses) // tokens that are certain
	for i := 0; ; i++ {
		token, err := t.Next(t.text.tokens[:read+i], logits[i*vocab:][:vocab])
		if err != nil {
			return err
		}
		token.Index = t.index
		g.left = !yield(token, nil)
		if !g.left && token.End == EndNone && i < len(guesses) && guesses[i] == token.ID {
			continue
		}
		t.next, t.guesses = append(t.next[:0], token.ID), 0
		return t.text.Truncate(read + i)
	}
}

// guess adds guesses to what the streams read next.
func (g *generation) guess(ctx context.Context) error {
	if g.full || g.draft == 0 {
		return nil
	}
	wants := make([]int, len(g.streams))
	for i, t := range g.streams {
		n := min(g.draft, g.s.model.options.Context-t.text.Len()-1)
		if t.left > 0 {
			n = min(n, t.left-1)
		}
		if wants[i] = n; g.drafts == nil {
			t.guess(n)
		}
	}
	if g.drafts == nil {
		return nil
	}
	return g.ask(ctx, wants)
}

// known returns the tokens of the text and the next one.
func (t *stream) known() []int32 {
	return append(t.text.tokens, t.next[0]) // may write beyond the text's length, which is free
}

// guess adds up to n guesses. They follow the latest earlier place of the last three tokens, or
// else two, the next one included; where the text ends, they go on at that place, as if the text
// were periodic.
func (t *stream) guess(n int) {
	tokens := t.known()
	for length := 3; length >= 2 && n > 0; length-- {
		if at := latest(tokens, length); at >= 0 {
			for i := range n {
				t.next = append(t.next, tokens[at+i%(len(tokens)-at)])
			}
			t.guesses = n
			return
		}
	}
}

// latest returns the index after the latest place, but for the end, where the last n tokens
// occur, or -1.
func latest(tokens []int32, n int) int {
	if n > len(tokens) {
		return -1
	}
	last := tokens[len(tokens)-n:]
	for at := len(tokens) - 1; at >= n; at-- {
		if slices.Equal(tokens[at-n:at], last) {
			return at
		}
	}
	return -1
}
