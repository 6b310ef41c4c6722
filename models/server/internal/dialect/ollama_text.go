package dialect

import (
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// ollamaChat is /api/chat: the next message of a conversation.
type ollamaChat struct{ ollamaWriter }

// ollamaChatRequest is the body of a request.
type ollamaChatRequest struct {
	ollamaText
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools"`
}

// Read is that of [Dialect]. Without messages it asks whether the model is there, as clients do that load it.
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

// Read is that of [Dialect].
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
