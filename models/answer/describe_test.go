package answer_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
)

// TestDescribed: tools, calls and what they answer are in messages that every template has.
func TestDescribed(t *testing.T) {
	c := &chattemplate.Conversation{
		Messages: []chattemplate.Message{
			{Role: "system", Content: "Be kind."}, {Role: "user", Content: "Time?"},
			{Role: "assistant", Calls: []chattemplate.ToolCall{{ID: "1", Name: "now", Arguments: json.RawMessage("{ }")}, {ID: "2", Name: "f", Arguments: json.RawMessage(`{"a": "<\n>"}`)}}},
			{Role: "tool", CallID: "2", Content: "3"}, {Role: "tool", Name: "now", Content: "noon"}, {Role: "user", Content: "And?"},
		},
		Tools:     []chattemplate.Tool{{Name: "now"}, {Name: "f", Description: "x", Parameters: json.RawMessage(`{"type": "object"}`)}},
		Variables: map[string]any{"a": 1},
	}
	before := fmt.Sprint(c)
	got := answer.Described(c)
	want := []chattemplate.Message{
		{Role: "system", Content: "Be kind.\n\nYou may call functions. To call one, answer with nothing but JSON: {\"name\": \"its name\", \"arguments\": {...}}. The functions:\n" +
			`{"name": "now", "description": "", "parameters": {"type":"object","properties":{},"additionalProperties":false}}` + "\n" + `{"name": "f", "description": "x", "parameters": {"type":"object"}}`},
		{Role: "user", Content: "Time?"},
		{Role: "assistant", Content: "{\"name\": \"now\", \"arguments\": {}}\n" + `{"name": "f", "arguments": {"a":"<\n>"}}`},
		{Role: "user", Content: "Result of f:\n3\n\nResult of now:\nnoon\n\nAnd?"},
	}
	if fmt.Sprintf("%q", got.Messages) != fmt.Sprintf("%q", want) || got.Tools != nil || got.Variables["a"] != 1 || fmt.Sprint(c) != before {
		t.Errorf("got  %q\nwant %q", got.Messages, want)
	}
	if alone := answer.Described(&chattemplate.Conversation{Messages: c.Messages[1:2]}); len(alone.Messages) != 1 {
		t.Errorf("without tools: %q", alone.Messages)
	}
}
