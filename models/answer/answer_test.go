package answer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// tools are those that examples call.
var tools = []chattemplate.Tool{
	{Name: "get_weather", Parameters: json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer"}}, "required": ["city"], "additionalProperties": false}`)},
	{Name: "special_function", Parameters: json.RawMessage(`{"type": "object", "properties": {"arg1": {"type": "integer"}, "arg2": {"type": "integer"}}, "required": ["arg1"], "additionalProperties": false}`)},
	{Name: "now"},
	{Name: "set.all", Parameters: json.RawMessage(`{"type": "object", "properties": {"on": {"type": "boolean"}, "names": {"type": "array", "items": {"type": "string"}}, "x": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": false}}, "additionalProperties": false}`)},
}

// formatOf returns the format of a template that has some texts.
func formatOf(t testing.TB, source string) *answer.Format {
	t.Helper()
	template, err := chattemplate.New("{# " + strings.NewReplacer("#}", "", "-#}", "").Replace(source) + " #}{{ tools }}")
	if err != nil {
		t.Fatal(err)
	}
	return answer.Of(template)
}

// The texts of templates by which formats are told. They are what the templates of these models
// have in common.
var templates = map[string]string{
	"harmony": "<|channel|>analysis<|message|>", "deepseek-v3": "<｜tool▁call▁begin｜> ```json </think>", "deepseek": "<｜tool▁call▁begin｜> </think>",
	"kimi": "<|tool_call_argument_begin|>", "mistral": "[TOOL_CALLS] [ARGS] [/THINK]", "mistral-v3": "[TOOL_CALLS]", "gemma4": "<|tool_call> <channel|>",
	"functiongemma": "<start_function_call>", "lfm2": "<|tool_list_start|> </think>", "phi": "<|tool|> <|tool_call|>", "granite": "<|tool_call|>",
	"qwen3-coder": "<tool_call> <function=", "glm": "<tool_call> <arg_key> </think>", "minimax": "<minimax:tool_call> </think>", "hermes": "<tool_call> </think>",
	"llama-pythonic": "[func_name1(params_name1=params_value1", "llama": `"parameters": dictionary of argument name and its value`, "json": "tools",
}

// call is a call as tests write it.
func call(name, arguments string) string { return name + arguments }

// examples are texts of models. The forms come from tests/test-chat.cpp of llama.cpp, the tests of
// tool parsers of vLLM, and the model cards of LFM2, FunctionGemma and Gemma 4.
var examples = []struct {
	format, text, content, reasoning string
	calls                            []string
	open                             bool
}{
	{format: "hermes", text: "Hello, world!\nWhat's up?", content: "Hello, world!\nWhat's up?"},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"special_function\", \"arguments\": {\"arg1\": 1}}\n</tool_call>", calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "hermes", text: "I'm\nsure.\n\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"arguments\": {\"arg1\": 1}, \"name\": \"special_function\"}\n</tool_call>",
		content: "I'm\nsure.", calls: []string{call("now", `{}`), call("special_function", `{"arg1": 1}`)}},
	{format: "hermes", text: "<think>\nI'm\nthinking\n</think>\n\nHello, <world>! ", content: "Hello, <world>! ", reasoning: "I'm\nthinking"},
	{format: "hermes", text: "I'm thinking\n</think>\n\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", reasoning: "I'm thinking", calls: []string{call("now", `{}`)}, open: true},
	{format: "hermes", text: "still <tool_call> thinking", reasoning: "still <tool_call> thinking", open: true},
	{format: "hermes", text: "a <think> b", content: "a <think> b"},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>", content: "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>"},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"now\", \"arguments\": [}}\n</tool_call> x", content: "<tool_call>\n{\"name\": \"now\", \"arguments\": [}}\n</tool_call> x"},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"now\", \"argu", content: "<tool_call>\n{\"name\": \"now\", \"argu"},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_c", calls: []string{call("now", `{}`)}},
	{format: "hermes", text: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_x", content: "</tool_x", calls: []string{call("now", `{}`)}},
	{format: "hermes", text: "<tool_call> <tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"}\\\"]\"}}", content: "<tool_call>", calls: []string{call("now", `{"a": "}\"]"}`)}},
	{format: "qwen3-coder", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\nSão\nPaulo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
		calls: []string{call("get_weather", `{"city": "São\nPaulo", "days": 3}`)}},
	{format: "qwen3-coder", text: "Now: <tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=set.all>\n<parameter=on>\nTrue\n</parameter>\n<parameter=names>\n[\"a\"]\n</parameter>\n</function>\n</tool_call>",
		content: "Now:", calls: []string{call("now", `{}`), call("set.all", `{"on": true, "names": ["a"]}`)}},
	{format: "qwen3-coder", text: "<tool_call>\n<function=special_function>\n<parameter=arg1>\nmany\n</parameter>\n</function>\n</tool_call>",
		content: "<tool_call>\n<function=special_function>\n<parameter=arg1>\nmany\n</parameter>\n</function>\n</tool_call>"},
	{format: "llama", text: `{"name": "special_function", "parameters": {"arg1": 1}}`, calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "llama", text: `<|python_tag|>{"name": "now", "parameters": {}}; {"name": "special_function", "parameters": {"arg1": 1}}`, calls: []string{call("now", `{}`), call("special_function", `{"arg1": 1}`)}},
	{format: "llama", text: `{"temperature": 3, "name": "x"}`, content: `{"temperature": 3, "name": "x"}`},
	{format: "llama", text: `Hello {"name": "now", "parameters": {}}`, content: `Hello {"name": "now", "parameters": {}}`},
	{format: "llama-pythonic", text: `[get_weather(city="Paris", unit='celsius'), now()]`, calls: []string{call("get_weather", `{"city": "Paris", "unit": "celsius"}`), call("now", `{}`)}},
	{format: "lfm2", text: `<|tool_call_start|>[set.all(on=True, names=["a", "b\"\u00e9"], x={"a": None, 'b': -1.5e3})]<|tool_call_end|>`, calls: []string{call("set.all", `{"on": true, "names": ["a", "b\"é"], "x": {"a": null, "b": -1.5e3}}`)}},
	{format: "llama-pythonic", text: `<|python_start|>[set.all(on=True, x={"a": -1.5e3})]<|python_end|>`, calls: []string{call("set.all", `{"on": true, "x": {"a": -1.5e3}}`)}},
	{format: "glm", text: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>\nRome\n</arg_value>\n</tool_call>", calls: []string{call("get_weather", `{"city": "\nRome\n"}`)}},
	{format: "qwen3-coder", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\n\nRome\n\n</parameter>\n</function>\n</tool_call>", calls: []string{call("get_weather", `{"city": "\nRome\n"}`)}},
	{format: "kimi", text: "<|tool_call_begin|>functions.now:12<|tool_call_argument_begin|>{}<|tool_call_end|>", calls: []string{call("now", `{}`)}},
	{format: "llama-pythonic", text: `[1, 2]`, content: `[1, 2]`},
	{format: "llama-pythonic", text: `[now(`, content: `[now(`},
	{format: "lfm2", text: `<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>Checking the weather.`, content: "Checking the weather.", calls: []string{call("get_weather", `{"city": "Paris"}`)}},
	{format: "lfm2", text: `<think>a</think><|tool_call_start|>[now(), now()]<|tool_call_end|>`, reasoning: "a", calls: []string{call("now", `{}`), call("now", `{}`)}},
	{format: "mistral-v3", text: `[TOOL_CALLS] [{"name": "special_function", "arguments": {"arg1": 1}, "id": "123456789"}]`, calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "mistral-v3", text: `[TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]`, calls: []string{call("now", `{}`), call("now", `{}`)}},
	{format: "mistral", text: `[THINK]I'm
thinking[/THINK][TOOL_CALLS]special_function[ARGS]{"arg1": 1}[TOOL_CALLS]now[ARGS]{}`, reasoning: "I'm\nthinking", calls: []string{call("special_function", `{"arg1": 1}`), call("now", `{}`)}},
	{format: "mistral", text: `[TOOL_CALLS]special_function[CALL_ID]123456789[ARGS]{"arg1": 1}`, calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "mistral", text: `[TOOL_CALLS]special_function{"arg1": 1}`, calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "functiongemma", text: `<start_function_call>call:get_weather{city:<escape>Paris, {x}<escape>,days:3}<end_function_call>`, calls: []string{call("get_weather", `{"city": "Paris, {x}", "days": 3}`)}},
	{format: "gemma4", text: `<|channel>thought
hm<channel|><|tool_call>call:set.all{names:[<|"|>a<|"|>,<|"|>"b"<|"|>],on:true,x:{a:-1.5}}<tool_call|><|tool_call>call:now{}<tool_call|>`, reasoning: "hm",
		calls: []string{call("set.all", `{"names": ["a", "\"b\""], "on": true, "x": {"a": -1.5}}`), call("now", `{}`)}},
	{format: "phi", text: `<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]<|/tool_call|>`, calls: []string{call("get_weather", `{"city": "Paris"}`)}},
	{format: "granite", text: `<|tool_call|>[{"name": "special_function", "arguments": {"arg1": 1}}, {"name": "now", "arguments": {}}]`, calls: []string{call("special_function", `{"arg1": 1}`), call("now", `{}`)}},
	{format: "harmony", text: `<|channel|>analysis<|message|>I'm
thinking<|end|><|start|>assistant<|channel|>final<|message|>Hello, world!`, content: "Hello, world!", reasoning: "I'm\nthinking"},
	{format: "harmony", text: `<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.special_function <|constrain|>json<|message|>{"arg1": 1}<|call|>`, reasoning: "hm",
		calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "harmony", text: `<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant to=functions.special_function<|channel|>commentary json<|message|>{"arg1": 1}`, content: "I will look.",
		calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "harmony", text: `<|channel|>analysis to=functions.now <|message|>{}`, calls: []string{call("now", `{}`)}},
	{format: "deepseek-v3", text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>special_function\n```json\n{\"arg1\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		calls: []string{call("special_function", `{"arg1": 1}`), call("now", `{}`)}},
	{format: "deepseek", text: "CoT</think>Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>special_function<｜tool▁sep｜>{\"arg1\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", content: "Look.", reasoning: "CoT",
		calls: []string{call("special_function", `{"arg1": 1}`)}, open: true},
	{format: "kimi", text: "<|tool_calls_section_begin|><|tool_call_begin|>functions.special_function:0<|tool_call_argument_begin|>{\"arg1\": 1}<|tool_call_end|><|tool_calls_section_end|>", calls: []string{call("special_function", `{"arg1": 1}`)}},
	{format: "glm", text: "<think>hm</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Beijing</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", reasoning: "hm",
		calls: []string{call("get_weather", `{"city": "Beijing", "days": 2}`)}},
	{format: "minimax", text: "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Rome</parameter>\n</invoke>\n</minimax:tool_call>", calls: []string{call("get_weather", `{"city": "Rome"}`)}},
	{format: "json", text: `{"name": "now", "arguments": {}}`, calls: []string{call("now", `{}`)}},
	{format: "json", text: "Just\n text ", content: "Just\n text "},
}

// parsed is what a parser gives of a text in parts.
func parsed(p *answer.Parser, parts ...string) (content, reasoning string, calls []string) {
	for i := range len(parts) + 1 {
		var part answer.Part
		if i < len(parts) {
			part = p.Add(parts[i])
		} else {
			part = p.End()
		}
		content, reasoning = content+part.Text, reasoning+part.Reasoning
		for _, c := range part.Calls {
			calls = append(calls, call(c.Name, string(c.Arguments)))
		}
	}
	return content, reasoning, calls
}

// TestExamples: answers of all families are taken apart, wherever their text is cut in two, and
// byte by byte.
func TestExamples(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range examples {
		f := formatOf(t, templates[x.format])
		if seen[x.format] = true; f.Name != x.format {
			t.Fatalf("the template of %s is taken for %s", x.format, f.Name)
		}
		ways := [][]string{strings.Split(x.text, "")}
		var bytes []string
		for i := range len(x.text) {
			ways = append(ways, []string{x.text[:i], x.text[i:]})
			bytes = append(bytes, x.text[i:i+1])
		}
		for _, parts := range append(ways, bytes) {
			content, reasoning, calls := parsed(f.Parser(answer.Asked{Tools: tools, Open: x.open}), parts...)
			if content != x.content || reasoning != x.reasoning || !slices.Equal(calls, x.calls) {
				t.Errorf("%s %q:\ngot  %q, %q, %q\nwant %q, %q, %q", x.format, parts, content, reasoning, calls, x.content, x.reasoning, x.calls)
				break
			}
		}
		// Without tools there are no calls.
		if _, _, calls := parsed(f.Parser(answer.Asked{Open: x.open}), x.text); calls != nil {
			t.Errorf("%s: calls %q without tools", x.format, calls)
		}
		for _, a := range []answer.Asked{{Tools: tools, Open: x.open}, {Tools: tools, Open: x.open, Required: true}} {
			if a.Required && (x.content != "" || len(x.calls) == 0) {
				continue
			}
			if _, err := f.Grammar(a); err != nil {
				t.Errorf("%s: %v", x.format, err)
			}
		}
	}
	for name := range templates {
		if !seen[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

// TestFree: where calls are not required, the grammar has every text without calls, and the texts
// of examples that it writes itself.
func TestFree(t *testing.T) {
	for _, x := range examples {
		f := formatOf(t, templates[x.format])
		g, err := f.Grammar(answer.Asked{Tools: tools, Open: x.open})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := g.Match(x.text); len(x.calls) == 0 && !strings.Contains(x.text, "tool_call") && !strings.Contains(x.text, "[now(") && (!ok || err != nil) {
			t.Errorf("%s does not have %q, %v", x.format, x.text, err)
		}
		for _, text := range []string{"x", "<", "{}", "x\xff<a>"} {
			if x.open {
				text += "</think>"
			}
			if ok, err := g.Match(text); !ok || err != nil {
				t.Errorf("%s does not have %q, %v", x.format, text, err)
			}
		}
	}
}

// TestDeep: deeply nested arguments that the grammar has are read as a call's, in all notations.
func TestDeep(t *testing.T) {
	any := []chattemplate.Tool{{Name: "f", Parameters: json.RawMessage(`{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}`)}}
	const levels = 1500
	deep := strings.Repeat("[", levels) + strings.Repeat("]", levels)
	for name, text := range map[string]string{
		"gemma4": "<|tool_call>call:f{a:" + deep + "}<tool_call|>", "lfm2": "<|tool_call_start|>[f(a=" + deep + ")]<|tool_call_end|>",
		"hermes": "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": " + deep + "}}\n</tool_call>", "mistral": "[TOOL_CALLS]f[ARGS]{\"a\": " + deep + "}",
		"glm": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>" + deep + "</arg_value>\n</tool_call>",
	} {
		f := formatOf(t, templates[name])
		a := answer.Asked{Tools: any, Required: true}
		g, err := f.Grammar(a)
		if err != nil {
			t.Fatal(name, err)
		}
		if ok, err := g.Match(text); !ok || err != nil {
			t.Errorf("%s: the grammar has the text: %v, %v", name, ok, err)
		}
		content, _, calls := parsed(f.Parser(a), text)
		if content != "" || len(calls) != 1 || calls[0] != call("f", `{"a": `+deep+`}`) {
			t.Errorf("%s: %d calls, the content %.60q", name, len(calls), content)
		}
	}
}

// TestWritten: whatever a grammar lets follow where calls are required is calls whose arguments
// satisfy the schemas of their tools.
func TestWritten(t *testing.T) {
	schemas := map[string]*grammar.Grammar{}
	for i := range tools {
		schema := tools[i].Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`)
		}
		g, err := grammar.FromSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		schemas[tools[i].Name] = g
	}
	for name, source := range templates {
		f := formatOf(t, source)
		for seed := range 60 {
			a := answer.Asked{Tools: tools, Required: seed < 40, Single: seed%3 == 0, Open: seed%4 == 1 && strings.Contains(source, "</think>")}
			g, err := f.Grammar(a)
			if err != nil {
				t.Fatal(name, err)
			}
			text := walk(t, g, uint64(seed))
			content, _, calls := parsed(f.Parser(a), strings.Split(text, "")...)
			if a.Required && (content != "" || len(calls) == 0) || a.Single && len(calls) > 1 {
				t.Errorf("%s: %q has the content %q and the calls %q", name, text, content, calls)
			}
			for _, c := range calls {
				tool, arguments, _ := strings.Cut(c, "{")
				if ok, err := schemas[tool].Match("{" + arguments); !ok || err != nil {
					t.Errorf("%s: %q has the call %s, %v", name, text, c, err)
				}
			}
		}
	}
}

// TestAlike: where nothing begins calls, content may be like them. It is calls only if they are
// what was asked for.
func TestAlike(t *testing.T) {
	two := []string{call("now", `{}`), call("now", `{}`)}
	for _, x := range []struct {
		format, text string
		single       bool
		calls        []string
	}{
		{format: "json", text: `{"name": "special_function", "arguments": {"arg1": "x"}}`},
		{format: "json", text: ` {"arguments": {"arg1": 1.5}, "name": "special_function"}`},
		{format: "json", text: ` {"arguments": {"arg1": 1, "arg3": 1}, "name": "special_function"}`},
		{format: "json", text: `{"arguments":{"arg1" :1},"name":"special_function"}`, calls: []string{call("special_function", `{"arg1" :1}`)}},
		{format: "json", text: `{"Name": "now", "Arguments": {}}`},
		{format: "json", text: `{"name": "x", "name": "now", "arguments": {}}`},
		{format: "json", text: `[ {"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]`, calls: two},
		{format: "json", text: `[ {"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]`, single: true},
		{format: "json", text: `[ {"name": "now", "arguments": {}}, {"name": "now", "arguments": {"a": 1}}]`},
		{format: "llama", text: `<|python_tag|>{"parameters": {"arg2": 2}, "name": "special_function"}`},
		{format: "llama", text: `{"name": "now", "parameters": {}}; {"name": "now", "parameters": {}}`, single: true},
		{format: "llama-pythonic", text: ` [special_function(arg1=1, arg1=2)]`},
		{format: "llama-pythonic", text: `[ special_function(arg1="1")]`},
		{format: "llama-pythonic", text: `[ special_function(arg1=1)]`, calls: []string{call("special_function", `{"arg1": 1}`)}},
		{format: "hermes", text: `<tool_call>{"name": "special_function", "arguments": {"arg1": 1, "arg1": {"b": [{}]}}}</tool_call>`},
		{format: "hermes", text: `<tool_call>{"name": "now", "arguments": {}}</tool_call><tool_call>{"name": "now", "arguments": {}}</tool_call>`, single: true, calls: two[:1]},
	} {
		f := formatOf(t, templates[x.format])
		for _, parts := range [][]string{{x.text}, strings.Split(x.text, "")} {
			content, _, calls := parsed(f.Parser(answer.Asked{Tools: tools, Single: x.single}), parts...)
			if !slices.Equal(calls, x.calls) || calls == nil && strings.TrimSpace(content) != strings.TrimPrefix(strings.TrimSpace(x.text), "<|python_tag|>") {
				t.Errorf("%s %q: the calls %q, want %q, and the content %q", x.format, x.text, calls, x.calls, content)
			}
		}
	}
}

// TestRequiredAsWritten: what the grammar of required calls allows is calls, also if an object of
// any members has a key twice.
func TestRequiredAsWritten(t *testing.T) {
	any := []chattemplate.Tool{{Name: "f", Parameters: json.RawMessage(`{"type": "object"}`)}}
	const text = `{"name": "f", "arguments": {"a":1,"a":2}}`
	for format, text := range map[string]string{"hermes": "<tool_call>\n" + text + "\n</tool_call>", "json": text} {
		asked := answer.Asked{Tools: any, Required: true}
		f := formatOf(t, templates[format])
		g, err := f.Grammar(asked)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := g.Match(text); !ok || err != nil {
			t.Fatalf("%s: %v, %v, want a text that the grammar allows", format, ok, err)
		}
		if content, _, calls := parsed(f.Parser(asked), text); !slices.Equal(calls, []string{call("f", `{"a":1,"a":2}`)}) {
			t.Errorf("%s: the calls %q and the content %q", format, calls, content)
		}
	}
}

// TestLongList: calls of a list are read once, however many parts it comes in.
func TestLongList(t *testing.T) {
	for name, text := range map[string][3]string{
		"json":       {"[", `{"name": "now", "arguments": {}}`, "]"},
		"phi":        {"<|tool_call|>[", `{"name": "now", "arguments": {}}`, "]<|/tool_call|>"},
		"lfm2":       {"<|tool_call_start|>[", "now()", "]<|tool_call_end|>"},
		"mistral-v3": {"a [TOOL_CALLS] [", `{"name": "now", "arguments": {}}`, "]"},
	} {
		const n = 200
		p := formatOf(t, templates[name]).Parser(answer.Asked{Tools: tools})
		p.Add(text[0])
		for range n - 1 {
			p.Add(text[1] + ",")
			p.Add(" ")
		}
		most := testing.AllocsPerRun(1, func() { p.Add(" ") })
		if calls := append(p.Add(text[1]+text[2]).Calls, p.End().Calls...); len(calls) != n || most > 20 {
			t.Errorf("%s: %d calls, %v allocations for a part", name, len(calls), most)
		}
	}
}

// TestForm: content has the form that is asked for, behind thinking or beside calls.
func TestForm(t *testing.T) {
	for _, form := range []grammar.Source{{Text: `{"type": "integer"}`, JSON: true}, {Text: "root ::= [0-9]+ # \"\\n\""}} {
		for name, want := range map[string][]string{
			"hermes":  {"12", "<think>\na\n</think>\n\n12", "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"},
			"harmony": {"<|channel|>final<|message|>12", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>12"},
		} {
			f := formatOf(t, templates[name])
			g, err := f.Grammar(answer.Asked{Tools: tools, Form: &form})
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range want {
				if ok, err := g.Match(text); !ok || err != nil {
					t.Errorf("%s: %q, %v", name, text, err)
				}
				alone, err := f.Grammar(answer.Asked{Form: &form})
				if err != nil {
					t.Fatal(err)
				}
				if ok, err := alone.Match(text); ok != (i < 2) || err != nil {
					t.Errorf("%s without tools: %q, %v, %v", name, text, ok, err)
				}
			}
			if ok, err := g.Match("x"); ok || err != nil {
				t.Errorf("%s has x, %v", name, err)
			}
		}
	}
	if g, err := formatOf(t, "<tool_call>").Grammar(answer.Asked{}); g != nil || err != nil {
		t.Errorf("nothing asked for: %v, %v", g, err)
	}
	if _, err := formatOf(t, "<tool_call>").Grammar(answer.Asked{Tools: tools, Form: &grammar.Source{Text: "x"}}); err == nil {
		t.Error("a form that is none is no error")
	}
}

func ExampleFormat_Parser() {
	template, _ := chattemplate.New("{{ tools }}<think></think><tool_call>")
	p := answer.Of(template).Parser(answer.Asked{Tools: []chattemplate.Tool{{Name: "now"}}})
	for _, text := range []string{"<think>Time", "?</think>\nOne moment.", `<tool_call>{"name": "now", "arguments": {}}`, "</tool_call>"} {
		part := p.Add(text)
		fmt.Printf("%q %q %d\n", part.Reasoning, part.Text, len(part.Calls))
	}
	// Output:
	// "Time" "" 0
	// "?" "One moment." 0
	// "" "" 0
	// "" "" 1
}
