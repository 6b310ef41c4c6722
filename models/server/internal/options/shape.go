package options

import (
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// Limits has the fields that say what a text must be. A request has at most one: OpenAI's field,
// llama.cpp's fields, or vLLM's, old ones and structured_outputs.
type Limits struct {
	ResponseFormat *Format         `json:"response_format"`
	Grammar        string          `json:"grammar"` // in llama.cpp's form
	JSONSchema     json.RawMessage `json:"json_schema"`
	GuidedJSON     json.RawMessage `json:"guided_json"`
	GuidedGrammar  string          `json:"guided_grammar"`
	GuidedChoice   []string        `json:"guided_choice"`
	Structured     *Structured     `json:"structured_outputs"`
}

// A Format is response_format.
type Format struct {
	Type       string          `json:"type"` // text, json_object or json_schema
	JSONSchema *Schema         `json:"json_schema"`
	Schema     json.RawMessage `json:"schema"` // where llama.cpp's server has it
}

// A Schema is what response_format has of json_schema.
type Schema struct {
	Schema json.RawMessage `json:"schema"`
}

// A Structured is structured_outputs, of which one field may be there.
type Structured struct {
	JSON    json.RawMessage `json:"json"`
	Object  bool            `json:"json_object"`
	Grammar string          `json:"grammar"`
	Choice  []string        `json:"choice"`
}

// Fields implements [fields.Tabled].
func (*Format) Fields() fields.Table { return fields.Format }

// Fields implements [fields.Tabled].
func (*Schema) Fields() fields.Table { return fields.Schema }

// Fields implements [fields.Tabled].
func (*Structured) Fields() fields.Table { return fields.Structured }

// anyObject is the schema of json_object.
const anyObject = `{"type": "object", "additionalProperties": true}`

// A Shape is what a field asks a text to be: JSON of a schema, or a text of a grammar.
type Shape struct {
	Field           string // of the request, as errors name it
	schema, grammar string // either is empty
}

// Shape returns the shape that a field asks for, nil if none does. The error is a [*fields.Error].
func (l *Limits) Shape() (*Shape, error) {
	var all []Shape
	add := func(field, schema, grammar string) {
		if schema != "" || grammar != "" {
			all = append(all, Shape{field, schema, grammar})
		}
	}
	if f := l.ResponseFormat; f != nil {
		schema, err := f.schema()
		if err != nil {
			return nil, err
		}
		add("response_format", schema, "")
	}
	add("grammar", "", l.Grammar)
	add("json_schema", emptyAsNone(l.JSONSchema), "")
	add("guided_json", schemaText(l.GuidedJSON), "")
	add("guided_grammar", "", l.GuidedGrammar)
	add("guided_choice", "", choiceGrammar(l.GuidedChoice))
	if s := l.Structured; s != nil {
		add("structured_outputs", schemaText(s.JSON), "")
		if s.Object {
			add("structured_outputs", anyObject, "")
		}
		add("structured_outputs", "", s.Grammar)
		add("structured_outputs", "", choiceGrammar(s.Choice))
	}
	switch {
	case len(all) == 0:
		return nil, nil
	case len(all) > 1:
		return nil, fields.Errorf(all[1].Field, "%s: got it beside %s, want one of what a text must be", all[1].Field, all[0].Field)
	}
	return &all[0], nil
}

// Source returns what the grammar is made of.
func (s *Shape) Source() grammar.Source {
	if s.grammar != "" {
		return grammar.Source{Text: s.grammar}
	}
	return grammar.Source{Text: s.schema, JSON: true}
}

// schema returns the schema of a format, "" for text.
func (f *Format) schema() (string, error) {
	schema := emptyAsNone(f.Schema)
	if f.JSONSchema != nil && schema == "" {
		schema = emptyAsNone(f.JSONSchema.Schema)
	}
	switch {
	case f.Type == "text":
		return "", nil
	case f.Type == "json_schema" && schema == "":
		return "", fields.Errorf("response_format", "response_format.json_schema.schema: got none, want a schema")
	case f.Type != "json_schema" && f.Type != "json_object":
		return "", fields.Errorf("response_format", "response_format: got %.40q, want text, json_object or json_schema", f.Type)
	case schema == "":
		return anyObject, nil
	}
	return schema, nil
}

// emptyAsNone returns the text of a value, "" for null.
func emptyAsNone(data json.RawMessage) string {
	if fields.IsNull(data) {
		return ""
	}
	return string(data)
}

// schemaText returns a schema that is a JSON value, or a text that has one, as vLLM takes both.
func schemaText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return emptyAsNone(data)
}

// choiceGrammar returns the grammar of some texts, "" for none.
func choiceGrammar(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	quote := strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = `"` + quote.Replace(text) + `"`
	}
	return "root ::= " + strings.Join(all, " | ")
}
