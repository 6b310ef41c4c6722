package dialect

import (
	"encoding/json"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
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

// addInput adds the messages that items are, or that a text is. What a model has said stands in several items, of which a
// template wants one message.
func addInput(all []chattemplate.Message, in *fields.TextOr[responsesItem]) ([]chattemplate.Message, error) {
	if in.List == nil && in.Text != "" {
		return append(all, chattemplate.Message{Role: "user", Content: in.Text}), nil
	}
	open := false // the last message is one of the model that may have more
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

// A responsesChoice says which tools may be called: a word, or an object.
type responsesChoice struct {
	Type  string           `json:"type"`
	Name  string           `json:"name,omitempty"`
	Mode  string           `json:"mode,omitempty"`
	Tools []responsesNamed `json:"tools,omitempty"`
}

// Word is that of [fields.Worded].
func (c *responsesChoice) Word(text string) { c.Type = text }

// MarshalJSON writes a word as it was read.
func (c *responsesChoice) MarshalJSON() ([]byte, error) {
	if c.Name == "" && c.Mode == "" {
		return json.Marshal(c.Type)
	}
	type object responsesChoice
	return json.Marshal((*object)(c))
}

// A responsesNamed is a tool by its name.
type responsesNamed struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// tools sets the tools of a conversation, and which of them may be called.
func (q *responsesRequest) tools(w *request.Generate) (err error) {
	list := make([]tool, len(q.Tools))
	for i, t := range q.Tools {
		list[i] = tool{t.Type, t.function}
	}
	c := w.Conversation
	if c.Tools, err = toolsOf(list); err != nil {
		return err
	}
	if q.Choice != nil {
		choice := &toolChoice{Type: q.Choice.Type, Name: q.Choice.Name, Allowed: &allowed{Mode: q.Choice.Mode}}
		for _, t := range q.Choice.Tools {
			choice.Allowed.Tools = append(choice.Allowed.Tools, namedTool{t.Type, named{t.Name}})
		}
		if w.Tools, err = choice.choosing(c.Tools); err != nil {
			return err
		}
	}
	w.Tools.Single = q.Parallel != nil && !*q.Parallel
	return nil
}
