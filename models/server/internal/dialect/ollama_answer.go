package dialect

import (
	"bytes"
	"encoding/json"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// An ollamaWriter writes answers of texts.
type ollamaWriter struct {
	ollama
	ollamaClock
	chat bool
	last request.Event
}

// load returns the request of a client that has nothing to say yet.
func (*ollamaWriter) load(model string) (*request.Request, error) {
	return &request.Request{Model: model, Tagged: true, Work: &request.About{}}, nil
}

// converse returns the request for the next message.
func (*ollamaWriter) converse(in *Input, q *ollamaText, messages []chattemplate.Message, tools []tool) (*request.Request, error) {
	w := &request.Generate{Conversation: &chattemplate.Conversation{Messages: messages, Date: in.Date}}
	think, err := q.think()
	if err == nil {
		err = (&setting{tools: tools, thoughts: think}).set(w)
	}
	if err != nil {
		return nil, err
	}
	return q.read(in, w)
}

// ollamaLine is a line of an answer.
type ollamaLine struct {
	Model    string        `json:"model"`
	Created  string        `json:"created_at"`
	Message  *ollamaAnswer `json:"message,omitempty"`
	Response *string       `json:"response,omitempty"`
	Thinking string        `json:"thinking,omitempty"`

	Logprobs []tokenLogprob `json:"logprobs,omitempty"`
	Done     bool           `json:"done"`
	*ollamaEnd
}

// ollamaAnswer is a message of an answer.
type ollamaAnswer struct {
	Role     string       `json:"role"`
	Content  string       `json:"content"`
	Thinking string       `json:"thinking,omitempty"`
	Calls    []ollamaCall `json:"tool_calls,omitempty"`
}

// ollamaCall is a call of a tool.
type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// line returns a line that says what an event does.
func (o *ollamaWriter) line(r *request.Request, e *request.Event) *ollamaLine {
	l := &ollamaLine{Model: r.Model, Created: ollamaTime(r.Created)}
	if o.chat {
		l.Message = &ollamaAnswer{Role: "assistant"}
	}
	text := ""
	for _, it := range itemsOf(e) {
		call := ollamaCall{ID: it.id}
		switch {
		case it.itemKind == textItem:
			text += it.text
		case it.itemKind == thoughtItem && o.chat:
			l.Message.Thinking = it.text
		case it.itemKind == thoughtItem:
			l.Thinking = it.text
		default: // in a chat, as nothing else has tools
			call.Function.Index, call.Function.Name, call.Function.Arguments = it.call, it.name, answer.Whole(it.text)
			l.Message.Calls = append(l.Message.Calls, call)
		}
	}
	if o.chat {
		l.Message.Content = text
	} else {
		l.Response = &text
	}
	if len(e.Tokens) > 0 {
		l.Logprobs = logprobsOf(e)
	}
	return l
}

// end returns the last line.
func (o *ollamaWriter) end(r *request.Request, e *request.Event, reason string) *ollamaLine {
	l := o.line(r, e)
	l.Done, l.ollamaEnd = true, o.ollamaClock.end(r, reason)
	return l
}

// Whole implements [Dialect].
func (o *ollamaWriter) Whole(r *request.Request) any {
	if _, ok := r.Work.(*request.About); ok {
		return o.end(r, &request.Event{}, "load")
	}
	e := r.Whole()[0]
	return o.end(r, e, reasons[e.End])
}

// Event implements [Streamer].
func (o *ollamaWriter) Event(b *bytes.Buffer, r *request.Request, e *request.Event) error {
	if o.last = *e; len(itemsOf(e)) == 0 && len(e.Tokens) == 0 {
		return nil
	}
	return json.NewEncoder(b).Encode(o.line(r, e))
}

// End implements [Streamer].
func (o *ollamaWriter) End(b *bytes.Buffer, r *request.Request) error {
	return json.NewEncoder(b).Encode(o.end(r, &request.Event{}, reasons[o.last.End]))
}

// ollamaChat is /api/chat: the next message of a conversation.
type ollamaChat struct{ ollamaWriter }

// ollamaChatRequest is the body of a request.
type ollamaChatRequest struct {
	ollamaText
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools"`
}

// Read implements [Dialect]. Without messages it asks whether the model is there, as clients do
// that load it.
func (c *ollamaChat) Read(in *Input) (*request.Request, error) {
	var q ollamaChatRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	c.chat = true
	if c.start(in); len(q.Messages) == 0 {
		return c.load(q.Model)
	}
	if n := len(q.Messages); n > in.Messages {
		return nil, fields.Errorf("messages", "messages: got %d, want at most %d", n, in.Messages)
	}
	messages, err := messagesOf(q.Messages)
	if err != nil {
		return nil, err
	}
	return c.converse(in, &q.ollamaText, messages, q.Tools)
}

// ollamaGenerate is /api/generate: the answer to a prompt, or with raw a text that goes on.
type ollamaGenerate struct{ ollamaWriter }

// ollamaGenerateRequest is the body of a request.
type ollamaGenerateRequest struct {
	ollamaText
	Prompt string `json:"prompt"`
	Suffix string `json:"suffix"` // fill in what stands before it; the template does not count, as with raw
	System string `json:"system"`
	Raw    bool   `json:"raw"`
}

// Read implements [Dialect].
func (g *ollamaGenerate) Read(in *Input) (*request.Request, error) {
	var q ollamaGenerateRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	switch g.start(in); {
	case q.Prompt == "":
		return g.load(q.Model)
	case !q.Raw && q.Suffix == "":
		messages := []chattemplate.Message{{Role: "user", Content: q.Prompt}}
		if q.System != "" {
			messages = append([]chattemplate.Message{{Role: "system", Content: q.System}}, messages...)
		}
		return g.converse(in, &q.ollamaText, messages, nil)
	case q.System != "":
		return nil, fields.Errorf("system", "system: got one with raw or suffix, want it within the prompt")
	case len(q.Think) > 0 && !fields.IsNull(q.Think):
		return nil, fields.Errorf("think", "think: got it with raw or suffix, which have no template")
	}
	w := &request.Generate{Inputs: request.Inputs{Texts: []string{q.Prompt}}}
	if q.Suffix != "" {
		w.Suffix = &q.Suffix
	}
	return q.read(in, w)
}
