package server

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// openResponses are the fields that Open Responses (openresponses.org, src/generated/kubb/zod)
// wants of an answer, of items and their parts, and of events, each with its kinds.
var openResponses = map[string]string{
	"response": `id:string object:string created_at:integer completed_at:integer,null status:string incomplete_details:object,null model:string
		previous_response_id:string,null instructions:string,null output:array error:object,null tools:array tool_choice:string,object
		truncation:string parallel_tool_calls:boolean text:object top_p:number presence_penalty:number frequency_penalty:number
		top_logprobs:integer temperature:number reasoning:object,null usage:object,null max_output_tokens:integer,null
		max_tool_calls:integer,null store:boolean background:boolean service_tier:string metadata:object
		safety_identifier:string,null prompt_cache_key:string,null`,
	"usage":       "input_tokens:integer output_tokens:integer total_tokens:integer input_tokens_details:object output_tokens_details:object",
	"tool":        "type:string name:string description:string,null parameters:object,null strict:boolean,null",
	"json_schema": "type:string name:string description:string,null schema:object,null strict:boolean",

	"message":        "id:string status:string role:string content:array",
	"reasoning":      "id:string summary:array",
	"function_call":  "id:string call_id:string name:string arguments:string status:string",
	"output_text":    "text:string annotations:array logprobs:array",
	"reasoning_text": "text:string",
	"logprob":        "token:string logprob:number bytes:array top_logprobs:array",

	"response.created":                       "response:object",
	"response.in_progress":                   "response:object",
	"response.completed":                     "response:object",
	"response.incomplete":                    "response:object",
	"response.output_item.added":             "output_index:integer item:object",
	"response.output_item.done":              "output_index:integer item:object",
	"response.content_part.added":            "item_id:string output_index:integer content_index:integer part:object",
	"response.content_part.done":             "item_id:string output_index:integer content_index:integer part:object",
	"response.output_text.delta":             "item_id:string output_index:integer content_index:integer delta:string logprobs:array",
	"response.output_text.done":              "item_id:string output_index:integer content_index:integer text:string logprobs:array",
	"response.reasoning_text.delta":          "item_id:string output_index:integer content_index:integer delta:string",
	"response.reasoning_text.done":           "item_id:string output_index:integer content_index:integer text:string",
	"response.function_call_arguments.delta": "item_id:string output_index:integer delta:string",
	"response.function_call_arguments.done":  "item_id:string output_index:integer arguments:string",
}

// openKind returns the kinds that a JSON value is of.
func openKind(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case string:
		return []string{"string"}
	case bool:
		return []string{"boolean"}
	case []any:
		return []string{"array"}
	case float64:
		if v == math.Trunc(v) {
			return []string{"integer", "number"}
		}
		return []string{"number"}
	}
	return []string{"object"}
}

// openFaults returns what an object lacks, and what its parts lack.
func openFaults(form string, v any) (faults []string) {
	o, _ := v.(map[string]any)
	want, known := openResponses[form]
	if !known || o == nil {
		return []string{fmt.Sprintf("%q: %v", form, v)}
	}
	for _, f := range strings.Fields(want) {
		name, kinds, _ := strings.Cut(f, ":")
		got, ok := o[name]
		if !ok || !slices.ContainsFunc(openKind(got), func(k string) bool { return slices.Contains(strings.Split(kinds, ","), k) }) {
			faults = append(faults, fmt.Sprintf("%s.%s: %v", form, f, got))
		}
	}
	inner := func(name, form string) {
		list, several := o[name].([]any)
		if one, ok := o[name].(map[string]any); ok && !several {
			list = []any{one}
		}
		for _, e := range list {
			kind := form
			if kind == "" {
				kind, _ = e.(map[string]any)["type"].(string)
			}
			faults = append(faults, openFaults(kind, e)...)
		}
	}
	inner("response", "response")
	inner("output", "")
	inner("item", "")
	inner("part", "")
	inner("content", "")
	inner("tools", "tool")
	inner("usage", "usage")
	inner("logprobs", "logprob")
	if text, ok := o["text"].(map[string]any); ok {
		if format, _ := text["format"].(map[string]any); format["type"] == "json_schema" {
			faults = append(faults, openFaults("json_schema", format)...)
		}
	}
	return faults
}

// TestOpenResponses asks what the compliance tests of Open Responses ask
// (src/lib/compliance-tests.ts), in its order, and what has all parts of an answer, whole and as a
// stream. Answers and events have all fields that the specification wants. A picture is an error:
// no model here sees one.
func TestOpenResponses(t *testing.T) {
	s := serverOf(t, fixed(), append(tinyModels(t, kernel.Exec{Threads: 1}, 16), tooled(t, kernel.Exec{Threads: 1}, 16))...)
	const user = `{"type": "message", "role": "user", "content": "Say hello in exactly 3 words."}`
	const tool = `"model": "tools", "temperature": 0.2, "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": false}}], "tool_choice": "required"`
	for _, c := range []struct{ body, has string }{
		{`"model": "tiny", "input": [` + user + `]`, "message"},
		{`"model": "tiny", "input": [{"type": "message", "role": "system", "content": "You are a pirate."}, ` + user + `]`, "message"},
		{tool + `, "input": [` + user + `]`, "function_call"},
		{`"model": "tiny", "input": [` + user + `, {"type": "message", "role": "assistant", "content": "Hello Alice!"}, ` + user + `]`, "message"},
		{tool + `, "reasoning": {"max_tokens": 4}, "input": "why?", "max_tool_calls": 3, "safety_identifier": "u", "prompt_cache_key": "k"`, "reasoning"},
		{`"model": "tiny", "input": "x", "include": ["message.output_text.logprobs"], "top_logprobs": 2, "presence_penalty": 0.5, "frequency_penalty": 1`, "message"},
		{`"model": "tiny", "input": "x", "text": {"format": {"type": "json_schema", "name": "a", "schema": {"const": 5}}}`, "message"},
	} {
		var whole any
		body := `{` + c.body + `, "max_output_tokens": 200`
		w := post(s, "/v1/responses", body+`}`)
		if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || w.Code != 200 {
			t.Fatalf("%s: status %d, %v: %s", c.body, w.Code, err, w.Body)
		}
		if faults := openFaults("response", whole); faults != nil || !strings.Contains(w.Body.String(), `"type":"`+c.has+`"`) {
			t.Errorf("%s: %s\n%s", c.body, faults, w.Body)
		}
		kinds := map[string]bool{}
		for _, e := range namedEvents(t, post(s, "/v1/responses", body+`, "stream": true}`)) {
			var event any
			if err := json.Unmarshal(e.Data, &event); err != nil {
				t.Fatal(err)
			}
			kinds[e.Type+" "+e.Item.Type] = true
			if faults := openFaults(e.Type, event); faults != nil {
				t.Errorf("%s: %s\n%s", c.body, faults, e.Data)
			}
		}
		for _, kind := range []string{"response.output_item.added " + c.has, "response.output_item.done " + c.has} {
			if !kinds[kind] {
				t.Errorf("%s: the stream has no %s", c.body, kind)
			}
		}
		if c.has == "function_call" && !(kinds["response.function_call_arguments.delta "] && kinds["response.function_call_arguments.done "]) {
			t.Errorf("%s: the stream has no arguments: %v", c.body, kinds)
		}
	}
	picture := `{"model": "tiny", "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0="}]}]}`
	if w := post(s, "/v1/responses", picture); w.Code != 400 || !strings.Contains(w.Body.String(), "input_image") {
		t.Errorf("a picture: status %d: %s", w.Code, w.Body)
	}
	if openFaults("message", map[string]any{"id": 1.0, "status": "x", "role": "a", "content": []any{map[string]any{"type": "output_text"}}}) == nil {
		t.Error("faults are not seen")
	}
}
