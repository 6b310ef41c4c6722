package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// responseItem is an item of output.
type responseItem struct {
	ID, Type, Status, Role string
	Content                []struct {
		Type, Text string
		Logprobs   []json.RawMessage
	}
}

// responseAnswer is an answer of /v1/responses.
type responseAnswer struct {
	ID, Object, Status, Model string
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Output                    []responseItem
	Previous                  *string `json:"previous_response_id"`
	Store                     bool
	Usage                     *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
}

func (a *responseAnswer) text() string {
	if len(a.Output) == 0 || len(a.Output[0].Content) == 0 {
		return ""
	}
	return a.Output[0].Content[0].Text
}

// numbered returns settings whose ids count.
func numbered() Settings {
	s, n := fixed(), 0
	s.NewID = func() string { n++; return fmt.Sprint(n) }
	return s
}

// TestResponses: /v1/responses answers as /v1/chat/completions does, whole and as a stream whose
// events are in order and numbered.
func TestResponses(t *testing.T) {
	s := newServer(t, fixed())
	const settings = `, "max_output_tokens": 30, "temperature": 1.2, "top_k": 30, "top_p": 0.9, "seed": 5, "presence_penalty": 0.5, "frequency_penalty": 0.2, "include": ["message.output_text.logprobs"], "top_logprobs": 2`
	chat := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}], "max_tokens": 30, "temperature": 1.2, "top_k": 30, "top_p": 0.9, "seed": 5, "presence_penalty": 0.5, "frequency_penalty": 0.2}`))
	want := chat.Choices[0].Message.Content
	for _, input := range []string{
		`"instructions": "be brief", "input": "why?"`,
		`"input": [{"role": "developer", "content": "be brief"}, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "why?"}]}]`,
	} {
		a := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tiny", `+input+settings+`}`))
		if a.ID != "resp_ID" || a.Object != "response" || a.Status != "incomplete" || a.Incomplete.Reason != "max_output_tokens" || a.text() != want || a.Usage.Input != chat.Usage.Prompt || a.Usage.Total != chat.Usage.Total || len(a.Output[0].Content[0].Logprobs) != 30 {
			t.Errorf("%s: %+v, want %q", input, a, want)
		}
		list := namedEvents(t, post(s, "/v1/responses", `{"stream": true, "model": "tiny", `+input+settings+`}`))
		if got := strings.ReplaceAll(kindsOf(list), "response.", ""); got != "created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done incomplete" {
			t.Fatalf("the events are %s", got)
		}
		var text strings.Builder
		logprobs := 0
		for i, e := range list {
			if e.Number != i {
				t.Fatalf("event %d has the number %d", i, e.Number)
			}
			switch e.Type {
			case "response.output_text.delta":
				var delta string
				if err := json.Unmarshal(e.Delta, &delta); err != nil || e.ItemID != a.Output[0].ID || e.Output != 0 {
					t.Errorf("%v: %s", err, e.Data)
				}
				text.WriteString(delta)
				logprobs += len(e.Logprobs)
			case "response.output_text.done":
				if e.Text != want || len(e.Logprobs) != 30 {
					t.Errorf("%s", e.Data)
				}
			case "response.created", "response.in_progress":
				if e.Response.Status != "in_progress" || len(e.Response.Output) != 0 || e.Response.Usage != nil {
					t.Errorf("%s", e.Data)
				}
			case "response.incomplete":
				if fmt.Sprintf("%+v", e.Response.Output) != fmt.Sprintf("%+v", a.Output) || *e.Response.Usage != *a.Usage {
					t.Errorf("%s, want %+v", e.Data, a)
				}
			}
		}
		if text.String() != want || logprobs != 30 {
			t.Errorf("the stream is %q with %d logarithms, want %q", text.String(), logprobs, want)
		}
	}
	a := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tiny", "input": "x", "text": {"format": {"type": "json_schema", "name": "a", "schema": {"const": 5}}}}`))
	if a.text() != "5" || a.Status != "completed" || a.Incomplete != nil {
		t.Errorf("%+v", a)
	}
}

// TestKeptResponses: a response can go on from one that was kept, as with the whole conversation in
// the input; it can be asked for again and deleted, by its key alone.
func TestKeptResponses(t *testing.T) {
	settings := numbered()
	settings.Keys = []Key{{"a", "secret-of-a-long-enough"}, {"a", "secret-of-b-long-enough"}} // of one name, and yet not one
	s := newServer(t, settings)
	mine, others := []string{"Authorization", "Bearer secret-of-a-long-enough"}, []string{"Authorization", "Bearer secret-of-b-long-enough"}
	ask := func(body string) (responseAnswer, *httptest.ResponseRecorder) {
		t.Helper()
		w := post(s, "/v1/responses", `{"model": "tiny", "temperature": 1.1, "max_output_tokens": 12, `+body+`}`, mine...)
		return answerOf[responseAnswer](t, w), w
	}
	first, w := ask(`"instructions": "be brief", "input": "one"`)
	events := namedEvents(t, post(s, "/v1/responses", `{"model": "tiny", "temperature": 1.1, "max_output_tokens": 12, "stream": true, "previous_response_id": "`+first.ID+`", "input": "two"}`, mine...))
	second := events[len(events)-1].Response
	third, _ := ask(`"previous_response_id": "` + second.ID + `", "input": [{"role": "user", "content": "three"}], "store": false`)
	item := func(role, text string) string {
		data, _ := json.Marshal(map[string]string{"role": role, "content": text})
		return string(data)
	}
	whole, _ := ask(`"store": false, "input": [` + strings.Join([]string{item("user", "one"), item("assistant", first.text()), item("user", "two"), item("assistant", second.text()), item("user", "three")}, ",") + `]`)
	if third.text() != whole.text() || third.Usage.Input != whole.Usage.Input || !first.Store || third.Store || *third.Previous != second.ID || first.Previous != nil {
		t.Errorf("%+v, want %+v", third, whole)
	}
	path := "/v1/responses/" + first.ID
	if again := get(s, path, mine...); again.Code != 200 || again.Body.String() != w.Body.String() {
		t.Errorf("again: status %d, %s, want %s", again.Code, again.Body, w.Body)
	}
	call := func(method, path string, header []string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set(header[0], header[1])
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
	}{
		{"GET", path, others, 404}, {"DELETE", path, others, 404}, {"POST", path + "/cancel", others, 404}, {"GET", "/v1/responses/" + third.ID, mine, 404},
		{"POST", path + "/cancel", mine, 400}, {"DELETE", path, mine, 200}, {"DELETE", path, mine, 404}, {"GET", path, mine, 404}, {"GET", "/v1/responses/" + second.ID, mine, 200},
	} {
		if w := call(c.method, c.path, c.header); w.Code != c.status {
			t.Errorf("%s %s: status %d, %s, want %d", c.method, c.path, w.Code, w.Body, c.status)
		}
	}
	if w := post(s, "/v1/responses", `{"model": "tiny", "input": "x", "previous_response_id": "`+first.ID+`"}`, mine...); w.Code != 404 || !strings.Contains(w.Body.String(), `"param":"previous_response_id"`) {
		t.Errorf("after one that was deleted: status %d, %s", w.Code, w.Body)
	}
}

// TestNoKeptResponses: with a store that is off, or behind a gateway, no response is kept, and
// asking for it is an error.
func TestNoKeptResponses(t *testing.T) {
	settings := fixed()
	settings.KeptBytes = -1
	off := newServer(t, settings)
	on := newServer(t, fixed())
	for gateway, s := range map[bool]*Server{false: off, true: on} {
		ask := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			if gateway {
				r = r.WithContext(WithOrigin(r.Context(), Origin{Key: "a", RequestID: "b", AnswerID: "ID"}))
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		if a := answerOf[responseAnswer](t, ask("POST", "/v1/responses", `{"model": "tiny", "input": "x", "max_output_tokens": 2}`)); a.Store {
			t.Errorf("%+v", a)
		}
		if w := ask("GET", "/v1/responses/resp_ID", ""); w.Code != 404 {
			t.Errorf("status %d, %s", w.Code, w.Body)
		}
		for _, field := range []string{`"store": true`, `"previous_response_id": "resp_ID"`} {
			if w := ask("POST", "/v1/responses", `{"model": "tiny", "input": "x", `+field+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), "keeps no responses") {
				t.Errorf("%s: status %d, %s", field, w.Code, w.Body)
			}
		}
	}
	settings.KeptBytes = 3000
	s := newServer(t, settings)
	if w := post(s, "/v1/responses", `{"model": "tiny", "input": "`+strings.Repeat("a ", 800)+`"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "want at most 1500") {
		t.Errorf("a conversation that is too long to be kept: status %d, %s", w.Code, w.Body)
	}
}

// TestResponsesErrors: each names its field.
func TestResponsesErrors(t *testing.T) {
	s := newServer(t, fixed())
	for body, want := range map[string]string{
		`"input": []`: "input", `"input": 3`: "input", `"input": [{"role": "robot", "content": "x"}]`: "input", `"input": [{"type": "computer_call"}]`: "input",
		`"input": [{"role": "user", "content": [{"type": "input_image"}]}]`: "input[0].content[0]", `"input": "x", "background": true`: "background",
		`"input": "x", "truncation": "auto"`: "truncation", `"input": "x", "include": ["web_search_call.results"]`: "include", `"input": "x", "max_output_tokens": 0`: "max_output_tokens",
		`"input": "x", "max_tokens": 5`: "max_tokens", `"input": "x", "top_logprobs": 3`: "top_logprobs", `"input": "x", "text": {"format": {"type": "xml"}}`: "text.format",
		`"input": "x", "conversation": "c"`: "conversation", `"input": "x", "instructions": []`: "instructions",
	} {
		w := post(s, "/v1/responses", `{"model": "tiny", `+body+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"`+want+`"`) {
			t.Errorf("%s: status %d, %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

// TestFormatNull: the error of a schema that is null names it where the API has it, and the format
// of a text is its type alone.
func TestFormatNull(t *testing.T) {
	s := newServer(t, fixed())
	w := post(s, "/v1/responses", `{"model": "tiny", "input": "x", "text": {"format": {"type": "json_schema", "schema": null}}}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"text.format.schema: got none`) {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
	for format, want := range map[string]string{
		`{"type": "text", "schema": null}`: `{"type":"text"}`, `{"type": "text", "name": "x", "schema": {}}`: `{"type":"text"}`, `{"type": "json_object", "schema": null}`: `{"type":"json_object"}`,
	} {
		w := post(s, "/v1/responses", `{"model": "tiny", "input": "x", "max_output_tokens": 3, "text": {"format": `+format+`}}`)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"text":{"format":`+want+`}`) {
			t.Errorf("%s: status %d, %s", format, w.Code, w.Body)
		}
	}
}

// TestKeptQuery: a query asks for what no kept response has, which is an error that names it.
func TestKeptQuery(t *testing.T) {
	s := newServer(t, numbered())
	first := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tiny", "input": "x", "max_output_tokens": 3}`))
	for query, want := range map[string]string{"": "", "?stream=false": "", "?stream=true": "stream", "?include=x": "include", "?a=1&stream=false": "a"} {
		w := get(s, "/v1/responses/"+first.ID+query)
		var e struct{ Error struct{ Param string } }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || (w.Code == 200) != (want == "") || e.Error.Param != want {
			t.Errorf("%s: status %d, %s, %v", query, w.Code, w.Body, err)
		}
	}
}

// TestKeptMessages: messages without a text take memory, too.
func TestKeptMessages(t *testing.T) {
	settings := numbered()
	settings.KeptBytes = 8000
	s := newServer(t, settings)
	for n, want := range map[int]int{10: 200, 40: 400} {
		input := strings.TrimSuffix(strings.Repeat(`{"role": "user", "content": "a"}, `, n), ", ")
		w := post(s, "/v1/responses", `{"model": "tiny", "max_output_tokens": 1, "input": [`+input+`]}`)
		if w.Code != want || want == 400 && !strings.Contains(w.Body.String(), "store: the conversation has") {
			t.Errorf("%d messages: status %d, %s", n, w.Code, w.Body)
		}
	}
}
