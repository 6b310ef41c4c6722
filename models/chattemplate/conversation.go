package chattemplate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/internal/jinja"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Conversation is what a prompt is written from.
type Conversation struct {
	Messages []Message
	Tools    []Tool // that the model may call

	// Documents are what the model may quote, a JSON array of objects, most often with a title and
	// a text. nil means none.
	Documents json.RawMessage

	// Variables are further variables, such as enable_thinking. They are nil, bool, int, float64,
	// string or json.RawMessage. Their strings count as strings of messages do: special tokens in
	// them are text. A template that does not read them writes what it writes without.
	Variables map[string]any

	// Date is the day that the template takes for today. The zero value means the date of the
	// template's [Options].
	Date Date
}

// Message is a message of a conversation.
type Message struct {
	Role    string `json:"role"` // "system", "user", "assistant" or "tool" in most models
	Content string `json:"content"`

	Name      string     `json:"name,omitempty"`              // of who speaks, or of the tool that answers
	Reasoning string     `json:"reasoning_content,omitempty"` // what an assistant has thought before
	Calls     []ToolCall `json:"tool_calls,omitempty"`        // of tools, by an assistant
	CallID    string     `json:"tool_call_id,omitempty"`      // of the call that a tool answers

	// Fields are what a template can ask for besides, a JSON object. What it has is in the place of
	// the others. nil means none.
	Fields json.RawMessage `json:"fields,omitempty"`
}

// A ToolCall is a call of a tool.
type ToolCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// A Tool is a function that a model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema of an object; nil is one without properties

	// Strict says that arguments must satisfy the schema. Templates do not see it.
	Strict bool `json:"strict,omitempty"`
}

// fixed are the variables that every conversation has.
var fixed = []string{"messages", "add_generation_prompt", "bos_token", "eos_token", "tools", "documents", "strftime_now"}

// ReadsTools tells whether the template can ask for tools. One that cannot writes nothing of them.
func (t *Template) ReadsTools() bool { return t.parsed.Names("tools") }

// ReadsDocuments tells whether the template can ask for documents. One that cannot writes nothing
// of them.
func (t *Template) ReadsDocuments() bool { return t.parsed.Names("documents") }

// Source returns the text of the template.
func (t *Template) Source() string { return t.source }

// Write returns the text for a conversation in parts, as [Template.Parts] does. Arguments of calls
// are mappings, or if the template cannot write those, their JSON.
//
// Errors come from Parts, or are of the kind [kernel.ErrArgument] about a part of the conversation.
func (t *Template) Write(ctx context.Context, c *Conversation, prompt bool) ([]tokenizer.Part, error) {
	parts, err := t.write(ctx, c, prompt, false)
	called := slices.ContainsFunc(c.Messages, func(m Message) bool { return len(m.Calls) > 0 })
	if called && errors.Is(err, ErrRender) {
		if again, failed := t.write(ctx, c, prompt, true); failed == nil {
			return again, nil
		}
	}
	return parts, err
}

// write is Write with arguments as mappings, or as texts.
func (t *Template) write(ctx context.Context, c *Conversation, prompt, texts bool) ([]tokenizer.Part, error) {
	variables, work, err := t.variables(c, prompt, texts)
	if err != nil {
		return nil, err
	}
	text, err := t.parsed.Render(ctx, variables, work)
	if err != nil {
		return nil, failed(ctx, err)
	}
	parts := []tokenizer.Part{}
	for text, outside := range text.Parts() {
		parts = append(parts, tokenizer.Part{Text: text, Special: !outside})
	}
	return parts, nil
}

// A reader makes values of package jinja of a conversation, and counts the work that they may be.
type reader struct {
	work  int64
	texts bool // arguments are texts
}

// variables returns the variables of a template, and the work it may do.
func (t *Template) variables(c *Conversation, prompt, texts bool) (variables map[string]any, work int64, err error) {
	r := reader{baseWork, texts}
	today := c.Date
	if today == (Date{}) {
		today = t.opts.Date
	}
	messages := make([]any, len(c.Messages))
	for i := range c.Messages {
		if messages[i], err = r.message(&c.Messages[i], fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, 0, err
		}
	}
	variables = map[string]any{
		"messages":              jinja.NewList(messages...),
		"add_generation_prompt": prompt,
		"bos_token":             jinja.Inside(t.opts.BOS),
		"eos_token":             jinja.Inside(t.opts.EOS),
		"tools":                 nil,
		"documents":             nil,
		"strftime_now":          &jinja.Function{Signature: "strftime_now(format)", Call: strftimeNow(today)},
	}
	for name, v := range t.opts.Variables {
		if variables[name], err = r.variable(name, v); err != nil {
			return nil, 0, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) { // in order, for the same error every time
		v := c.Variables[name]
		if slices.Contains(fixed, name) {
			return nil, 0, badVariable(name, "one that every conversation has", anotherName)
		}
		if text, ok := v.(string); ok {
			v = jinja.Outside(text)
			r.charge(len(text))
		} else if v, err = r.variable(name, v); err != nil {
			return nil, 0, err
		}
		variables[name] = v
	}
	if len(c.Tools) > 0 {
		tools := make([]any, len(c.Tools))
		for i := range c.Tools {
			if tools[i], err = r.tool(&c.Tools[i], fmt.Sprintf("tools[%d]", i)); err != nil {
				return nil, 0, err
			}
		}
		variables["tools"] = jinja.NewList(tools...)
	}
	if c.Documents != nil {
		if variables["documents"], err = r.variable("documents", c.Documents); err != nil {
			return nil, 0, err
		}
	}
	return variables, r.work, nil
}

// charge lets the template work for so many bytes.
func (r *reader) charge(bytes int) { r.work += byteWork * int64(bytes) }

// message returns a message at a place.
func (r *reader) message(m *Message, at string) (*jinja.Dict, error) {
	r.charge(len(m.Role) + len(m.Content) + 64)
	d := jinja.NewDict()
	d.Set("role", jinja.Outside(m.Role))
	d.Set("content", jinja.Outside(m.Content))
	// Templates of gpt-oss read thinking, and most others reasoning_content.
	for _, f := range [...]struct{ key, text string }{{"name", m.Name}, {"reasoning_content", m.Reasoning}, {"thinking", m.Reasoning}, {"tool_call_id", m.CallID}} {
		if f.text != "" {
			r.charge(len(f.text))
			d.Set(f.key, jinja.Outside(f.text))
		}
	}
	if len(m.Calls) > 0 {
		calls := make([]any, len(m.Calls))
		for i := range m.Calls {
			call, err := r.call(&m.Calls[i], fmt.Sprintf("%s.Calls[%d]", at, i))
			if err != nil {
				return nil, err
			}
			calls[i] = call
		}
		d.Set("tool_calls", jinja.NewList(calls...))
	}
	if m.Fields == nil {
		return d, nil
	}
	further, err := r.object(m.Fields, at+".Fields")
	if err != nil {
		return nil, err
	}
	for key, v := range further.All() {
		d.Set(key, v)
	}
	return d, nil
}

// call returns a call at a place, in OpenAI's form.
func (r *reader) call(c *ToolCall, at string) (any, error) {
	r.charge(len(c.ID) + len(c.Name) + 64)
	arguments, err := r.object(c.Arguments, at+".Arguments")
	if err != nil {
		return nil, err
	}
	f := jinja.NewDict()
	f.Set("name", jinja.Outside(c.Name))
	if f.Set("arguments", arguments); r.texts {
		f.Set("arguments", jinja.Outside(jinja.ToJSON(arguments)))
	}
	d := jinja.NewDict()
	if c.ID != "" {
		d.Set("id", jinja.Outside(c.ID))
	}
	d.Set("type", jinja.Outside("function"))
	d.Set("function", f)
	return d, nil
}

// noParameters is the schema of a tool that has none.
const noParameters = `{"type": "object", "properties": {}}`

// tool returns a tool at a place, in OpenAI's form.
func (r *reader) tool(t *Tool, at string) (any, error) {
	r.charge(len(t.Name) + len(t.Description) + 128)
	schema := t.Parameters
	if schema == nil {
		schema = json.RawMessage(noParameters)
	}
	parameters, err := r.object(schema, at+".Parameters")
	if err != nil {
		return nil, err
	}
	f := jinja.NewDict()
	if f.Set("name", jinja.Outside(t.Name)); t.Description != "" {
		f.Set("description", jinja.Outside(t.Description))
	}
	f.Set("parameters", parameters)
	d := jinja.NewDict()
	d.Set("type", jinja.Outside("function"))
	d.Set("function", f)
	return d, nil
}

// object returns a JSON object at a place.
func (r *reader) object(data json.RawMessage, at string) (*jinja.Dict, error) {
	r.charge(len(data))
	v, err := jinja.FromJSON(data)
	if err != nil {
		return nil, badVariable(at, err.Error(), "a JSON object")
	}
	d, ok := v.(*jinja.Dict)
	if !ok {
		return nil, badVariable(at, "JSON that is no object", "a JSON object")
	}
	return d, nil
}

// variable returns a variable as package jinja has it.
func (r *reader) variable(name string, v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, float64:
		return v, nil
	case int:
		return int64(v), nil
	case string:
		return jinja.Inside(v), nil
	case json.RawMessage:
		r.charge(len(v))
		made, err := jinja.FromJSON(v)
		if err != nil {
			return nil, badVariable(name, err.Error(), types)
		}
		return made, nil
	}
	return nil, badVariable(name, fmt.Sprintf("%T", v), types)
}

// VariablesJSON returns [Conversation.Variables] as JSON of which [Template.Write] makes the same
// text. The error is a [*kernel.Error].
func VariablesJSON(variables map[string]any) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for name, v := range variables {
		if _, err := new(reader).variable(name, v); err != nil {
			return nil, err
		}
		f, isFloat := v.(float64)
		if isFloat && (math.IsInf(f, 0) || math.IsNaN(f)) {
			return nil, badVariable(name, strconv.FormatFloat(f, 'g', -1, 64), "a number of JSON")
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, badVariable(name, err.Error(), types)
		}
		if isFloat && !strings.ContainsAny(string(data), ".e") { // which would be an integer
			data = append(data, ".0"...)
		}
		all[name] = data
	}
	return all, nil
}
