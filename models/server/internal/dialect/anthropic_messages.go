package dialect

import (
	"cmp"
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

// An anthropicTurn is a message.
type anthropicTurn struct {
	Role    string                        `json:"role"`
	Content fields.TextOr[anthropicBlock] `json:"content"`
}

// An anthropicBlock is a part of a message.
type anthropicBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  fields.Content  `json:"content"`
}

// messages returns the messages that a turn is for a template: what tools have answered stands
// alone. calls has the names of the tools that were called, by ids.
func (m *anthropicTurn) messages(at string, calls map[string]string) (all []chattemplate.Message, err error) {
	if m.Role != "user" && m.Role != "assistant" {
		return nil, fields.Errorf("messages", "%s.role: got %.40q, want user or assistant", at, m.Role)
	}
	one := chattemplate.Message{Role: m.Role, Content: m.Content.Text}
	for i, b := range m.Content.List {
		at := fmt.Sprintf("%s.content[%d]", at, i)
		switch {
		case b.Type == "text":
			one.Content += b.Text
		case b.Type == "tool_result" && m.Role == "user":
			all = append(all, chattemplate.Message{Role: "tool", CallID: b.CallID, Name: calls[b.CallID], Content: string(b.Content)})
		case b.Type == "thinking" && m.Role == "assistant":
			one.Reasoning += b.Thinking
		case b.Type == "tool_use" && m.Role == "assistant":
			arguments, err := argumentsOf(b.Input)
			if err != nil {
				return nil, fields.Errorf(at, "%s.input: %v", at, err)
			}
			calls[b.ID] = b.Name
			one.Calls = append(one.Calls, chattemplate.ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments})
		default:
			return nil, fields.Errorf(at, "%s: a block of type %.40q of the %s is not supported, want text, tool_use, tool_result or thinking", at, b.Type, m.Role)
		}
	}
	if len(all) == 0 || one.Content != "" {
		all = append(all, one)
	}
	return all, nil
}

// An anthropicTool is a tool that a model may call.
type anthropicTool struct {
	Type        string          `json:"type"` // "" is custom
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`
}

// anthropicToolsOf returns tools as other APIs have them.
func anthropicToolsOf(tools []anthropicTool) ([]tool, error) {
	list := make([]tool, len(tools))
	for i, t := range tools {
		if t.Type != "" && t.Type != "custom" {
			return nil, fields.Errorf("tools", "tools[%d].type: got %.40q, which is a tool of Anthropic's servers, want custom", i, t.Type)
		}
		list[i] = tool{"function", function{t.Name, t.Description, t.Schema, t.Strict}}
	}
	return list, nil
}
