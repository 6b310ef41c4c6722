package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// toolModel is the name of a model whose template has tools and thinking, in the form of Qwen's.
const toolModel = "tools"

// tooled returns a model with a template of tools.
func tooled(t testing.TB, e kernel.Exec, pageSize int) *Model {
	t.Helper()
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.AddTools()
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: e, Context: 400, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	return NewModel(toolModel, made{m}, "tools")
}

// weather is a tool, and now one without arguments.
const (
	weather = `{"type": "function", "function": {"name": "weather", "strict": true, "parameters": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "n": {"type": "integer", "maximum": 9, "minimum": 0}}, "required": ["city"], "additionalProperties": false}}}`
	now     = `{"type": "function", "function": {"name": "now"}}`
)

// toolMix returns n requests with tools, thinking, calls before them, and forms.
func toolMix(n int) (list []sent) {
	r := rand.New(rand.NewPCG(60, 1))
	for i := range n {
		body := map[string]any{
			"model": toolModel, "max_tokens": 20 + r.IntN(100), "stream": r.IntN(2) == 0, "temperature": []float64{0, 1.2}[r.IntN(2)], "seed": r.IntN(1000),
			"messages": []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"role": "user", "content": "what %d"}`, r.IntN(5)))},
			"tools":    []json.RawMessage{json.RawMessage(weather), json.RawMessage(now)},
		}
		switch i % 4 {
		case 0:
			body["tool_choice"] = "required"
		case 1:
			body["tool_choice"] = json.RawMessage(`{"type": "function", "function": {"name": "weather"}}`)
		case 2:
			body["messages"] = append(body["messages"].([]json.RawMessage), json.RawMessage(`{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}]}`),
				json.RawMessage(`{"role": "tool", "tool_call_id": "a", "content": "12"}`))
		}
		if r.IntN(3) == 0 {
			body["enable_thinking"] = true
			body["thinking_token_budget"] = r.IntN(8)
		}
		if r.IntN(3) == 0 {
			body["parallel_tool_calls"] = false
		}
		if r.IntN(4) == 0 {
			body["response_format"] = json.RawMessage(`{"type": "json_schema", "json_schema": {"schema": {"type": "integer", "minimum": 0, "maximum": 99}}}`)
		}
		if r.IntN(4) == 0 {
			body["n"] = 2
		}
		if r.IntN(4) == 0 {
			body["logprobs"] = true
		}
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		list = append(list, sent{"/v1/chat/completions", string(data)})
	}
	return list
}

// spoken is the answer to a request with tools, whole or put together from a stream.
type spoken struct {
	content, reasoning, reason string
	calls                      []spokenCall
}

type spokenCall struct {
	Index    *int
	ID, Type string
	Function struct{ Name, Arguments string }
}

// ask1 returns the first choice of the answer to a request.
func ask1(t *testing.T, h http.Handler, body string) spoken {
	t.Helper()
	return askedOf(t, post(h, "/v1/chat/completions", body))
}

// askedOf returns the first choice of an answer.
func askedOf(t *testing.T, w *httptest.ResponseRecorder) (s spoken) {
	t.Helper()
	type message struct {
		Content   *string
		Reasoning string       `json:"reasoning_content"`
		Calls     []spokenCall `json:"tool_calls"`
	}
	type answer struct {
		Choices []struct {
			Index          int
			Message, Delta message
			Reason         *string `json:"finish_reason"`
		}
	}
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	all := []string{w.Body.String()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		all = events(t, w.Body)
	}
	for _, data := range all {
		var a answer
		if data == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Choices {
			if c.Index != 0 {
				continue
			}
			for _, m := range []message{c.Message, c.Delta} {
				if s.reasoning += m.Reasoning; m.Content != nil {
					s.content += *m.Content
				}
				for _, by := range m.Calls {
					switch n := len(s.calls); {
					case by.Index == nil || *by.Index == n:
						s.calls = append(s.calls, by)
					case *by.Index == n-1:
						s.calls[n-1].Function.Arguments += by.Function.Arguments
					default:
						t.Fatalf("a part of call %d comes after %d calls", *by.Index, n)
					}
				}
			}
			if c.Reason != nil {
				s.reason = *c.Reason
			}
		}
	}
	return s
}

// TestTools: an answer with tools is calls that satisfy their schemas, content or thinking, in
// streams as in one piece.
func TestTools(t *testing.T) {
	srv := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	schema, err := grammar.FromSchema([]byte(`{"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "n": {"type": "integer", "maximum": 9, "minimum": 0}}, "required": ["city"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	called, thought, formed, broken := 0, 0, 0, map[bool]int{}
	for _, q := range toolMix(120) {
		got := ask1(t, srv, q.body)
		if got.reasoning != "" {
			thought++
		}
		must := strings.Contains(q.body, `"tool_choice":`)
		if got.reason != "length" && must && (len(got.calls) == 0 || got.content != "") {
			t.Errorf("%s: %+v", q.body, got)
		}
		if (got.reason == "tool_calls") != (len(got.calls) > 0 && got.reason != "length") {
			t.Errorf("%s: %+v", q.body, got)
		}
		complete := got.calls // the last call of an answer that is cut off may break off
		if n := len(got.calls); n > 0 && got.reason == "length" && !json.Valid([]byte(got.calls[n-1].Function.Arguments)) {
			complete = got.calls[:n-1]
			broken[strings.Contains(q.body, `"stream":true`)]++
		}
		for i, c := range complete {
			called++
			ok := c.Function.Name == "now" && strings.Join(strings.Fields(c.Function.Arguments), "") == "{}"
			if c.Function.Name == "weather" {
				if ok, err = schema.Match(c.Function.Arguments); err != nil {
					t.Fatal(err)
				}
			}
			if !ok || len(c.ID) != 9 || c.Type != "function" || (c.Index != nil) != strings.Contains(q.body, `"stream":true`) || c.Index != nil && *c.Index != i {
				t.Errorf("%s: the call %+v", q.body, c)
			}
		}
		if len(got.calls) > 1 && strings.Contains(q.body, `"parallel_tool_calls":false`) {
			t.Errorf("%s: %d calls", q.body, len(got.calls))
		}
		if !must && len(got.calls) == 0 && got.reason == "stop" && strings.Contains(q.body, "response_format") {
			formed++
			if !slices.ContainsFunc([]string{got.content}, func(s string) bool { var n int; return json.Unmarshal([]byte(s), &n) == nil && n < 100 }) {
				t.Errorf("%s: %+v", q.body, got)
			}
		}
		other := strings.Replace(strings.Replace(q.body, `"stream":true`, `"stream":not`, 1), `"stream":false`, `"stream":true`, 1)
		other = strings.Replace(other, "not", "false", 1)
		if strings.Contains(q.body, `"what 0"`) {
			a, b := got, ask1(t, srv, other)
			for i := range a.calls {
				a.calls[i].Index = nil
			}
			for i := range b.calls {
				b.calls[i].Index = nil
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s: %+v, the other way %+v", q.body, a, b)
			}
		}
	}
	if called < 25 || thought < 10 || formed == 0 || broken[false] == 0 || broken[true] == 0 {
		t.Errorf("%d calls, %d answers with thinking, %d with a form, with a call that breaks off, streamed or not: %v", called, thought, formed, broken)
	}
}

// TestCallsGrow: the arguments of a call come in the parts of a stream in which the model writes
// them, and its id and name once; not where a string may end the text within it.
func TestCallsGrow(t *testing.T) {
	srv := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	for stop, grows := range map[string]bool{"": true, `,"stop":["zzzz"]`: false} {
		parts, names, all := 0, 0, 0
		for seed := range 8 {
			w := post(srv, "/v1/chat/completions", fmt.Sprintf(`{"model":"tools","messages":[{"role":"user","content":"hi"}],"tools":[%s],"tool_choice":"required","thinking_token_budget":2,"stream":true,"max_tokens":300,"seed":%d%s}`, weather, seed, stop))
			for _, data := range events(t, w.Body) {
				var a struct {
					Choices []struct {
						Delta struct {
							Calls []spokenCall `json:"tool_calls"`
						}
					}
				}
				if data == "[DONE]" {
					continue
				}
				if err := json.Unmarshal([]byte(data), &a); err != nil {
					t.Fatal(err)
				}
				for _, c := range a.Choices[0].Delta.Calls {
					if all++; c.Function.Name != "" {
						names++
					} else {
						parts++
					}
					if (c.Function.Name == "") != (c.ID == "") || (c.ID == "") != (c.Type == "") {
						t.Errorf("%s", data)
					}
				}
			}
		}
		if names < 5 || grows != (parts > 5*names) || !grows && parts > 0 {
			t.Errorf("with %q: %d calls begin, %d parts of them follow", stop, names, parts)
		}
	}
}

// TestThinking: thinking is apart from content, and ends after as many tokens as it may have,
// however that is asked for.
func TestThinking(t *testing.T) {
	srv := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	for _, limit := range []string{`"thinking_token_budget":4`, `"reasoning_budget":4`, `"thinking_budget":4`, `"reasoning":{"max_tokens":4,"enabled":true}`, `"thinking":{"type":"enabled","budget_tokens":4}`} {
		for _, stream := range []string{"true", "false"} {
			body := `{"model":"tools","messages":[{"role":"user","content":"hi"}],"enable_thinking":true,"max_tokens":40,"temperature":0,"stream":` + stream + `,` + limit + `}`
			got := ask1(t, srv, body)
			if got.reasoning == "" || len(got.reasoning) > 8 || got.content == "" || strings.Contains(got.content, "think>") {
				t.Errorf("%s: %+v", body, got)
			}
		}
	}
	if got := ask1(t, srv, `{"model":"tools","messages":[{"role":"user","content":"hi"}],"reasoning_effort":"none","max_tokens":9}`); got.reasoning != "" {
		t.Errorf("without effort: %+v", got)
	}
	for _, bad := range []string{`"thinking_token_budget":-2`, `"thinking":{"type":"x"}`, `"reasoning":{"exclude":true}`, `"include_reasoning":false`, `"reasoning_format":"none"`} {
		if w := post(srv, "/v1/chat/completions", `{"model":"tools","messages":[{"role":"user","content":"hi"}],`+bad+`}`); w.Code != 400 {
			t.Errorf("%s: status %d", bad, w.Code)
		}
	}
	plain := newServer(t, fixed())
	if w := post(plain, "/v1/chat/completions", `{"model":"tiny","messages":[{"role":"user","content":"hi"}],"thinking_token_budget":3}`); w.Code != 400 {
		t.Errorf("a budget without thinking: status %d", w.Code)
	}
}

// TestPlainTemplate: a model whose template knows no tools calls them in JSON.
func TestPlainTemplate(t *testing.T) {
	srv := newServer(t, fixed())
	for _, stream := range []string{"true", "false"} {
		got := ask1(t, srv, `{"model":"tiny","stream":`+stream+`,"messages":[{"role":"user","content":"a"}],"tools":[`+now+`],"tool_choice":"required"}`)
		if got.reason != "tool_calls" || len(got.calls) != 1 || got.calls[0].Function.Name != "now" || got.content != "" {
			t.Errorf("%+v", got)
		}
	}
	if got := ask1(t, srv, `{"model":"tiny","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"now"}}]},{"role":"tool","tool_call_id":"1","content":"b"}],"max_tokens":5}`); len(got.calls) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestToolErrors: what cannot be promised is an error that names it.
func TestToolErrors(t *testing.T) {
	srv := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	ref := `{"type": "function", "function": {"name": "f", "strict": %t, "parameters": {"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}}}`
	for body, want := range map[string]string{
		`"tools": [` + fmt.Sprintf(ref, true) + `]`:                                                                            "tools[0].function.parameters",
		`"tool_choice": "required", "tools": [` + now + `, ` + fmt.Sprintf(ref, false) + `]`:                                   "tools[1].function.parameters",
		`"tools": [` + fmt.Sprintf(ref, false) + `]`:                                                                           "",
		`"tools": [` + now + `, ` + now + `]`:                                                                                  "tools[1]",
		`"tools": [` + now + `], "tool_choice": "maybe"`:                                                                       "tool_choice",
		`"tools": [` + now + `], "tool_choice": {"type": "function", "function": {"name": "x"}}`:                               "tool_choice",
		`"tools": [` + now + `], "tool_choice": {"type": "allowed_tools"}`:                                                     "tool_choice",
		`"tools": [` + now + `], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}`: "tool_choice",
		`"tools": [{"type": "custom", "function": {"name": "f"}}]`:                                                             "tools[0]",
		`"tools": [{"type": "function", "function": {"name": "f", "parameters": 3}}]`:                                          "tools[0]",
		`"tools": [` + now + `], "tool_choice": "none"`:                                                                        "",
		`"tools": [` + now + `], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "now"}}]}}`: "",
		`"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]`:                                                                               "messages[0].content[0]",
		`"messages": [{"role": "user", "content": "", "tool_calls": [{"function": {"name": "f"}}]}]`:                                                                        "messages[0].role",
		`"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "["}}]}]`:                                                                "messages[0].tool_calls[0]",
	} {
		w := post(srv, "/v1/chat/completions", `{"model": "tools", "max_tokens": 3, "messages": [{"role": "user", "content": "hi"}], `+body+`}`)
		var e struct{ Error struct{ Param *string } }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if (want == "") != (w.Code == 200) || want != "" && (w.Code != 400 || e.Error.Param == nil || *e.Error.Param != want) {
			t.Errorf("%s: status %d, %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

// TestToolFields: errors about a tool name the fields of their API.
func TestToolFields(t *testing.T) {
	srv := serverOf(t, fixed(), tooled(t, kernel.Exec{Threads: 1}, 16))
	const far = `{"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}`
	for path, form := range map[string][3]string{
		"/v1/chat/completions": {`"messages": [{"role": "user", "content": "a"}], "tool_choice": "required", "tools": [{"type": "function", "function": {"name": %q, "parameters": %s}}]`, "function.name", "function.parameters"},
		"/v1/messages":         {`"max_tokens": 3, "messages": [{"role": "user", "content": "a"}], "tool_choice": {"type": "any"}, "tools": [{"name": %q, "input_schema": %s}]`, "name", "input_schema"},
		"/v1/responses":        {`"input": "a", "tool_choice": "required", "tools": [{"type": "function", "name": %q, "parameters": %s}]`, "name", "parameters"},
	} {
		for _, x := range []struct{ name, schema, want string }{{"f g", far, form[1]}, {"f", "3", form[2]}, {"f", far, form[2]}} {
			w := post(srv, path, `{"model": "tools", `+fmt.Sprintf(form[0], x.name, x.schema)+`}`)
			if w.Code != 400 || !strings.Contains(w.Body.String(), "tools[0]."+x.want+": ") {
				t.Errorf("%s: status %d, %s, want %s", path, w.Code, w.Body, x.want)
			}
		}
	}
}

// TestCountWithTools: counting the tokens of a conversation takes no place of those that have a
// grammar, nor makes one.
func TestCountWithTools(t *testing.T) {
	settings := fixed()
	settings.Grammars = 1
	srv := serverOf(t, settings, tooled(t, kernel.Exec{Threads: 1}, 16))
	srv.find(toolModel).(*generator).grammars <- struct{}{}
	for _, schema := range []string{`{"type": "object"}`, `{"$ref": "https://example.com/x"}`} {
		w := post(srv, "/v1/messages/count_tokens", `{"model": "tools", "messages": [{"role": "user", "content": "a"}], "tools": [{"name": "f", "strict": true, "input_schema": `+schema+`}]}`)
		if w.Code != 200 {
			t.Errorf("%s: status %d, %s", schema, w.Code, w.Body)
		}
	}
}
