package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// anthropicAnswer is an answer of /v1/messages.
type anthropicAnswer struct {
	ID, Type, Role, Model string
	Content               []struct{ Type, Text string }
	Reason                string  `json:"stop_reason"`
	Stop                  *string `json:"stop_sequence"`
	Usage                 struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
}

// TestMessagesAPI: /v1/messages answers as /v1/chat/completions does, whole and as a stream whose
// events are in order.
func TestMessagesAPI(t *testing.T) {
	s := newServer(t, fixed())
	const settings = `, "max_tokens": 30, "temperature": 1.2, "top_k": 30, "top_p": 0.9, "seed": 5`
	chat := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]`+settings+`}`))
	want := chat.Choices[0].Message.Content
	stop := want[len(want)/2:][:2]
	before, _, _ := strings.Cut(want, stop)
	for _, c := range []struct {
		body, text, reason string
		stop               *string
	}{
		{`"system": "be brief", "messages": [{"role": "user", "content": "why?"}]`, want, "max_tokens", nil},
		{`"system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": [{"type": "text", "text": "why"}, {"type": "text", "text": "?"}]}]`, want, "max_tokens", nil},
		{`"stop_sequences": ["never that", "` + stop + `"], "system": "be brief", "messages": [{"role": "user", "content": "why?"}]`, before, "stop_sequence", &stop},
	} {
		a := answerOf[anthropicAnswer](t, post(s, "/v1/messages", `{"model": "tiny", `+c.body+settings+`}`))
		if a.ID != "msg_ID" || a.Type != "message" || a.Role != "assistant" || a.Model != chatModel || len(a.Content) != 1 || a.Content[0].Type != "text" || a.Content[0].Text != c.text || a.Reason != c.reason || fmt.Sprint(a.Stop == nil, c.stop == nil) != "true true" && *a.Stop != *c.stop || a.Usage.Input != chat.Usage.Prompt {
			t.Errorf("%s: %+v, want %q, %s", c.body, a, c.text, c.reason)
		}
		list := namedEvents(t, post(s, "/v1/messages", `{"stream": true, "model": "tiny", `+c.body+settings+`}`))
		if got := kindsOf(list); got != "message_start ping content_block_start content_block_delta content_block_stop message_delta message_stop" {
			t.Fatalf("the events are %s", got)
		}
		var text strings.Builder
		var end anthropicAnswer
		for _, e := range list {
			switch e.Type {
			case "message_start":
				if e.Message.ID != "msg_ID" || e.Message.Role != "assistant" || len(e.Message.Content) != 0 || e.Message.Usage.Input != chat.Usage.Prompt {
					t.Errorf("a stream begins with %s", e.Data)
				}
			case "content_block_delta":
				var d struct{ Type, Text string }
				if err := json.Unmarshal(e.Delta, &d); err != nil || d.Type != "text_delta" || d.Text == "" {
					t.Errorf("%v: %s", err, e.Data)
				}
				text.WriteString(d.Text)
			case "message_delta":
				if err := json.Unmarshal(e.Delta, &end); err != nil || e.Usage.Output != a.Usage.Output {
					t.Errorf("%v: %s", err, e.Data)
				}
			}
		}
		if text.String() != c.text || end.Reason != a.Reason || (end.Stop == nil) != (a.Stop == nil) {
			t.Errorf("the stream is %q, %+v, want %q, %+v", text.String(), end, c.text, a)
		}
	}
	for _, field := range []string{`"output_config": {"format": {"type": "json_schema", "schema": {"const": 5}}}`, `"output_format": {"type": "json_schema", "schema": {"const": 5}}`} {
		a := answerOf[anthropicAnswer](t, post(s, "/v1/messages", `{"model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], `+field+`}`))
		if len(a.Content) != 1 || a.Content[0].Text != "5" || a.Reason != "end_turn" {
			t.Errorf("%s: %+v", field, a)
		}
	}
	count := answerOf[map[string]int](t, post(s, "/v1/messages/count_tokens", `{"model": "tiny", "system": "be brief", "messages": [{"role": "user", "content": "why?"}]}`))
	if count["input_tokens"] != chat.Usage.Prompt {
		t.Errorf("counted %v, want %d", count, chat.Usage.Prompt)
	}
}

// TestMessagesErrors: errors are in Anthropic's form, and name the field.
func TestMessagesErrors(t *testing.T) {
	settings := fixed()
	settings.Keys, settings.BodyBytes = []Key{{"a", "secret-of-a-long-enough"}}, 3000
	s := newServer(t, settings)
	const user = `"messages": [{"role": "user", "content": "x"}]`
	for _, c := range []struct {
		body, key    string
		status       int
		kind, wanted string
	}{
		{`{"model": "tiny", "max_tokens": 2, ` + user + `}`, "X-Api-Key", 200, "", ""},
		{`{"model": "tiny", "max_tokens": 2, ` + user + `}`, "None", 401, "authentication_error", "X-Api-Key"},
		{`{"model": "none", "max_tokens": 2, ` + user + `}`, "X-Api-Key", 404, "not_found_error", "none"},
		{`{"model": "tiny", ` + user + `}`, "X-Api-Key", 400, "invalid_request_error", "max_tokens"},
		{`{"model": "tiny", "max_tokens": 0, ` + user + `}`, "X-Api-Key", 400, "invalid_request_error", "max_tokens"},
		{`{"model": "tiny", "max_tokens": 2, "messages": []}`, "X-Api-Key", 400, "invalid_request_error", "messages"},
		{`{"model": "tiny", "max_tokens": 2, "messages": [{"role": "system", "content": "x"}]}`, "X-Api-Key", 400, "invalid_request_error", "messages[0].role"},
		{`{"model": "tiny", "max_tokens": 2, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}`, "X-Api-Key", 400, "invalid_request_error", "last one"},
		{`{"model": "tiny", "max_tokens": 2, "messages": [{"role": "user", "content": [{"type": "image"}]}]}`, "X-Api-Key", 400, "invalid_request_error", "image"},
		{`{"model": "tiny", "max_tokens": 2, "container": "x", ` + user + `}`, "X-Api-Key", 400, "invalid_request_error", "container"},
		{`{"model": "tiny", "max_tokens": 2, "thinking": {"type": "deep"}, ` + user + `}`, "X-Api-Key", 400, "invalid_request_error", "thinking.type"},
		{`{"model": "tiny", "max_tokens": 2, "output_config": {"format": {"type": "xml"}}, ` + user + `}`, "X-Api-Key", 400, "invalid_request_error", "output_config.format"},
		{`{"model": "` + strings.Repeat("a", 4000) + `"}`, "X-Api-Key", 413, "request_too_large", "3000"},
	} {
		w := post(s, "/v1/messages", c.body, c.key, "secret-of-a-long-enough")
		var e struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.status || e.Error.Type != c.kind || !strings.Contains(e.Error.Message, c.wanted) || (e.Type == "error") != (c.status != 200) {
			t.Errorf("%.200s: status %d, %s, want %d, %s, %q", c.body, w.Code, w.Body, c.status, c.kind, c.wanted)
		}
	}
}
