package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/request"
)

// The tools of tests, as other APIs have them.
const (
	anthropicTools = `"tools": [{"name": "weather", "strict": true, "input_schema": ` + weatherSchema + `}, {"name": "now", "cache_control": {"type": "ephemeral"}}]`
	responsesTools = `"tools": [{"type": "function", "name": "weather", "strict": true, "parameters": ` + weatherSchema + `}, {"type": "function", "name": "now"}]`
	weatherSchema  = `{"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "n": {"type": "integer", "maximum": 9, "minimum": 0}}, "required": ["city"], "additionalProperties": false}`
)

// compact returns JSON without spaces.
func compact(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return b.String()
}

// told returns what an answer has, in a line: thinking, text, and calls with their ids.
func told(t *testing.T, reasoning, content string, calls ...[3]string) string {
	t.Helper()
	line := fmt.Sprintf("%q %q", reasoning, content)
	for _, c := range calls {
		if json.Valid([]byte(c[2])) { // else it breaks off
			c[2] = compact(t, []byte(c[2]))
		}
		line += fmt.Sprint(" ", c[0], " ", c[1], c[2])
	}
	return line
}

// whole returns calls whose arguments are objects: of one that breaks off, the values that are
// whole.
func whole(calls [][3]string) (list [][3]string) {
	for _, c := range calls {
		if !json.Valid([]byte(c[2])) {
			part := strings.TrimRight(c[2], "0123456789") // a number may go on
			for part != "" && !json.Valid([]byte(part+"}")) {
				part = part[:len(part)-1]
			}
			c[2] = cmp.Or(part, "{") + "}"
		}
		list = append(list, c)
	}
	return list
}

// calledOf returns the calls of an answer.
func calledOf(s spoken) (calls [][3]string) {
	for _, c := range s.calls {
		calls = append(calls, [3]string{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return calls
}

// anthropicTold returns what blocks tell, whole or of a stream.
func anthropicTold(t *testing.T, list []namedEvent, whole []byte) string {
	t.Helper()
	type block struct {
		Type, Text, Thinking, ID, Name string
		Partial                        string `json:"partial_json"`
		Input                          json.RawMessage
	}
	var blocks []block
	if list == nil {
		var a struct{ Content []block }
		if err := json.Unmarshal(whole, &a); err != nil {
			t.Fatal(err)
		}
		blocks = a.Content
	}
	for _, e := range list {
		var d struct {
			Index int
			Block block `json:"content_block"`
			Delta block
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "content_block_start":
			if d.Index != len(blocks) {
				t.Fatalf("%s after %d blocks", e.Data, len(blocks))
			}
			blocks = append(blocks, d.Block)
		case "content_block_delta":
			b := &blocks[d.Index]
			b.Text, b.Thinking, b.Partial = b.Text+d.Delta.Text, b.Thinking+d.Delta.Thinking, b.Partial+d.Delta.Partial
		}
	}
	reasoning, content := "", ""
	var calls [][3]string
	for _, b := range blocks {
		reasoning, content = reasoning+b.Thinking, content+b.Text
		if b.Type == "tool_use" {
			if b.Partial != "" {
				b.Input = json.RawMessage(b.Partial)
			}
			calls = append(calls, [3]string{b.ID, b.Name, string(b.Input)})
		}
	}
	return told(t, reasoning, content, calls...)
}

// responsesTold returns what output tells.
func responsesTold(t *testing.T, data []byte) string {
	t.Helper()
	var a struct {
		Output []struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
			Content               []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	reasoning, content := "", ""
	var calls [][3]string
	for _, it := range a.Output {
		switch it.Type {
		case "function_call":
			calls = append(calls, [3]string{it.CallID, it.Name, it.Arguments})
		case "reasoning":
			reasoning += it.Content[0].Text
		case "message":
			content += it.Content[0].Text
		}
	}
	return told(t, reasoning, content, calls...)
}

// TestToolsOfDialects: /v1/messages and /v1/responses have the thinking, the text and the calls of
// /v1/chat/completions, whole and as streams, also where the last call breaks off.
func TestToolsOfDialects(t *testing.T) {
	s := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	thought, called, broken := 0, 0, 0
	for seed := range 24 {
		common := fmt.Sprintf(`{"model": "tools", "temperature": 1.2, "seed": %d, `, seed)
		choices, think := [3]string{}, [2]string{`, "thinking": {"type": "adaptive", "budget_tokens": 3}`, `, "reasoning": {"max_tokens": 3}`}
		switch seed % 3 {
		case 0:
			choices = [3]string{`, "tool_choice": "required"`, `, "tool_choice": {"type": "any"}`, `, "tool_choice": "required"`}
		case 1:
			choices = [3]string{`, "tool_choice": {"type": "function", "function": {"name": "weather"}}`, `, "tool_choice": {"type": "tool", "name": "weather"}`, `, "tool_choice": {"type": "function", "name": "weather"}`}
		}
		if seed%2 == 0 {
			think = [2]string{`, "thinking": {"type": "enabled", "budget_tokens": 6}`, `, "reasoning": {"enabled": true, "max_tokens": 6}`}
		}
		messages := `"messages": [{"role": "user", "content": "what"}]`
		chat := ask1(t, s, common+`"max_tokens": 150, `+messages+`, "tools": [`+weather+`, `+now+`]`+choices[0]+think[0]+`}`)
		calls := calledOf(chat)
		want := told(t, chat.reasoning, chat.content, calls...)
		object := told(t, chat.reasoning, chat.content, whole(calls)...)
		if want != object {
			broken++
		}
		if called += len(calls); chat.reasoning != "" {
			thought++
		}
		body := common + `"max_tokens": 150, ` + messages + `, ` + anthropicTools + choices[1] + think[0]
		all := post(s, "/v1/messages", body+`}`)
		a := answerOf[anthropicAnswer](t, all)
		if got := anthropicTold(t, nil, all.Body.Bytes()); got != object || (a.Reason == "tool_use") != (chat.reason == "tool_calls") {
			t.Errorf("/v1/messages, seed %d: %s, %s, want %s, %s", seed, got, a.Reason, object, chat.reason)
		}
		if got := anthropicTold(t, namedEvents(t, post(s, "/v1/messages", body+`, "stream": true}`)), nil); got != want {
			t.Errorf("/v1/messages, seed %d, streamed: %s, want %s", seed, got, want)
		}
		body = common + `"max_output_tokens": 150, "input": "what", ` + responsesTools + choices[2] + think[1]
		all = post(s, "/v1/responses", body+`}`)
		if got := responsesTold(t, all.Body.Bytes()); got != want {
			t.Errorf("/v1/responses, seed %d: %s, want %s", seed, got, want)
		}
		list := namedEvents(t, post(s, "/v1/responses", body+`, "stream": true}`))
		var last struct{ Response json.RawMessage }
		if err := json.Unmarshal(list[len(list)-1].Data, &last); err != nil || string(last.Response)+"\n" != all.Body.String() {
			t.Errorf("/v1/responses, seed %d, ends with %s, %v, want %s", seed, last.Response, err, all.Body)
		}
		checkItems(t, list)
	}
	if called < 8 || thought < 4 || broken == 0 {
		t.Errorf("%d calls, %d answers with thinking, %d with a call that breaks off", called, thought, broken)
	}
}

// ollamaTold returns what the lines of an answer tell.
func ollamaTold(t *testing.T, text string) string {
	t.Helper()
	reasoning, content := "", ""
	var calls [][3]string
	for line := range strings.Lines(text) {
		var l struct {
			Message struct {
				Content, Thinking string
				Calls             []struct {
					ID       string
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				} `json:"tool_calls"`
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		reasoning, content = reasoning+l.Message.Thinking, content+l.Message.Content
		for _, c := range l.Message.Calls {
			calls = append(calls, [3]string{c.ID, c.Function.Name, string(c.Function.Arguments)})
		}
	}
	return told(t, reasoning, content, calls...)
}

// TestToolsOfOllama: /api/chat has the text and the calls of /v1/chat/completions, each as a whole,
// and the last one as far as it goes.
func TestToolsOfOllama(t *testing.T) {
	s := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	at := slices.IndexFunc(dialect.Paths, func(p dialect.Path) bool { return p.Pattern == "POST /api/chat" })
	called, broken := 0, 0
	for seed := range 16 {
		body := fmt.Sprintf(`{"model": "tools", "messages": [{"role": "user", "content": "what"}], "tools": [%s, %s]`, weather, now)
		chat := ask1(t, s, fmt.Sprintf(`%s, "tool_choice": "required", "thinking_token_budget": 0, "temperature": 1.2, "seed": %d, "max_tokens": 150}`, body, seed))
		calls := calledOf(chat)
		want := told(t, chat.reasoning, chat.content, whole(calls)...)
		if called += len(calls); want != told(t, chat.reasoning, chat.content, calls...) {
			broken++
		}
		for _, stream := range []bool{false, true} {
			d := dialect.Paths[at].New().(dialect.Streamer)
			body := fmt.Appendf(nil, `%s, "stream": %v, "options": {"temperature": 1.2, "seed": %d, "num_predict": 150}}`, body, stream, seed)
			r, err := d.Read(&dialect.Input{Body: body, Unknown: func(string) {}, Messages: 1, Sampler: *s.s.Sampler})
			if err != nil {
				t.Fatal(err)
			}
			w := r.Work.(*request.Generate)
			r.Ctx, w.Tools.Required, w.Thinking = t.Context(), true, new(int) // which the API has no fields for
			var b bytes.Buffer
			if !stream {
				err = errors.Join(s.work(r, r.Collect), json.NewEncoder(&b).Encode(d.Whole(r)))
			} else {
				err = errors.Join(s.work(r, func(e *request.Event) error { return d.Event(&b, r, e) }), d.End(&b, r))
			}
			r.Close()
			if got := ollamaTold(t, b.String()); err != nil || got != want {
				t.Errorf("seed %d, stream %v: %s, %v, want %s", seed, stream, got, err, want)
			}
		}
	}
	if called < 8 || broken == 0 {
		t.Errorf("%d calls, %d break off", called, broken)
	}
}

// checkItems: in a stream of /v1/responses each item begins, grows to what it is, and ends before
// the next one.
func checkItems(t *testing.T, list []namedEvent) {
	t.Helper()
	grown, open := "", false
	for i, e := range list {
		if e.Number != i {
			t.Fatalf("event %d has the number %d", i, e.Number)
		}
		var d struct{ Delta, Text, Arguments string }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		_, kind, _ := strings.Cut(e.Type, ".")
		switch {
		case kind == "output_item.added" && !open:
			grown, open = "", true
		case strings.HasSuffix(kind, ".delta") && open:
			grown += d.Delta
		case kind == "output_item.done" && open:
			open = false
		case strings.HasPrefix(kind, "content_part.") && open, kind == "created", kind == "in_progress", kind == "completed", kind == "incomplete":
		case strings.HasSuffix(kind, ".done") && open && d.Text+d.Arguments == grown:
		default:
			t.Fatalf("event %d is %s after %q, in an item: %v", i, e.Data, grown, open)
		}
	}
}

// TestToolHistory: what was said, thought, called and answered before makes the same prompt in
// every API.
func TestToolHistory(t *testing.T) {
	s := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	const tools = `"tools": [` + weather + `, ` + now + `]`
	chat := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", `{"max_tokens": 2, `+tools+`, "messages": [{"role": "user", "content": "what"}, {"role": "assistant", "content": "so", "reasoning_content": "hm",
		"tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}, {"id": "b", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}}]},
		{"role": "tool", "tool_call_id": "a", "name": "now", "content": "12"}, {"role": "tool", "tool_call_id": "b", "name": "weather", "content": "wet"}, {"role": "user", "content": "ok"}]}`))
	anthropic := `{"max_tokens": 2, ` + anthropicTools + `, "messages": [{"role": "user", "content": "what"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "so"},
		{"type": "tool_use", "id": "a", "name": "now", "input": {}}, {"type": "tool_use", "id": "b", "name": "weather", "input": {"city": "Rome"}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "12"},
		{"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "wet"}]}, {"type": "text", "text": "ok"}]}]}`
	a := answerOf[anthropicAnswer](t, post(s, "/v1/messages", anthropic))
	count := answerOf[map[string]int](t, post(s, "/v1/messages/count_tokens", anthropic))["input_tokens"]
	responses := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"max_output_tokens": 2, `+responsesTools+`, "input": [{"role": "user", "content": "what"}, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
		{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}, {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"}, {"type": "function_call", "call_id": "b", "name": "weather", "arguments": "{\"city\": \"Rome\"}"},
		{"type": "function_call_output", "call_id": "a", "output": "12"}, {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "wet"}]}, {"role": "user", "content": "ok"}]}`))
	ollama := answerOf[struct {
		Message struct{ Content, Thinking string }
		Prompt  int `json:"prompt_eval_count"`
	}](t, post(s, "/api/chat", `{"stream": false, "options": {"num_predict": 2}, `+tools+`, "messages": [{"role": "user", "content": "what"}, {"role": "assistant", "content": "so", "thinking": "hm",
		"tool_calls": [{"function": {"name": "now", "arguments": {}}}, {"function": {"index": 1, "name": "weather", "arguments": {"city": "Rome"}}}]},
		{"role": "tool", "tool_name": "now", "content": "12"}, {"role": "tool", "tool_name": "weather", "content": "wet"}, {"role": "user", "content": "ok"}]}`))
	want := chat.Usage.Prompt
	if want == 0 || a.Usage.Input != want || count != want || responses.Usage.Input != want || ollama.Prompt != want {
		t.Errorf("prompts of %d, %d, %d, %d tokens, want %d", a.Usage.Input, count, responses.Usage.Input, ollama.Prompt, want)
	}
	if text := chat.Choices[0].Message.Content; len(a.Content) > 0 && a.Content[0].Text != text || responses.text() != text || ollama.Message.Content != text {
		t.Errorf("%+v, %+v, %+v, want %q", a, responses, ollama, text)
	}
	for path, list := range map[string][]string{
		"/v1/messages": {
			`"max_tokens": 2, "messages": [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "now", "input": {}}]}]`, `"max_tokens": 2, "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "bash_20250124", "name": "bash"}]`,
			`"max_tokens": 2, "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "any"}`, `"max_tokens": 2, "messages": [{"role": "user", "content": "x"}], "tools": [{"name": "a b"}]`,
			`"max_tokens": 2, "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "now", "input": 3}]}, {"role": "user", "content": "x"}]`,
			`"max_tokens": 2, "messages": [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, {"role": "user", "content": "x"}]`,
		},
		"/v1/responses": {
			`"input": [{"type": "function_call", "call_id": "a", "name": "now", "arguments": "3"}]`, `"input": [{"type": "function_call", "call_id": "a", "arguments": "{}"}]`, `"input": "x", "tools": [{"type": "web_search"}]`,
			`"input": "x", "tool_choice": "required"`, `"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]`, `"input": "x", ` + responsesTools + `, "tool_choice": {"type": "function", "name": "none"}`,
		},
	} {
		for _, body := range list {
			if w := post(s, path, `{`+body+`}`); w.Code != 400 {
				t.Errorf("%s %s: status %d, %s", path, body, w.Code, w.Body)
			}
		}
	}
}
