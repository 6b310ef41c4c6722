package chattemplate_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// calls is testdata/calls.json, which testdata/render.py writes.
type calls struct {
	Talks map[string][]json.RawMessage
	Tools json.RawMessage
	Rows  []struct {
		Template, Talk string
		Tools          bool
		Variables      map[string]any
		Text           *string
		Error          string
	}
}

// Templates that write tools, calls and reasoning render as with jinja2.
func TestCalls(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all calls
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, x := range all.Rows {
		o := options
		o.Variables = x.Variables
		if x.Tools {
			o.Variables["tools"] = all.Tools
		}
		template, err := parse(t, x.Template).With(o)
		if err != nil {
			t.Fatal(err)
		}
		var messages []chattemplate.Message
		for _, fields := range all.Talks[x.Talk] {
			messages = append(messages, chattemplate.Message{Fields: fields})
		}
		got, err := template.Render(messages, true)
		switch {
		case x.Text != nil && (err != nil || got != *x.Text):
			t.Errorf("%s, %s: %v\n got %q\nwant %q", x.Template, x.Talk, err, got, *x.Text)
		case x.Text == nil && !isError(err, chattemplate.ErrRefused, "messages", x.Error+", want "):
			t.Errorf("%s, %s: got %q and error %v, want %s", x.Template, x.Talk, got, err, x.Error)
		}
	}
}

// TestTyped: a conversation in types gives the text of its JSON, tools included.
func TestTyped(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all calls
	var tools []struct{ Function chattemplate.Tool }
	if err := errors.Join(json.Unmarshal(data, &all), json.Unmarshal(all.Tools, &tools)); err != nil {
		t.Fatal(err)
	}
	seen := 0
rows:
	for _, x := range all.Rows {
		talk := &chattemplate.Conversation{Variables: x.Variables}
		for _, data := range all.Talks[x.Talk] {
			var m struct {
				Role    string  `json:"role"`
				Content *string `json:"content"`
				Name    string  `json:"name"`
				CallID  string  `json:"tool_call_id"`
				Thought string  `json:"reasoning_content"`
				Calls   []struct {
					ID, Type string
					Function chattemplate.ToolCall
				} `json:"tool_calls"`
			}
			d := json.NewDecoder(strings.NewReader(string(data)))
			d.DisallowUnknownFields()
			if d.Decode(&m) != nil {
				continue rows // one that types do not have, such as parts that are no text
			}
			one := chattemplate.Message{Role: m.Role, Name: m.Name, CallID: m.CallID, Reasoning: m.Thought}
			if m.Content != nil {
				one.Content = *m.Content
			}
			for _, c := range m.Calls {
				if c.Function.ID = c.ID; c.Function.Arguments[0] != '{' { // text in place of an object
					continue rows
				}
				one.Calls = append(one.Calls, c.Function)
			}
			talk.Messages = append(talk.Messages, one)
		}
		if x.Tools {
			for _, tool := range tools {
				if tool.Function.Description == "" { // which types leave out
					continue rows
				}
				talk.Tools = append(talk.Tools, tool.Function)
			}
		}
		if x.Text == nil || len(talk.Messages) == 0 {
			continue
		}
		parts, err := parse(t, x.Template).Write(t.Context(), talk, true)
		if got := tokenizer.Join(parts); err != nil || got != *x.Text {
			t.Errorf("%s, %s: %v\n got %q\nwant %q", x.Template, x.Talk, err, got, *x.Text)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("%d conversations", seen)
	}
}

// What tools and further fields of messages say is not special, keys included.
func TestFields(t *testing.T) {
	o := chattemplate.Options{Variables: map[string]any{"tools": json.RawMessage(`[{"<|a|>": "<|b|>"}]`), "x": "<|c|>"}}
	template, err := chattemplate.NewWith("{{ tools | tojson }}{{ messages[0].calls[0] }}{{ messages[0].content }}{{ messages[0].role }}{{ x }}<|d|>", o)
	if err != nil {
		t.Fatal(err)
	}
	messages := []chattemplate.Message{{Role: "user", Content: "none", Fields: json.RawMessage(`{"calls": ["<|e|>"], "content": "<|f|>"}`)}}
	parts, err := template.Parts(t.Context(), messages, false)
	if err != nil {
		t.Fatal(err)
	}
	text, special := "", ""
	for _, p := range parts {
		if text += p.Text; p.Special {
			special += p.Text
		}
	}
	if want := `[{"<|a|>": "<|b|>"}]<|e|><|f|>user<|c|><|d|>`; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if want := `[{"": ""}]<|c|><|d|>`; special != want {
		t.Errorf("special is %q, want %q", special, want)
	}
	for _, fields := range []string{"", "{", "[]", "{} {}", `{"a": 1e999}`, strings.Repeat(`{"a":`, 200)} {
		messages[0].Fields = json.RawMessage(fields)
		if _, err := template.Render(messages, false); !isError(err, kernel.ErrArgument, "messages[0].Fields", "") {
			t.Errorf("%.40q: got error %v", fields, err)
		}
		o.Variables["tools"] = messages[0].Fields
		if _, err := template.With(o); fields != "[]" && !isError(err, kernel.ErrArgument, "tools", "") {
			t.Errorf("tools %.40q: got error %v", fields, err)
		}
	}
}
