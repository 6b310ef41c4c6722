package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// itemList is the answer of input_items.
type itemList struct {
	Object string
	Data   []struct {
		ID, Type, Role, Name, Arguments, Output string
		CallID                                  string `json:"call_id"`
		Content                                 []struct{ Type, Text string }
	}
	First *string `json:"first_id"`
	Last  *string `json:"last_id"`
	More  bool    `json:"has_more"`
}

// line returns the items in a line.
func (l *itemList) line() string {
	var b strings.Builder
	for _, it := range l.Data {
		text := it.Output + it.Name + it.Arguments
		for _, c := range it.Content {
			text += c.Type + " " + c.Text
		}
		fmt.Fprintf(&b, "%s %s %s|", it.Type, it.Role, text)
	}
	return b.String()
}

// ofTools returns a server with a response that was made from all kinds of items, and its id.
func ofTools(t testing.TB) (s *Server, id string) {
	t.Helper()
	s = serverOf(t, numbered(), tooled(t, kernel.Exec{Threads: 1}, 16))
	first := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tools", "max_output_tokens": 3, "tools": [{"type": "function", "name": "now"}], "input": [{"role": "system", "content": "brief"}, {"role": "user", "content": "time?"},
		{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "noon"}, {"role": "user", "content": "sure?"}]}`))
	second := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tools", "max_output_tokens": 3, "previous_response_id": "`+first.ID+`", "input": "why?", "include": ["message.output_text.logprobs"]}`))
	return s, second.ID
}

// TestInputItems: the items that a response was made from are listed in parts and in both orders,
// as they would go into input.
func TestInputItems(t *testing.T) {
	s, id := ofTools(t)
	list := func(query string) (l itemList) {
		t.Helper()
		return answerOf[itemList](t, get(s, "/v1/responses/"+id+"/input_items"+query))
	}
	all := list("?order=asc&limit=100&include[]=reasoning.encrypted_content")
	const want = "message system input_text brief|message user input_text time?|reasoning  reasoning_text hm|function_call  now{}|function_call_output  noon|message user input_text sure?|"
	line := all.line()
	if !strings.HasPrefix(line, want) || !strings.HasSuffix(line, "|message user input_text why?|") || all.Object != "list" || all.More || *all.First != all.Data[0].ID {
		t.Errorf("%s, %+v", line, all)
	}
	var parts string
	seen := map[string]bool{}
	for query := "?limit=3"; ; {
		l := list(query)
		for i := range l.Data {
			if seen[l.Data[i].ID] {
				t.Fatalf("%s comes twice", l.Data[i].ID)
			}
			seen[l.Data[i].ID] = true
			one := itemList{Data: l.Data[i : i+1]}
			parts = one.line() + parts
		}
		if !l.More {
			break
		}
		query = "?limit=3&order=desc&after=" + *l.Last
	}
	if parts != line {
		t.Errorf("in parts %s, want %s", parts, line)
	}
	for query, param := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "order=up": "order", "after=x": "after", "include=x": "include", "stream=true": "stream", "limit=1&limit=2": "limit",
		"limit[]=2": "limit[]", "after[]=x": "after[]", "include[][]=x": "include[][]",
	} {
		if w := get(s, "/v1/responses/"+id+"/input_items?"+query); w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: status %d, %s", query, w.Code, w.Body)
		}
	}
	if w := get(s, "/v1/responses/none/input_items"); w.Code != 404 {
		t.Errorf("of no response: status %d, %s", w.Code, w.Body)
	}
}

// TestKeptInclude: what include asks for is there if the response was made with it, and an error
// otherwise.
func TestKeptInclude(t *testing.T) {
	s, with := ofTools(t)
	without := answerOf[responseAnswer](t, post(s, "/v1/responses", `{"model": "tools", "max_output_tokens": 3, "input": "why?"}`)).ID
	plain := get(s, "/v1/responses/"+with).Body.String()
	for _, query := range []string{"?include=message.output_text.logprobs", "?include[]=message.output_text.logprobs&include[]=reasoning.encrypted_content", "?include=reasoning.encrypted_content&stream=false"} {
		if w := get(s, "/v1/responses/"+with+query); w.Code != 200 || w.Body.String() != plain {
			t.Errorf("%s: status %d, %s", query, w.Code, w.Body)
		}
		if w := get(s, "/v1/responses/"+without+query); (w.Code == 200) == strings.Contains(query, "logprobs") {
			t.Errorf("%s without logarithms: status %d, %s", query, w.Code, w.Body)
		}
	}
}

// TestKeptBodiesUnderLoad: what is kept has the same bytes however much is asked for at once.
func TestKeptBodiesUnderLoad(t *testing.T) {
	s, id := ofTools(t)
	paths := []string{"/v1/responses/" + id, "/v1/responses/" + id + "/input_items", "/v1/responses/" + id + "/input_items?order=asc&limit=2", "/v1/responses/" + id + "/input_items?limit=0"}
	var want []string
	for _, path := range paths {
		want = append(want, get(s, path).Body.String())
	}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			post(s, "/v1/responses", fmt.Sprintf(`{"model": "tools", "max_output_tokens": 9, "input": "load %d"}`, n))
			for i, path := range paths {
				if got := get(s, path).Body.String(); got != want[i] {
					t.Errorf("%s: %s, want %s", path, got, want[i])
				}
			}
		})
	}
	wait.Wait()
}

// FuzzKept: no path and query of a kept response does harm, and every answer is JSON.
func FuzzKept(f *testing.F) {
	s, id := ofTools(f)
	for _, path := range []string{"", "/input_items", "/cancel"} {
		for _, query := range []string{"", "limit=3", "order=asc&after=msg_in_2_0", "include[]=message.output_text.logprobs", "stream=true", "limit=-1&limit=2", "%zz;", "order=%00"} {
			f.Add(path, query, path == "/cancel")
		}
	}
	f.Fuzz(func(t *testing.T, path, query string, isPost bool) {
		r := httptest.NewRequest("GET", "/", nil)
		if isPost {
			r.Method = "POST"
		}
		r.URL = &url.URL{Path: "/v1/responses/" + id + path, RawQuery: query}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == 500 || w.Code < 300 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q?%q: status %d: %s", path, query, w.Code, w.Body)
		}
	})
}
