package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// bfclDir is a folder of cases as the package bfcl-eval of PyPI has them, bfcl_eval/data:
//
//	go test ./models/server -run TestBFCL -args -bfcl DIR
var bfclDir = flag.String("bfcl", "", "`folder` of bfcl-eval's cases for TestBFCL")

// A bfclCase is a question with functions.
type bfclCase struct {
	ID       string
	Question [][]struct{ Role, Content string }
	Function []bfclFunction
	Classes  []string `json:"involved_classes"` // whose functions it has, in a file of each
}

type bfclFunction struct {
	Name, Description string
	Parameters        map[string]any
}

// bfclClasses are the files of classes whose names differ.
var bfclClasses = map[string]string{
	"GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api", "MessageAPI": "message_api", "TwitterAPI": "posting_api", "TicketAPI": "ticket_api",
	"TradingBot": "trading_bot", "TravelAPI": "travel_booking", "VehicleControlAPI": "vehicle_control", "WebSearchAPI": "web_search", "MemoryAPI": "memory_kv",
}

// bfclTypes maps types of the cases to types of JSON Schema, as bfcl-eval itself gives them to
// OpenAI's API.
var bfclTypes = map[string]string{
	"dict": "object", "HashMap": "object", "float": "number", "double": "number", "tuple": "array", "Array": "array", "ArrayList": "array", "list": "array",
	"long": "integer", "any": "string", "String": "string", "char": "string", "Boolean": "boolean", "": "string",
}

// asSchema replaces types.
func asSchema(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if name, ok := x.(string); ok && key == "type" {
				if to, ok := bfclTypes[name]; ok {
					v[key] = to
				}
			} else {
				asSchema(x)
			}
		}
		if _, ok := v["items"]; v["type"] == "array" && !ok {
			v["items"] = map[string]any{"type": "string"}
		}
	case []any:
		for _, x := range v {
			asSchema(x)
		}
	}
}

// bfclCases returns the cases of files, of which no two are the same.
func bfclCases(t *testing.T, files []string) (cases []bfclCase) {
	classes := map[string][]bfclFunction{}
	for _, name := range files {
		for _, c := range linesOf[bfclCase](t, name, `{"id"`) { // other lines are settings
			for _, class := range c.Classes {
				if classes[class] == nil {
					classes[class] = linesOf[bfclFunction](t, filepath.Join(*bfclDir, "multi_turn_func_doc", bfclClasses[class]+".json"), "{")
				}
				c.Function = append(c.Function, classes[class]...)
			}
			if len(c.Function) > 0 {
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// linesOf returns the objects of a file, which are lines that begin with a text.
func linesOf[T any](t *testing.T, name, begin string) (all []T) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), begin) {
			continue
		}
		var any any
		var x T
		if err := json.Unmarshal(lines.Bytes(), &any); err != nil {
			t.Fatal(name, err)
		}
		data, _ := json.Marshal(inASCII(any))
		if err := json.Unmarshal(data, &x); err != nil {
			t.Fatal(name, err)
		}
		all = append(all, x)
	}
	return all
}

// inASCII replaces characters that the model does not have.
func inASCII(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Trim(strconv.QuoteToASCII(v), `"`)
	case []any:
		for i := range v {
			v[i] = inASCII(v[i])
		}
	case map[string]any:
		to := map[string]any{}
		for key, x := range v {
			to[inASCII(key).(string)] = inASCII(x)
		}
		return to
	}
	return v
}

// notTool are the characters that no name of a tool has.
var notTool = regexp.MustCompile(`[^A-Za-z0-9_.:/-]`)

// longestQuestion is the most bytes of a question, as each is a token.
const longestQuestion = 300

// request returns the body of a request that must call a function, and the schemas of arguments.
func (c *bfclCase) request() (string, map[string]map[string]any) {
	var tools []any
	last := c.Question[0][len(c.Question[0])-1].Content
	question := []any{map[string]string{"role": "user", "content": last[:min(len(last), longestQuestion)]}}
	schemas := map[string]map[string]any{}
	for _, f := range c.Function {
		asSchema(f.Parameters)
		name := notTool.ReplaceAllString(f.Name, "_")
		if schemas[name] == nil {
			tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "description": f.Description, "parameters": f.Parameters}})
		}
		schemas[name] = f.Parameters
	}
	data, _ := json.Marshal(map[string]any{
		"model": toolModel, "messages": question, "tools": tools, "tool_choice": "required", "temperature": 1.3, "max_tokens": -1, "seed": len(c.ID),
		"thinking_token_budget": 8, "parallel_tool_calls": strings.Contains(c.ID, "parallel"),
	})
	return string(data), schemas
}

// fault returns the part of a value that violates a schema, by the keywords that the cases have, or
// "".
func fault(at string, schema map[string]any, v any) string {
	kinds := map[string]bool{"string": false}
	switch x := v.(type) {
	case string:
		kinds["string"] = true
	case bool:
		kinds["boolean"] = true
	case float64:
		kinds["number"], kinds["integer"] = true, x == float64(int64(x))
	case []any:
		kinds["array"] = true
		items, _ := schema["items"].(map[string]any)
		for i, item := range x {
			if bad := fault(fmt.Sprintf("%s[%d]", at, i), items, item); bad != "" {
				return bad
			}
		}
	case map[string]any:
		kinds["object"] = true
		of, _ := schema["properties"].(map[string]any)
		for name, x := range x {
			property, ok := of[name].(map[string]any)
			if !ok && of != nil {
				return at + "." + name + " is no property"
			}
			if bad := fault(at+"."+name, property, x); bad != "" {
				return bad
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := x[name.(string)]; !ok {
				return at + " lacks " + name.(string)
			}
		}
	}
	if kind, ok := schema["type"].(string); ok && !kinds[kind] {
		return at + " is no " + kind
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(one any) bool { return fmt.Sprint(one) == fmt.Sprint(v) }) {
		return at + " is none of the enum"
	}
	return ""
}

// impossible tells whether some schema has no values, such as an array with an enum of strings.
func impossible(schemas map[string]map[string]any) bool {
	for _, schema := range schemas {
		data, _ := json.Marshal(schema) // it comes from JSON
		if _, err := grammar.FromSchema(data); err != nil && strings.Contains(err.Error(), "no value satisfies") {
			return true
		}
	}
	return false
}

// bfclFamilies are families of answers, with texts of their templates. Of schemas for which the
// notation of the last one cannot promise calls, there is an error. In notations whose strings end
// with a tag, a model that knows no language does not come to an end.
var bfclFamilies = []struct{ name, texts string }{
	{"hermes", "<tool_call>"}, {"llama", `"parameters": dictionary`}, {"mistral", "[TOOL_CALLS] [ARGS]"}, {"mistral-v3", "[TOOL_CALLS]"},
	{"lfm2", "<|tool_list_start|>"},
}

// bfclFamily runs one family alone.
var bfclFamily = flag.String("family", "", "`name` of a family for TestBFCL (default all)")

// TestBFCL: the answer to every case of the Berkeley Function Calling Leaderboard that must call a
// function does, with arguments that satisfy its schema, also of a model that knows no language, in
// the notations of several families.
func TestBFCL(t *testing.T) {
	files := []string{filepath.Join("testdata", "bfcl.jsonl")}
	if *bfclDir != "" {
		files, _ = filepath.Glob(filepath.Join(*bfclDir, "BFCL_v4_*.json")) // the pattern has no error
	}
	cases := bfclCases(t, files)
	if len(cases) < 10 {
		t.Errorf("%d cases", len(cases))
	}
	for _, family := range bfclFamilies {
		if *bfclFamily == "" || *bfclFamily == family.name {
			t.Run(family.name, func(t *testing.T) { testBFCL(t, cases, family.texts) })
		}
	}
}

func testBFCL(t *testing.T, cases []bfclCase, texts string) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.Set("tokenizer.chat_template", "{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{{ messages[0].content }}{# </think> "+texts+" #}")
	f, err := gguf.New(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := decoder.New(f, decoder.Options{Exec: kernel.Exec{Threads: 1}, Context: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	settings := fixed()
	settings.CacheBytes, settings.BodyBytes = 1<<28, 1<<22
	srv := serverOf(t, settings, NewModel(toolModel, made{m}, "tools"))
	good, calls, none, refused, long := 0, 0, 0, 0, 0
	for _, c := range cases {
		body, schemas := c.request()
		if impossible(schemas) {
			none++
			continue
		}
		w := post(srv, "/v1/chat/completions", body)
		if w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "a schema that a grammar can have") {
			refused++
			continue
		}
		got, bad := askedOf(t, w), ""
		if got.reason == "length" { // the model has no end, and its context has one
			long++
			continue
		}
		if got.reason != "tool_calls" || got.content != "" || len(got.calls) == 0 {
			bad = fmt.Sprintf("%+.300v", got)
		}
		for _, call := range got.calls {
			var v any
			if err := json.Unmarshal([]byte(call.Function.Arguments), &v); err != nil {
				bad = err.Error()
			} else if schema := schemas[call.Function.Name]; schema == nil {
				bad = "no function is " + call.Function.Name
			} else if x := fault("arguments", schema, v); x != "" {
				bad = x
			}
		}
		if calls += len(got.calls); bad == "" {
			good++
		} else {
			t.Errorf("%s: %s", c.ID, bad)
		}
	}
	t.Logf("%d of %d answers are valid, with %d calls; %d more do not end within the context, %d cases have a schema that no value satisfies, %d one that the notation cannot promise",
		good, len(cases)-none-refused-long, calls, long, none, refused)
	if good == 0 || good < 10*long {
		t.Error("too few answers have a call")
	}
}
