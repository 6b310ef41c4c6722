package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/attn-go/attn/models/decoder"
)

// A generation is a request for texts, and how its answer is written.
type generation struct {
	*exchange
	h       *host
	prompts [][]int32
	n       int // choices of each prompt
	o       decoder.GenerateOptions
	stream  bool
	usage   bool // at the end of a stream
	form    form

	answers []*answer
	begin   time.Time
	created int64
	answer  string // its id
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
}

// answerAll lets all texts begin and writes them.
func (g *generation) answerAll() error {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel() // ends those that have begun, if one cannot
	g.begin, g.created = time.Now(), g.s.Now().Unix()
	for _, prompt := range g.prompts {
		if most := g.h.generate.Options().Context; len(prompt) > most {
			return tooLong("messages", len(prompt), most)
		}
		g.prompt += len(prompt)
		for i := range g.n {
			o := g.o
			o.Sampler.Seed += uint64(i)
			a, err := g.h.start(ctx, g.key, prompt, o)
			if err != nil {
				return err
			}
			g.answers = append(g.answers, a)
		}
	}
	g.answer = g.form.id() + g.s.NewID()
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
	if g.made++; g.made == 1 {
		g.metrics.first.WithLabelValues(g.h.name).Observe(time.Since(g.begin).Seconds())
	}
	c = choice{index: index, text: t.Text, reason: reasons[t.End]}
	if t.End != decoder.EndToken {
		c.tokens = []decoder.Token{t}
	}
	return c, nil
}

// reasons are the ends of texts as clients know them.
var reasons = map[decoder.End]string{decoder.EndToken: "stop", decoder.EndText: "stop", decoder.EndMaxTokens: "length", decoder.EndContext: "length"}

// writeWhole waits for all texts and writes them at once.
func (g *generation) writeWhole(ctx context.Context) error {
	body := g.body(false)
	for i := range g.answers {
		all := choice{index: i}
		var text strings.Builder
		for all.reason == "" {
			c, err := g.next(ctx, i)
			if err != nil {
				return err
			}
			text.WriteString(c.text)
			all.tokens, all.reason = append(all.tokens, c.tokens...), c.reason
		}
		all.text = text.String()
		g.addLogprobs(&all)
		body.Choices = append(body.Choices, g.form.whole(&all))
	}
	body.Usage = g.usageNow()
	return g.reply(body)
}

// body returns what an answer begins with.
func (g *generation) body(stream bool) *completion {
	return &completion{ID: g.answer, Object: g.form.object(stream), Created: g.created, Model: g.h.name, Fingerprint: g.h.fingerprint, Choices: []any{}}
}

func (g *generation) usageNow() json.RawMessage {
	data, _ := json.Marshal(usage{g.prompt, g.made, g.prompt + g.made}) // numbers have no error
	return data
}

// writeStream writes an event for each token that adds something, those of several texts in turn. The
// status is written with the first one, so that an error before it has its own.
func (g *generation) writeStream(ctx context.Context) error {
	w := &eventWriter{g: g}
	ended := make([]bool, len(g.answers))
	offsets := make([]int, len(g.answers))
	for left := len(ended); left > 0; {
		for i := range g.answers {
			if ended[i] {
				continue
			}
			c, err := g.next(ctx, i)
			if err != nil {
				return w.fail(err)
			}
			c.offset = offsets[i]
			offsets[i] += len([]rune(c.text))
			g.addLogprobs(&c)
			if !w.begun[i] {
				w.event(g.form.begin(), i)
			}
			if c.text != "" || c.logprobs != nil && len(c.tokens) > 0 {
				w.event(g.form.delta(&c), i)
			}
			if c.reason != "" {
				ended[i] = true
				left--
				w.event(g.form.end(c.reason), i)
			}
			if err := w.flush(); err != nil {
				return nil // the client is gone
			}
		}
	}
	if g.usage {
		w.last()
	}
	return w.done()
}

// An eventWriter writes the events of a stream.
type eventWriter struct {
	g     *generation
	begun map[int]bool
	buf   bytes.Buffer
	err   error
}

// event adds an event for a choice.
func (w *eventWriter) event(choice any, index int) {
	if w.begun == nil {
		w.begun = map[int]bool{}
	}
	w.begun[index] = true
	if choice == nil {
		return
	}
	body := w.g.body(true)
	body.Choices = append(body.Choices, withIndex{index, choice})
	if w.g.usage {
		body.Usage = json.RawMessage("null")
	}
	w.add(body)
}

// last adds the event of the usage, which has no choice.
func (w *eventWriter) last() {
	body := w.g.body(true)
	body.Usage = w.g.usageNow()
	w.add(body)
}

func (w *eventWriter) add(body any) {
	data, err := json.Marshal(body)
	if err != nil {
		w.err = err
		return
	}
	w.buf.WriteString("data: ")
	w.buf.Write(data)
	w.buf.WriteString("\n\n")
}

// flush sends what was added.
func (w *eventWriter) flush() error {
	if w.err != nil {
		return w.err
	}
	if w.buf.Len() == 0 {
		return nil
	}
	if w.g.w.status == 0 {
		w.g.w.Header().Set("Content-Type", "text/event-stream")
		w.g.w.Header().Set("Cache-Control", "no-cache")
		w.g.w.Header().Set("X-Accel-Buffering", "no") // of proxies that would wait for more
	}
	w.g.deadline()
	_, err := w.g.w.Write(w.buf.Bytes())
	w.buf.Reset()
	if err == nil {
		if err = w.g.control.Flush(); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	return err
}

// fail ends a stream with an error, as an event if it has begun.
func (w *eventWriter) fail(err error) error {
	if w.g.w.status == 0 {
		return err
	}
	w.buf.WriteString("data: ")
	w.buf.Write(failureOf(err).body())
	w.buf.WriteString("\n\n")
	_ = w.flush() // it ends anyway
	return err
}

// done ends a stream.
func (w *eventWriter) done() error {
	w.buf.WriteString("data: [DONE]\n\n")
	_ = w.flush() // a client that is gone needs no error
	return nil
}

// withIndex adds the index of a choice to its JSON.
type withIndex struct {
	index  int
	choice any
}

// MarshalJSON writes the fields of the choice after its index.
func (c withIndex) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(c.choice)
	if err != nil {
		return nil, err
	}
	index, _ := json.Marshal(c.index) // numbers have no error
	return append(append(append([]byte(`{"index":`), index...), ','), data[1:]...), nil
}

// logprobs are the logarithms of the probabilities of the tokens of a choice.
type logprobs struct {
	tokens []tokenLogprob
}

// tokenLogprob is a token with its logarithm, as OpenAI's chat API has it.
type tokenLogprob struct {
	Token   string          `json:"token"`
	Logprob float32         `json:"logprob"`
	Bytes   []int           `json:"bytes"`                  // null for a token that is no complete text
	Top     *[]tokenLogprob `json:"top_logprobs,omitempty"` // nil for one of top_logprobs
}

// addLogprobs adds the logarithms of a choice's tokens, if the request asks for them.
func (g *generation) addLogprobs(c *choice) {
	if !g.o.Logprobs {
		return
	}
	c.logprobs = &logprobs{tokens: []tokenLogprob{}}
	for _, t := range c.tokens {
		l := g.tokenLogprob(t.ID, t.Logprob)
		list := make([]tokenLogprob, len(t.Top))
		for i, top := range t.Top {
			list[i] = g.tokenLogprob(top.ID, top.Logprob)
		}
		l.Top = &list
		c.logprobs.tokens = append(c.logprobs.tokens, l)
	}
}

// leastLogprob stands for the logarithm of 0, which JSON has no number for.
const leastLogprob = -9999

func (g *generation) tokenLogprob(id int32, logprob float32) tokenLogprob {
	l := tokenLogprob{Logprob: max(logprob, leastLogprob)}
	if math.IsNaN(float64(logprob)) {
		l.Logprob = leastLogprob
	}
	if tok, err := g.h.generate.Tokenizer(); err == nil {
		l.Token = tok.Decode([]int32{id}, true)
	}
	if !strings.ContainsRune(l.Token, '\uFFFD') {
		l.Bytes = []int{}
		for _, b := range []byte(l.Token) {
			l.Bytes = append(l.Bytes, int(b))
		}
	}
	return l
}
