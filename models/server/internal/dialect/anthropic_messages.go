package dialect

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// conversationRequest is what a prompt is written from.
type conversationRequest struct {
	Model    string           `json:"model"`
	Messages []anthropicTurn  `json:"messages"`
	System   fields.Content   `json:"system"`
	Thinking *thinking        `json:"thinking"`
	Output   *anthropicOutput `json:"output_config"`
	Format   *responsesFormat `json:"output_format"` // where it was first
	Tools    []anthropicTool  `json:"tools"`
	Choice   *toolChoice      `json:"tool_choice"`
}

// anthropicOutput is output_config.
type anthropicOutput struct {
	Effort *string          `json:"effort"`
	Format *responsesFormat `json:"format"`
}

// read sets the conversation of w, and what the text must be.
func (q *conversationRequest) read(in *Input, s *options.Sampling, w *request.Generate) error {
	if n := len(q.Messages); n < 1 || n > in.Messages {
		return fields.Errorf("messages", "messages: got %d, want 1 to %d", n, in.Messages)
	}
	c := &chattemplate.Conversation{Date: in.Date}
	if q.System != "" {
		c.Messages = append(c.Messages, chattemplate.Message{Role: "system", Content: string(q.System)})
	}
	calls := map[string]string{} // names of tools by the ids of their calls
	for i, m := range q.Messages {
		list, err := m.messages(fmt.Sprintf("messages[%d]", i), calls)
		if err != nil {
			return err
		}
		c.Messages = append(c.Messages, list...)
	}
	if c.Messages[len(c.Messages)-1].Role == "assistant" {
		return fields.Errorf("messages", "messages: got a last one of the assistant, which is not continued, want one of the user")
	}
	tools, err := anthropicToolsOf(q.Tools)
	if err != nil {
		return err
	}
	format, think := q.Format, thoughts{Thinking: q.Thinking}
	if o := q.Output; o != nil {
		think.ReasoningEffort, format = o.Effort, cmp.Or(o.Format, format)
	}
	if format != nil {
		s.ResponseFormat = &options.Format{Type: format.Type, Schema: format.Schema}
	}
	w.Conversation = c
	return (&setting{tools, q.Choice, nil, think, "input_schema"}).set(w)
}
