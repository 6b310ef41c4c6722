package answer

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
)

// anyObject is the schema of all objects.
const anyObject = `{"type": "object"}`

// keeps reports why no grammar promises the calls of a tool.
func (f *Format) keeps(t *chattemplate.Tool) error {
	text, err := f.text(&Asked{Tools: []chattemplate.Tool{*t}, Required: true})
	if err == nil {
		_, err = grammar.Parse(text)
	}
	return err
}

// loosened returns the schema of a tool without what no grammar can keep. The other properties stay
// as they are, and those that are required can be written. room is how many bytes may still be
// tried.
func (f *Format) loosened(t *chattemplate.Tool, room *int) json.RawMessage {
	m, err := membersOf(schemaOf(t))
	if err != nil {
		return json.RawMessage(anyObject)
	}
	l := loosener{f, chattemplate.Tool{Name: t.Name}, m, room}
	m.list = l.list(m.list, 0)
	l.tool.Parameters = m.schema()
	if f.keeps(&l.tool) != nil {
		return json.RawMessage(anyObject)
	}
	return l.tool.Parameters
}

// A loosener leaves out of the parts of a tool's schema what no grammar can keep.
type loosener struct {
	f    *Format
	tool chattemplate.Tool // to try
	m    members           // with the definitions
	room *int
}

// keeps tells whether a grammar can keep the schema of a value.
func (l *loosener) keeps(schema json.RawMessage) bool {
	one := members{list: []argument{{name: "a", schema: schema}}}
	if bytes.Contains(schema, []byte(`"$ref"`)) {
		one.Defs, one.Definitions = l.m.Defs, l.m.Definitions
	}
	l.tool.Parameters = one.schema()
	if *l.room -= len(l.tool.Parameters) + tryCost; *l.room < 0 {
		return false
	}
	return l.f.keeps(&l.tool) == nil
}

// tryCost is the work of trying a schema beside its bytes, in bytes.
const tryCost = 2048

// plainTypes are schemas that every notation has.
var plainTypes = []string{"string", "integer", "number", "boolean", "null", "array", "object"}

// mostLoose is how deep values are looked into: each level is tried as a whole.
const mostLoose = 4

// list loosens properties.
func (l *loosener) list(list []argument, depth int) []argument {
	for i := range list {
		list[i].schema = l.value(list[i].schema, depth+1)
	}
	return list
}

// value loosens the schema of a value: no more than it must, down to any value.
func (l *loosener) value(schema json.RawMessage, depth int) json.RawMessage {
	k := kindOf(schema)
	parts := map[string]any{"type": k.Type}
	tries := []json.RawMessage{schema}
	switch {
	case schema == nil:
		tries = nil
	case len(k.Enum) > 0:
		tries = append(tries, encoded(map[string]any{"enum": k.Enum}))
	case depth < mostLoose && k.Properties != nil && k.Type == "object":
		if m, err := membersOf(schema); err == nil && !l.keeps(schema) {
			tries = append(tries, (&members{list: l.list(m.list, depth)}).schema())
		}
	case depth < mostLoose && k.Items != nil && k.Type == "array":
		if !l.keeps(schema) {
			parts["items"] = l.value(k.Items, depth+1)
			tries = append(tries, encoded(parts))
			delete(parts, "items")
		}
	}
	for _, try := range tries {
		if l.keeps(try) {
			return try
		}
	}
	if name, _ := k.Type.(string); slices.Contains(plainTypes, name) {
		return encoded(parts)
	}
	return json.RawMessage("{}")
}

// encoded returns JSON.
func encoded(of any) json.RawMessage {
	data, _ := json.Marshal(of) // it is made of JSON
	return data
}

// schema returns the schema of an object with some members.
func (m *members) schema() json.RawMessage {
	b := []byte(`{"type": "object", "properties": {`)
	required := []string{}
	for i, a := range m.list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(append(b, textOf(a.name)...), ": "...), a.schema...)
		if a.required {
			required = append(required, a.name)
		}
	}
	b = append(append(b, `}, "required": `...), encoded(required)...)
	if m.Defs != nil {
		b = append(append(b, `, "$defs": `...), m.Defs...)
	}
	if m.Definitions != nil {
		b = append(append(b, `, "definitions": `...), m.Definitions...)
	}
	return append(b, '}')
}
