package receipt

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/attn-go/attn/models/chattemplate"
)

// A Conversation is a [chattemplate.Conversation].
type Conversation struct {
	// Messages is the conversation that Prompt is written from by the model's template. It is empty
	// for prompts of other origin.
	Messages []Message `json:"messages,omitempty"`

	Tools     []chattemplate.Tool        `json:"tools,omitempty"`
	Documents json.RawMessage            `json:"documents,omitempty"`
	Variables map[string]json.RawMessage `json:"variables,omitempty"` // of [chattemplate.VariablesJSON]

	// Date is the day that the template took for today. It is nil for templates that do not ask for
	// it.
	Date *chattemplate.Date `json:"date,omitempty"`
}

// A Message is a [chattemplate.Message] without further fields.
type Message struct {
	Role      string                  `json:"role"`
	Content   string                  `json:"content"`
	Name      string                  `json:"name,omitempty"`
	Reasoning string                  `json:"reasoning_content,omitempty"`
	Calls     []chattemplate.ToolCall `json:"tool_calls,omitempty"`
	CallID    string                  `json:"tool_call_id,omitempty"`
}

// newConversation returns what a receipt has of a conversation, but for its date.
func newConversation(talk *chattemplate.Conversation) (*Conversation, error) {
	c := &Conversation{Tools: talk.Tools, Documents: talk.Documents}
	for i, m := range talk.Messages {
		if m.Fields != nil {
			return nil, bad(fmt.Sprintf("messages[%d]", i), "further fields", "none, as a receipt has no place for them")
		}
		c.Messages = append(c.Messages, Message{m.Role, m.Content, m.Name, m.Reasoning, m.Calls, m.CallID})
	}
	var err error
	if len(talk.Variables) > 0 {
		if c.Variables, err = chattemplate.VariablesJSON(talk.Variables); err != nil {
			return nil, bad("variables", err, "values of JSON")
		}
	}
	if at := c.invalid(); at != "" {
		return nil, bad(at, "bytes that are not UTF-8", "UTF-8")
	}
	return c, nil
}

// invalid returns where bytes are that are not UTF-8, or "".
func (c *Conversation) invalid() string {
	at := func(list string, i int, texts ...string) string {
		for _, text := range texts {
			if !utf8.ValidString(text) {
				return fmt.Sprintf("%s[%d]", list, i)
			}
		}
		return ""
	}
	for i, m := range c.Messages {
		texts := []string{m.Role, m.Content, m.Name, m.Reasoning, m.CallID}
		for _, call := range m.Calls {
			texts = append(texts, call.ID, call.Name, string(call.Arguments))
		}
		if bad := at("messages", i, texts...); bad != "" {
			return bad
		}
	}
	for i, t := range c.Tools {
		if bad := at("tools", i, t.Name, t.Description, string(t.Parameters)); bad != "" {
			return bad
		}
	}
	for name, v := range c.Variables {
		if !utf8.ValidString(name) || !utf8.Valid(v) {
			return "variables"
		}
	}
	if !utf8.Valid(c.Documents) {
		return "documents"
	}
	return ""
}

// check reports what only a conversation with messages has.
func (c *Conversation) check() error {
	if len(c.Messages) > 0 {
		return nil
	}
	for _, f := range [...]struct {
		name string
		has  bool
	}{{"date", c.Date != nil}, {"tools", len(c.Tools) > 0}, {"documents", c.Documents != nil}, {"variables", len(c.Variables) > 0}} {
		if f.has {
			return bad(f.name, "some", "none without messages")
		}
	}
	return nil
}

// talk returns the conversation as package chattemplate has it.
func (c *Conversation) talk() *chattemplate.Conversation {
	talk := &chattemplate.Conversation{Tools: c.Tools, Documents: c.Documents, Variables: map[string]any{}}
	for _, m := range c.Messages {
		talk.Messages = append(talk.Messages, chattemplate.Message{Role: m.Role, Content: m.Content, Name: m.Name, Reasoning: m.Reasoning, Calls: m.Calls, CallID: m.CallID})
	}
	for name, v := range c.Variables {
		talk.Variables[name] = v
	}
	if c.Date != nil {
		talk.Date = *c.Date
	}
	return talk
}

// checkDate reports a date that is missing, or that the template does not ask for.
func (c *Conversation) checkDate(reads bool) error {
	switch {
	case len(c.Messages) == 0 || reads == (c.Date != nil):
		return nil
	case reads:
		return mismatch("date", -1, "none", "the date that the model's template wrote, as a prompt of messages depends on it")
	}
	return mismatch("date", -1, c.Date.String(), "none, as the model's template asks for no date")
}
