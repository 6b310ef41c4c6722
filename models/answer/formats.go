package answer

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Format is how the models of a family write an answer.
type Format struct {
	Name string

	has    [][]string // texts of the family's templates: of each list one
	begins []string   // what begins a call; the first is what a grammar writes. "" is a call that begins the content
	end    string     // of a call; a text may end without it
	before string     // all calls, and after them, where a grammar writes them
	after  string
	gap    string   // between thinking and a call or the content, where a grammar writes it
	final  string   // before the content, where a grammar writes it
	drops  []string // what is no part of the content
	tokens []string // further ones that may be special
	notation

	think tags
}

// tags are around thinking.
type tags struct{ begin, end string }

// thoughts are the tags of templates, in the order in which they are looked for by their ends.
var thoughts = []tags{
	{"<|channel>thought\n", "<channel|>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"<think>", "</think>"},
}

// formats are the families, of which the first fits that a template has all texts of.
var formats = []Format{
	{Name: "harmony", has: [][]string{{"<|channel|>"}, {"<|message|>"}},
		begins: []string{"<|channel|>commentary to=functions.", "<|channel|>analysis to=functions.", "<|start|>assistant to=functions.", " to=functions."},
		gap:    "<|start|>assistant", final: "<|channel|>final<|message|>",
		drops:    []string{"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>", "<|end|>", "<|call|>", "<|return|>"},
		tokens:   []string{"<|channel|>", "<|message|>", "<|constrain|>", "<|start|>"},
		notation: &named{middle: " <|constrain|>json<|message|>", last: "<|message|>"}, think: tags{"<|channel|>analysis<|message|>", "<|end|>"}},
	{Name: "deepseek-v3", has: [][]string{{"<｜tool▁call▁begin｜>"}, {"```json"}}, begins: []string{"<｜tool▁call▁begin｜>"}, end: "<｜tool▁call▁end｜>",
		before: "<｜tool▁calls▁begin｜>", after: "<｜tool▁calls▁end｜>", drops: []string{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
		tokens: []string{"<｜tool▁sep｜>"}, notation: &named{first: "function<｜tool▁sep｜>", middle: "\n```json\n", last: "```json\n", post: "\n```"}},
	{Name: "deepseek", has: [][]string{{"<｜tool▁call▁begin｜>"}}, begins: []string{"<｜tool▁call▁begin｜>"}, end: "<｜tool▁call▁end｜>",
		before: "<｜tool▁calls▁begin｜>", after: "<｜tool▁calls▁end｜>", drops: []string{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
		tokens: []string{"<｜tool▁sep｜>"}, notation: &named{middle: "<｜tool▁sep｜>", last: "<｜tool▁sep｜>"}},
	{Name: "kimi", has: [][]string{{"<|tool_call_argument_begin|>"}}, begins: []string{"<|tool_call_begin|>"}, end: "<|tool_call_end|>",
		before: "<|tool_calls_section_begin|>", after: "<|tool_calls_section_end|>", drops: []string{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
		tokens: []string{"<|tool_call_argument_begin|>"}, notation: &named{first: "functions.", middle: "<|tool_call_argument_begin|>", last: "<|tool_call_argument_begin|>", id: true}},
	{Name: "mistral", has: [][]string{{"[TOOL_CALLS]"}, {"[ARGS]"}}, begins: []string{"[TOOL_CALLS]"}, tokens: []string{"[ARGS]", "[CALL_ID]"},
		notation: &named{middle: "[ARGS]", last: "[ARGS]"}},
	{Name: "mistral-v3", has: [][]string{{"[TOOL_CALLS]"}}, begins: []string{"[TOOL_CALLS]"}, notation: &object{list: true, lead: " "}},
	{Name: "gemma4", has: [][]string{{"<|tool_call>"}}, begins: []string{"<|tool_call>"}, end: "<tool_call|>", tokens: []string{`<|"|>`},
		notation: &braced{quote: `<|"|>`}},
	{Name: "functiongemma", has: [][]string{{"<start_function_call>"}}, begins: []string{"<start_function_call>"}, end: "<end_function_call>",
		tokens: []string{"<escape>"}, notation: &braced{quote: "<escape>"}},
	{Name: "lfm2", has: [][]string{{"<|tool_list_start|>", "<|tool_call_start|>"}}, begins: []string{"<|tool_call_start|>"}, end: "<|tool_call_end|>", notation: &pythonic{}},
	{Name: "phi", has: [][]string{{"<|tool|>", "<|/tool_call|>"}}, begins: []string{"<|tool_call|>"}, end: "<|/tool_call|>", notation: &object{list: true}},
	{Name: "granite", has: [][]string{{"<|tool_call|>"}}, begins: []string{"<|tool_call|>"}, notation: &object{list: true}},
	{Name: "qwen3-coder", has: [][]string{{"<tool_call>"}, {"<function="}}, begins: []string{"<tool_call>"}, end: "</tool_call>",
		notation: &tagged{head: "\n<function=", named: ">\n", key: "<parameter=", value: []string{">"}, end: "</parameter>", foot: "</function>\n", line: true}},
	{Name: "glm", has: [][]string{{"<tool_call>"}, {"<arg_key>"}}, begins: []string{"<tool_call>"}, tokens: []string{"</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
		notation: &tagged{named: "\n", key: "<arg_key>", value: []string{"</arg_key>", "<arg_value>"}, end: "</arg_value>", foot: "</tool_call>"}}, // without which more arguments may follow
	{Name: "minimax", has: [][]string{{"<minimax:tool_call>"}}, begins: []string{"<minimax:tool_call>"}, end: "</minimax:tool_call>",
		notation: &tagged{head: "\n<invoke name=\"", named: "\">\n", key: "<parameter name=\"", value: []string{"\">"}, end: "</parameter>", foot: "</invoke>\n"}},
	{Name: "hermes", has: [][]string{{"<tool_call>"}}, begins: []string{"<tool_call>"}, end: "</tool_call>", notation: &object{lead: "\n", trail: "\n"}},
	{Name: "llama-pythonic", has: [][]string{{"func_name1(", "[func_name("}}, begins: []string{""}, tokens: []string{"<|python_start|>", "<|python_end|>"},
		drops: []string{"<|python_start|>", "<|python_end|>"}, notation: &pythonic{}},
	{Name: "llama", has: [][]string{{`"parameters": dictionary`}}, begins: []string{""}, tokens: []string{"<|python_tag|>"}, drops: []string{"<|python_tag|>"},
		notation: &object{arguments: "parameters"}},
	{Name: "json", begins: []string{""}, notation: &object{}},
}

// A notation is how a call is written between what begins and what ends it.
type notation interface {
	// read reads calls. The cursor says whether there are any, or whether more text could be some.
	read(c *cursor, a *Asked) []chattemplate.ToolCall
	// rule returns the grammar of a call, and of some of them where those are a list.
	rule(g *rules, t *chattemplate.Tool) (string, error)
	several(call string) string
	// starts are what calls without a beginning begin with, which other content then does not.
	starts(a *Asked) []string
}

// Of returns the format of a template's answers. There is always one: what no template says is
// JSON.
func Of(t *chattemplate.Template) *Format {
	source := t.Source()
	in := func(text string) bool { return strings.Contains(source, text) }
	at := slices.IndexFunc(formats, func(f Format) bool {
		return !slices.ContainsFunc(f.has, func(texts []string) bool { return !slices.ContainsFunc(texts, in) })
	})
	f := formats[at]
	if f.think == (tags{}) {
		if at := slices.IndexFunc(thoughts, func(t tags) bool { return in(t.end) }); at >= 0 {
			f.think = thoughts[at]
		}
	}
	return &f
}

// Parses tells whether answers need a parser: others are their text.
func (f *Format) Parses(a Asked) bool { return len(a.Tools) > 0 || f.think.end != "" || f.final != "" }

// Thinks returns what begins and ends thinking, "" for models that do not think apart from their
// content.
func (f *Format) Thinks() (begin, end string) { return f.think.begin, f.think.end }

// Opens tells whether what a template has written ends within thinking.
func (f *Format) Opens(parts []tokenizer.Part) bool {
	if f.think.end == "" || len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return last.Special && strings.HasSuffix(strings.TrimSpace(last.Text), strings.TrimSpace(f.think.begin))
}

// Markers returns the special tokens that the format needs in the text, except a model's Stop.
func (f *Format) Markers(t *tokenizer.Tokenizer) []int32 {
	var ids []int32
	for _, text := range slices.Concat(f.begins, []string{f.end, f.before, f.after, f.think.begin, f.think.end}, f.drops, f.tokens) {
		if id, ok := t.ID(strings.TrimSpace(text)); ok && t.Special(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
