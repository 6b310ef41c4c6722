package dialect

import (
	"encoding/json"
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
	Format   *anthropicFormat `json:"output_format"` // where it was first
	Tools    []anthropicTool  `json:"tools"`
	Choice   *anthropicChoice `json:"tool_choice"`
}

// anthropicOutput is output_config.
type anthropicOutput struct {
	Effort *string          `json:"effort"`
	Format *anthropicFormat `json:"format"`
}

// anthropicFormat is what a text must be.
type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
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
	think := thoughts{Thinking: q.Thinking}
	if q.Output != nil {
		think.ReasoningEffort = q.Output.Effort
	}
	c.Variables = think.variables()
	var err error
	if w.Thinking, err = think.budget(); err != nil {
		return err
	}
	if err := q.tools(c, w); err != nil {
		return err
	}
	w.Conversation = c
	return q.format(s)
}

// format sets what the text must be.
func (q *conversationRequest) format(s *options.Sampling) error {
	f := q.Format
	if q.Output != nil && q.Output.Format != nil {
		f = q.Output.Format
	}
	if f == nil {
		return nil
	}
	if f.Type != "json_schema" || len(f.Schema) == 0 || fields.IsNull(f.Schema) {
		return fields.Errorf("output_config.format", "output_config.format: got type %.40q, want json_schema with a schema", f.Type)
	}
	s.JSONSchema = f.Schema
	return nil
}
