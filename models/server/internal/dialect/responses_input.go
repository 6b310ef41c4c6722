package dialect

import (
	"encoding/json"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// A responsesItem is an item of input, of which the fields are there that its type has.
type responsesItem struct {
	Type      string         `json:"type"` // "" is message
	Role      string         `json:"role"`
	Content   fields.Content `json:"content"` // also of reasoning
	Summary   fields.Content `json:"summary"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"` // an object as a string
	Output    fields.Content `json:"output"`
}

// addInput adds the messages that items are, or that a text is. What a model has said stands in
// several items, of which a template wants one message.
func addInput(all []chattemplate.Message, in *fields.TextOr[responsesItem]) ([]chattemplate.Message, error) {
	if in.List == nil && in.Text != "" {
		return append(all, chattemplate.Message{Role: "user", Content: in.Text}), nil
	}
	open := false // the last message is the model's and may get more
	for i, it := range in.List {
		at := fmt.Sprintf("input[%d]", i)
		one, err := it.message(at)
		if err != nil {
			return nil, err
		}
		if one.Role != "assistant" {
			all, open = append(all, one), false
			continue
		}
		if !open || one.Reasoning != "" {
			all, open = append(all, chattemplate.Message{Role: "assistant"}), true
		}
		last := &all[len(all)-1]
		last.Reasoning += one.Reasoning
		last.Content += one.Content
		last.Calls = append(last.Calls, one.Calls...)
	}
	return all, nil
}

// message returns the message that an item is, or is a part of.
func (it *responsesItem) message(at string) (m chattemplate.Message, err error) {
	switch it.Type {
	case "", "message":
		switch it.Role {
		case "developer":
			it.Role = "system"
		case "system", "user", "assistant":
		default:
			return m, fields.Errorf("input", "%s.role: got %.40q, want system, developer, user or assistant", at, it.Role)
		}
		return chattemplate.Message{Role: it.Role, Content: string(it.Content)}, nil
	case "reasoning":
		if m.Reasoning = string(it.Content); m.Reasoning == "" {
			m.Reasoning = string(it.Summary)
		}
		m.Role = "assistant"
		return m, nil
	case "function_call":
		data, _ := json.Marshal(it.Arguments) // a string has no error
		arguments, err := argumentsOf(data)
		switch {
		case err != nil:
			return m, fields.Errorf("input", "%s.arguments: %v", at, err)
		case it.Name == "":
			return m, fields.Errorf("input", "%s.name: got none, want that of a tool", at)
		}
		return chattemplate.Message{Role: "assistant", Calls: []chattemplate.ToolCall{{ID: it.CallID, Name: it.Name, Arguments: arguments}}}, nil
	case "function_call_output":
		return chattemplate.Message{Role: "tool", CallID: it.CallID, Content: string(it.Output)}, nil
	}
	return m, fields.Errorf("input", "%s.type: got %.40q, want message, reasoning, function_call or function_call_output", at, it.Type)
}

// A responsesTool is a tool that a model may call.
type responsesTool struct {
	Type string `json:"type"`
	function
}

// echo returns a choice as answers have it.
func (c *toolChoice) echo() any {
	switch {
	case c == nil:
		return "auto"
	case c.Name != "":
		return map[string]string{"type": c.Type, "name": c.Name}
	case c.Type != "allowed_tools":
		return c.Type
	}
	tools := make([]map[string]string, len(c.Tools))
	for i, t := range c.Tools {
		tools[i] = map[string]string{"type": t.Type, "name": t.Name}
	}
	return map[string]any{"type": c.Type, "mode": c.Mode, "tools": tools}
}
