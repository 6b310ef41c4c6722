package chattemplate_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// TestConversationVariables: a conversation's own variables reach the template that reads them, as
// text, and leave others as they are.
func TestConversationVariables(t *testing.T) {
	const reads = "{% if enable_thinking is defined and not enable_thinking %}no {% endif %}{{ reasoning_effort }}{{ n + 1 if n is defined }}{{ bos_token }}"
	template, err := chattemplate.NewWith(reads, chattemplate.Options{BOS: "<s>", Variables: map[string]any{"reasoning_effort": "medium"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables map[string]any
		want      string
	}{
		{nil, "medium<s>"},
		{map[string]any{"enable_thinking": false, "other": "x"}, "no medium<s>"},
		{map[string]any{"enable_thinking": true, "reasoning_effort": "<s>", "n": 2}, "<s>3<s>"},
	} {
		if got := written(t, template, &chattemplate.Conversation{Variables: c.variables}); got != c.want {
			t.Errorf("%v: %q, want %q", c.variables, got, c.want)
		}
	}
	parts, err := template.Write(t.Context(), &chattemplate.Conversation{Variables: map[string]any{"reasoning_effort": "<s>"}}, false)
	if err != nil || len(parts) != 2 || parts[0].Special || !parts[1].Special {
		t.Errorf("%+v, %v, want a text and a special token", parts, err)
	}
	if got, err := template.Render(nil, false); err != nil || got != "medium<s>" {
		t.Errorf("the template has changed: %q, %v", got, err)
	}
	for name, v := range map[string]any{"messages": "x", "bos_token": "x", "eos_token": "x", "tools": true, "documents": nil, "add_generation_prompt": false, "strftime_now": 1, "list": struct{}{}} {
		if _, err := template.Write(t.Context(), &chattemplate.Conversation{Variables: map[string]any{name: v}}, false); !isError(err, kernel.ErrArgument, name, "want") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 20 { // of several errors it is always the same
		_, err := template.Write(t.Context(), &chattemplate.Conversation{Variables: map[string]any{"tools": 1, "messages": "x", "documents": 2}}, false)
		if want := "chattemplate: documents: one that every conversation has, want another name"; err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	}
}

// written returns what a template writes of a conversation.
func written(t *testing.T, template *chattemplate.Template, c *chattemplate.Conversation) string {
	t.Helper()
	parts, err := template.Write(t.Context(), c, false)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer.Join(parts)
}

// TestConversation: tools, calls, results, reasoning, names and documents reach the template in
// OpenAI's form, with arguments as a mapping.
func TestConversation(t *testing.T) {
	talk := &chattemplate.Conversation{
		Messages: []chattemplate.Message{
			{Role: "user", Content: "hi", Name: "Ann"},
			{Role: "assistant", Reasoning: "hm", Calls: []chattemplate.ToolCall{{ID: "c1", Name: "f", Arguments: json.RawMessage(`{"b":1,  "a": [2.0, null]}`)}}},
			{Role: "tool", Content: "3", CallID: "c1", Name: "f"},
		},
		Tools:     []chattemplate.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type": "object"}`), Strict: true}, {Name: "g"}},
		Documents: json.RawMessage(`[{"text": "x"}]`),
	}
	template, err := chattemplate.New("{{ messages | tojson }}\n{{ tools | tojson }}\n{{ documents | tojson }}")
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"role": "user", "content": "hi", "name": "Ann"}, ` +
		`{"role": "assistant", "content": "", "reasoning_content": "hm", "thinking": "hm", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": [2.0, null]}}}]}, ` +
		`{"role": "tool", "content": "3", "name": "f", "tool_call_id": "c1"}]` + "\n" +
		`[{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}, ` +
		`{"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}]` + "\n" + `[{"text": "x"}]`
	if got := written(t, template, talk); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A template that adds arguments to a text gets them as text.
	adds, err := chattemplate.New("{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name + '(' + c.function.arguments + ')' }}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := written(t, adds, talk), `f({"b": 1, "a": [2.0, null]})`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, change := range map[string]func(*chattemplate.Conversation){
		"messages[0].Calls[0].Arguments": func(c *chattemplate.Conversation) {
			c.Messages = []chattemplate.Message{{Calls: []chattemplate.ToolCall{{Arguments: json.RawMessage("[]")}}}}
		},
		"tools[0].Parameters": func(c *chattemplate.Conversation) {
			c.Tools = []chattemplate.Tool{{Parameters: json.RawMessage("{")}}
		},
		"documents": func(c *chattemplate.Conversation) { c.Documents = json.RawMessage("x") },
	} {
		c := *talk
		change(&c)
		if _, err := template.Write(t.Context(), &c, false); !isError(err, kernel.ErrArgument, name, "want") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVariablesJSON: variables as JSON give the same text.
func TestVariablesJSON(t *testing.T) {
	variables := map[string]any{"a": nil, "b": true, "c": 3, "d": 3.0, "e": 1e300, "f": "<x>&", "g": json.RawMessage(`{"z": [1, 2.50]}`)}
	data, err := chattemplate.VariablesJSON(variables)
	if err != nil {
		t.Fatal(err)
	}
	again := map[string]any{}
	for name, v := range data {
		again[name] = v
	}
	template, err := chattemplate.New("{{ a }} {{ b }} {{ c }} {{ d }} {{ e }} {{ f }} {{ g | tojson }}")
	if err != nil {
		t.Fatal(err)
	}
	got, want := written(t, template, &chattemplate.Conversation{Variables: again}), written(t, template, &chattemplate.Conversation{Variables: variables})
	if got != want || want != `None True 3 3.0 1e+300 <x>& {"z": [1, 2.5]}` {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, v := range []any{math.NaN(), math.Inf(1), []int{1}, json.RawMessage("{")} {
		if _, err := chattemplate.VariablesJSON(map[string]any{"x": v}); !isError(err, kernel.ErrArgument, "x", "want") {
			t.Errorf("%v: %v", v, err)
		}
	}
}
