package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/options"
)

// A generation is a request for texts, and how its answer is written.
type generation struct {
	*exchange
	h       *host
	prompts [][]int32

	messages []chattemplate.Message // that the prompt is written from, nil for texts that are continued
	today    chattemplate.Date      // that a template took

	n       int // choices of each prompt
	o       decoder.GenerateOptions
	stream  bool
	receipt bool // with each choice
	usage   bool // at the end of a stream
	each    bool // in all its events
	form    form

	echo  []string // texts of the prompts, which begin the answers, or nil
	quiet bool     // there is nothing but them

	readTokens [][]decoder.Token // of the prompts, with their logarithms, if those are wanted and the prompts, too

	answers []*answer
	records []*receipt.Recorder // of the answers, if there are receipts
	begin   time.Time
	created int64
	answer  string // its id
}

// take sets what a request says of how its answer is written.
func (g *generation) take(q *options.Sampling) {
	g.stream, g.receipt = q.Stream, q.Receipt
	if o := q.StreamOptions; o != nil { // which do not matter without a stream
		g.usage, g.each = o.IncludeUsage, o.IncludeUsage && o.EachUsage
	}
}

// A form is how answers of a path are written.
type form interface {
	// begin is the first event of a choice of a stream, or nil.
	begin() any
	// delta is a choice of a stream for what a token adds.
	delta(c *choice) any
	// end is the last event of a choice, or nil if delta has it all.
	end(reason string) any
	// whole is a choice that is complete.
	whole(c *choice) any
	// object names what is written, as a whole or as a part of a stream, and id begins its id.
	object(stream bool) string
	id() string
}

// A choice is a text, or the part of it that a token has added.
type choice struct {
	index    int
	text     string
	tokens   []decoder.Token // that are part of the text
	offset   int             // of the text in the whole text, in characters
	logprobs *logprobs       // nil if they are not wanted
	reason   string          // why it ends, or ""

	// Of a prompt: nothing precedes its first token, and so many of the first ones are not written in the text.
	begins  bool
	outside int
}

// usage counts tokens.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// completion is an answer, whole or an event of a stream.
type completion struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created"`
	Model       string          `json:"model"`
	Fingerprint string          `json:"system_fingerprint"`
	Choices     []any           `json:"choices"`
	Usage       json.RawMessage `json:"usage,omitempty"`

	Receipts []*receipt.Receipt `json:"receipts,omitempty"` // of the choices
}

// answerAll lets all texts begin and writes them.
func (g *generation) answerAll() error {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel() // ends those that have begun, if one cannot
	g.begin, g.created = time.Now(), g.now().Unix()
	for at, prompt := range g.prompts {
		if most := g.h.generate.Options().Context; len(prompt) > most {
			return tooLong("prompt", most) // tokens of a completion, as texts have been found to fit
		}
		g.prompt += len(prompt)
		g.readTokens = append(g.readTokens, g.toScore(prompt))
		for i := range g.n {
			scores := g.readTokens[at]
			if i > 0 { // the first choice has them
				scores = nil
			}
			o := g.o
			o.Sampler.Seed += uint64(i)
			var r *receipt.Recorder
			if g.receipt {
				var err error
				if r, err = g.h.record(prompt, &o); err != nil {
					return err
				}
				if err := r.Conversation(g.today, g.messages); err != nil {
					return err
				}
				g.records = append(g.records, r)
			}
			a, err := g.h.start(ctx, g.key, prompt, o, r, scores)
			if err != nil {
				return err
			}
			g.answers = append(g.answers, a)
		}
	}
	g.answer = g.form.id() + g.newID()
	if g.stream {
		return g.writeStream(ctx)
	}
	return g.writeWhole(ctx)
}

// next returns what the next token adds to a text.
func (g *generation) next(ctx context.Context, index int) (c choice, err error) {
	t, err := g.answers[index].next(ctx)
	if err != nil {
		return c, err
	}
	if g.quiet {
		return choice{index: index, reason: reasons[decoder.EndMaxTokens]}, nil
	}
	if g.made++; g.made == 1 {
		g.metrics.first.WithLabelValues(g.h.name).Observe(time.Since(g.begin).Seconds())
	}
	c = choice{index: index, text: t.Text, reason: reasons[t.End]}
	// With the prompt's logarithms an answer has that of the token that ends it, too: who scores a text asks for
	// one token more and leaves the last one out, whatever it is.
	if t.End != decoder.EndToken || g.echo != nil {
		c.tokens = []decoder.Token{t}
	}
	return c, nil
}

// toScore returns room for the logarithms of the tokens of a prompt, nil if they are not wanted.
func (g *generation) toScore(prompt []int32) []decoder.Token {
	if g.echo == nil || !g.o.Logprobs {
		return nil
	}
	tokens := make([]decoder.Token, len(prompt))
	tokens[0].ID = prompt[0]
	return tokens
}

// echoed returns what a choice begins with whose prompt is written, too. The choice has got its first token, so that
// all of the prompt has been read.
func (g *generation) echoed(index int) choice {
	at := index / g.n
	c := choice{index: index, text: g.echo[at], tokens: slices.Clip(g.readTokens[at]), begins: true}
	if tok, err := g.h.generate.Tokenizer(); err == nil && len(c.tokens) > 0 {
		if before, _ := tok.Ends(); len(before) > 0 && c.tokens[0].ID == before[0] && !strings.HasPrefix(c.text, tok.Token(before[0])) {
			c.outside = len(before)
		}
	}
	return c
}

// reasons are the ends of texts as clients know them.
var reasons = map[decoder.End]string{decoder.EndToken: "stop", decoder.EndText: "stop", decoder.EndGrammar: "stop", decoder.EndMaxTokens: "length", decoder.EndContext: "length"}

// writeWhole waits for all texts and writes them at once.
func (g *generation) writeWhole(ctx context.Context) error {
	body := g.body(false)
	for i := range g.answers {
		all, first := choice{index: i}, true
		var text strings.Builder
		for all.reason == "" {
			c, err := g.next(ctx, i)
			if err != nil {
				return err
			}
			if first && g.echo != nil {
				all = g.echoed(i)
				text.WriteString(all.text)
			}
			first = false
			text.WriteString(c.text)
			all.tokens, all.reason = append(all.tokens, c.tokens...), c.reason
		}
		all.text = text.String()
		g.addLogprobs(&all)
		body.Choices = append(body.Choices, g.form.whole(&all))
	}
	body.Usage = g.usageNow()
	var err error
	if body.Receipts, err = g.receipts(); err != nil {
		return err
	}
	return g.reply(body)
}

// receipts returns the receipts of all choices, whose last tokens were read.
func (g *generation) receipts() (all []*receipt.Receipt, err error) {
	for _, r := range g.records {
		all = append(all, r.Receipt())
	}
	return all, g.sign(all...)
}

// body returns what an answer begins with.
func (g *generation) body(stream bool) *completion {
	return &completion{ID: g.answer, Object: g.form.object(stream), Created: g.created, Model: g.h.name, Fingerprint: g.h.fingerprint, Choices: []any{}}
}

func (g *generation) usageNow() json.RawMessage {
	data, _ := json.Marshal(usage{g.prompt, g.made, g.prompt + g.made}) // numbers have no error
	return data
}

// limit sets the grammar that a request asks for. Grammars take memory while a text grows, so that few
// requests at once may have one; release says that the request is over.
func (x *exchange) limit(o *decoder.GenerateOptions, l *options.Limits) (release func(), err error) {
	asked, err := l.Shape()
	if err != nil || asked == nil {
		return func() {}, err
	}
	select {
	case x.grammars <- struct{}{}:
	default:
		return nil, busy(http.StatusServiceUnavailable, "too many requests with a %s are being answered", asked.Field)
	}
	release = func() { <-x.grammars }
	if o.Grammar, err = asked.Parse(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
