package decoder

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder/internal/stopstrings"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/tokenizer"
)

// An End says why a text ends.
type End uint8

// The ends of a text. If several hold at once, it is the first of this list.
const (
	EndNone      End = iota // it does not end
	EndToken                // a token of GenerateOptions.Stop
	EndText                 // a string of GenerateOptions.StopText
	EndGrammar              // the text belongs to GenerateOptions.Grammar, and nothing can follow
	EndMaxTokens            // GenerateOptions.MaxTokens are added
	EndContext              // the context has no room for another token, see Options.Context
)

// String returns "going", "stop token", "stop text", "grammar", "max tokens" or "context".
func (e End) String() string {
	names := [...]string{"going", "stop token", "stop text", "grammar", "max tokens", "context"}
	return names[min(int(e), len(names)-1)]
}

// A Token is a token that was added to a text, or the token of Stop that ends it.
type Token struct {
	Index int   // the number of the text or prompt in the call
	ID    int32 // in the vocabulary

	// Text is what the text grows by. It may be empty, for a special token, or for one whose text
	// is held back: the bytes of a character that is not complete, and what may be the beginning of
	// a string of StopText. That comes with a later token, at the latest with the last one, but for
	// a string of StopText itself and what follows it. Without StopText, all of them together are
	// what the tokenizer's Decode makes of the ids. Without a tokenizer, see Model.Tokenizer, all
	// are empty.
	Text string

	// Logprob is the natural logarithm of the probability of the token, and Top has the logarithms
	// of the most probable tokens, if GenerateOptions.Logprobs asks for them.
	Logprob float32
	Top     []TokenLogprob

	// End is set with the last token of a text. With EndToken it is the token of Stop, which is no
	// part of the text; Text may have what was held back.
	End End

	// StopText is the string of GenerateOptions.StopText that ended the text, with EndText.
	StopText string
}

// A Continuation continues one text with what GenerateOptions say. [Session.Generate] has one for
// each text. A program that calls [Session.Forward] itself, since texts come and go, has one beside
// each [Text]. It is for one goroutine at a time.
type Continuation struct {
	o        *GenerateOptions
	context  int
	vocab    int
	stop     []int32
	left     int // tokens that may be added, negative for no limit
	chooser  *chooser
	logprobs logprobs
	decoder  *tokenizer.Stream   // nil without a tokenizer
	stopText *stopstrings.Finder // nil without strings
	matcher  *grammar.Matcher    // nil without a grammar
	budget   *budget             // nil without one
	ends     []tokenScore        // scratch memory of limit
	end      End
}

// Continue returns a continuation of a text, with the tokens of o.Sampler.Seed. o.Draft does not
// matter. The error is a [*kernel.Error].
func (m *Model) Continue(o GenerateOptions) (*Continuation, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c := &Continuation{
		o: &o, context: m.options.Context, vocab: m.config.Vocab, stop: o.Stop, left: o.MaxTokens,
		chooser: newChooser(o.Sampler), logprobs: logprobs{exec: m.options.Exec}, decoder: m.decoder(o.Markers), stopText: stopstrings.New(o.StopText),
	}
	if c.stop == nil {
		c.stop = m.Stop()
	}
	if c.left == 0 {
		c.left = -1
	}
	for id := range o.Bias {
		if uint32(id) >= uint32(c.vocab) {
			return nil, &kernel.Error{Where: "decoder: GenerateOptions.Bias", Got: fmt.Sprintf("one for the token %d", id), Want: fmt.Sprintf("tokens from 0 to %d", c.vocab-1)}
		}
	}
	c.chooser.bias = o.Bias
	if c.stopText != nil && c.decoder == nil {
		return nil, &kernel.Error{Where: "decoder: GenerateOptions.StopText", Got: "strings for a model without a tokenizer", Want: "none"}
	}
	for i, id := range o.Markers {
		if uint32(id) >= uint32(c.vocab) {
			return nil, &kernel.Error{Where: fmt.Sprintf("decoder: GenerateOptions.Markers[%d]", i), Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", c.vocab-1)}
		}
	}
	if o.Budget != nil {
		if c.decoder == nil {
			return nil, &kernel.Error{Where: "decoder: GenerateOptions.Budget", Got: "one for a model without a tokenizer", Want: "none"}
		}
		c.budget = m.newBudget(o.Budget)
	}
	if o.Grammar != nil {
		if c.decoder == nil {
			return nil, &kernel.Error{Where: "decoder: GenerateOptions.Grammar", Got: "a grammar for a model without a tokenizer", Want: "none"}
		}
		var err error
		if c.matcher, err = o.Grammar.Matcher(m.grammarVocabulary(m.config.Vocab, o.Markers)); err != nil {
			return nil, err
		}
		c.chooser.limit = c.limit
	}
	return c, nil
}

// limit leaves the tokens that the grammar lets follow, and the tokens of Stop where the text may
// end.
func (c *Continuation) limit(scores []float32) error {
	words, err := c.matcher.Mask()
	if err != nil {
		return err
	}
	ends := c.ends[:0]
	if c.matcher.MayEnd() {
		for _, id := range c.stop {
			if uint32(id) < uint32(len(scores)) {
				ends = append(ends, tokenScore{id, scores[id]})
			}
		}
	}
	c.ends = ends
	left := len(ends) + leave(scores, words)
	for _, id := range c.stop {
		if uint32(id) < uint32(len(scores)) {
			scores[id] = float32(math.Inf(-1))
		}
	}
	for _, e := range ends {
		scores[e.id] = e.score
	}
	if left == 0 {
		return &kernel.Error{Where: "decoder: GenerateOptions.Grammar", Got: "a text after which no token of the vocabulary may follow", Want: "a grammar whose bytes the vocabulary has"}
	}
	return nil
}

// leave leaves the scores whose bits are set, and returns how many they are.
func leave(scores []float32, words []uint64) (left int) {
	never := float32(math.Inf(-1))
	for i, w := range words {
		part := scores[min(64*i, len(scores)):min(64*i+64, len(scores))]
		switch left += bits.OnesCount64(w); w {
		case math.MaxUint64:
		case 0:
			for k := range part {
				part[k] = never
			}
		default:
			for k := range part {
				if w>>k&1 == 0 {
					part[k] = never
				}
			}
		}
	}
	return left
}

// tokenScore is the score of a token.
type tokenScore struct {
	id    int32
	score float32
}

// Next chooses the token that follows tokens, all of the text, from the logits after the last of
// them, which it leaves as they are. Token.Index is 0. The error is a [*kernel.Error] for logits of
// another number than the vocabulary's or for a text that has ended. Other errors are about logits
// from which nothing can be chosen, or come from package grammar.
func (c *Continuation) Next(tokens []int32, logits []float32) (Token, error) {
	if err := c.check(len(logits)); err != nil {
		return Token{}, err
	}
	if i := slices.IndexFunc(tokens, func(id int32) bool { return uint32(id) >= uint32(c.vocab) }); i >= 0 {
		return Token{}, tokenError(0, i, tokens[i], c.vocab)
	}
	if c.o.Logits != nil {
		c.o.Logits(0, logits)
	}
	id, err := c.choose(logits, tokens)
	if err != nil {
		return Token{}, err
	}
	token, err := c.score(logits, id)
	if err != nil {
		return Token{}, err
	}
	if err := c.add(&token, len(tokens)+1); err != nil {
		return Token{}, err
	}
	return token, nil
}

// choose chooses the token that follows: one that the budget forces, or else the chooser's.
func (c *Continuation) choose(logits []float32, tokens []int32) (int32, error) {
	if id, forced := c.budget.force(); forced {
		c.chooser.skip()
		return id, nil
	}
	return c.chooser.next(logits, tokens)
}

// Score returns a token with the logarithms that o.Logprobs asks for, from the logits before it,
// for a token of the prompt. It changes nothing of the continuation. The error is a [*kernel.Error]
// if the number of logits is not the vocabulary's, or id is no token of it.
func (c *Continuation) Score(logits []float32, id int32) (Token, error) {
	switch {
	case len(logits) != c.vocab:
		return Token{}, &kernel.Error{Where: "decoder: Continuation.Score: logits", Got: fmt.Sprint(len(logits)), Want: fmt.Sprintf("%d, one for each token", c.vocab)}
	case uint32(id) >= uint32(c.vocab):
		return Token{}, tokenError(0, 0, id, c.vocab)
	}
	return c.score(logits, id)
}

func (c *Continuation) score(logits []float32, id int32) (token Token, err error) {
	token.ID = id
	if c.o.Logprobs {
		token.Logprob, token.Top, err = c.logprobs.of(logits, id, c.o.TopLogprobs)
	}
	return token, err
}

// Skip brings the continuation to where it was after Next had given these tokens, without logits:
// for a text that goes on in another process. prompt is the number of tokens before them. It
// returns the text that they gave. The error is a [*kernel.Error] if a token follows the end of the
// text, or is none of the vocabulary.
func (c *Continuation) Skip(prompt int, ids []int32) (text string, err error) {
	for i, id := range ids {
		if err := c.check(c.vocab); err != nil {
			return "", err
		}
		if uint32(id) >= uint32(c.vocab) {
			return "", tokenError(0, i, id, c.vocab)
		}
		token := Token{ID: id}
		c.chooser.skip()
		if err := c.add(&token, prompt+i+1); err != nil {
			return "", err
		}
		text += token.Text
	}
	return text, nil
}

// check reports a text that has ended, and a wrong number of logits.
func (c *Continuation) check(logits int) error {
	if c.end != EndNone {
		return &kernel.Error{Where: "decoder: Continuation", Got: "a text that has ended: " + c.end.String(), Want: "one that goes on"}
	}
	if logits != c.vocab {
		return &kernel.Error{Where: "decoder: Continuation.Next: logits", Got: fmt.Sprint(logits), Want: fmt.Sprintf("%d, one for each token", c.vocab)}
	}
	return nil
}

// add sets what a token adds to the text, which then has so many tokens, and whether it ends.
func (c *Continuation) add(token *Token, length int) error {
	if slices.Contains(c.stop, token.ID) {
		c.end = EndToken
	} else {
		if c.matcher != nil {
			if err := c.matcher.Accept(token.ID); err != nil {
				return err
			}
		}
		c.left--
		var stopped bool
		text := c.textOf(token.ID)
		c.budget.add(text)
		token.Text, stopped = c.stopText.Add(text)
		switch {
		case stopped:
			c.end = EndText
		case c.matcher != nil && c.matcher.MustEnd():
			c.end = EndGrammar
		case c.left == 0:
			c.end = EndMaxTokens
		case length > c.context:
			c.end = EndContext
		}
	}
	if c.end != EndNone && c.end != EndText {
		token.Text += c.rest()
	}
	if token.End = c.end; c.end == EndText {
		token.StopText = c.stopText.Found()
	}
	return nil
}

// textOf returns what the text grows by with a token.
func (c *Continuation) textOf(id int32) string {
	if c.decoder == nil {
		return ""
	}
	return c.decoder.Next(id)
}

// rest returns what has been held back, at the end of a text.
func (c *Continuation) rest() string {
	if c.decoder == nil {
		return ""
	}
	text, stopped := c.stopText.Add(c.decoder.Flush())
	switch {
	case !stopped:
		text += c.stopText.Rest()
	case c.end != EndToken:
		c.end = EndText
	}
	return text
}
