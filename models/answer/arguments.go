package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
)

// An argument is a property of a tool's schema.
type argument struct {
	name     string
	schema   json.RawMessage // with the definitions of the whole schema
	required bool
}

// A kind is what notations without quotes need to know of a schema.
type kind struct {
	Type       any               `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	Items      json.RawMessage   `json:"items"`
	Properties json.RawMessage   `json:"properties"`
	Additional json.RawMessage   `json:"additionalProperties"`
}

// kindOf returns the kind of a schema.
func kindOf(schema json.RawMessage) (k kind) {
	_ = json.Unmarshal(schema, &k) // what is no object says nothing
	return k
}

// text tells whether all values are strings.
func (k *kind) text() bool {
	if k.Const != nil {
		k.Enum = append(k.Enum, k.Const)
	}
	if len(k.Enum) > 0 {
		return !slices.ContainsFunc(k.Enum, func(v json.RawMessage) bool { return len(v) == 0 || v[0] != '"' })
	}
	return k.Type == "string"
}

// annotations are the keywords that limit nothing, and those that notations read.
var annotations = []string{"type", "enum", "const", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}

// only reports a keyword of a schema that is none of some, as a notation that writes no JSON cannot
// keep it.
func only(at string, schema json.RawMessage, and ...string) error {
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(schema, &keys) // true has none
	for _, key := range sortedKeys(keys) {
		if !slices.Contains(annotations, key) && !slices.Contains(and, key) {
			return fmt.Errorf("%s has %q, which calls of this model's form cannot promise", at, key)
		}
	}
	return nil
}

func sortedKeys(m map[string]json.RawMessage) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// argumentsOf returns the properties of a tool's schema in their order.
func (g *rules) argumentsOf(t *chattemplate.Tool) ([]argument, error) {
	return g.propertiesOf(t.Name, schemaOf(t))
}

// propertiesOf returns the properties of an object's schema in their order, with the definitions
// that they refer to.
func (g *rules) propertiesOf(at string, schema json.RawMessage) ([]argument, error) {
	m, err := membersOf(schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if err := only(at, schema, "properties", "required", "additionalProperties", "$defs", "definitions", "$schema", "$id"); err != nil {
		return nil, err
	}
	for i := range m.list {
		a := &m.list[i]
		if a.schema == nil {
			return nil, fmt.Errorf("%s: %q is required and no property", at, a.name)
		}
		if len(m.Defs)+len(m.Definitions) == 0 || !bytes.Contains(a.schema, []byte(`"$ref"`)) {
			continue
		}
		if g.copied += len(m.Defs) + len(m.Definitions); g.copied > mostText {
			return nil, errCopies
		}
		a.schema = withDefinitions(a.schema, m.Defs, m.Definitions)
	}
	return m.list, nil
}

// members are the properties of an object's schema in their order, and what they may refer to. One
// that is required and no property has no schema.
type members struct {
	list        []argument
	Defs        json.RawMessage `json:"$defs"`
	Definitions json.RawMessage `json:"definitions"`
}

// membersOf returns the members of a schema.
func membersOf(schema json.RawMessage) (m members, err error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := errors.Join(json.Unmarshal(schema, &s), json.Unmarshal(schema, &m)); err != nil {
		return m, err
	}
	at := map[string]int{}
	if s.Properties != nil {
		d := json.NewDecoder(bytes.NewReader(s.Properties))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return m, errors.New("properties are no object")
		}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return m, err
			}
			a := argument{name: key.(string)}
			if err := d.Decode(&a.schema); err != nil {
				return m, err
			}
			if i, twice := at[a.name]; twice { // of which the last one counts
				m.list[i] = a
				continue
			}
			at[a.name] = len(m.list)
			m.list = append(m.list, a)
		}
	}
	for _, name := range s.Required {
		i, ok := at[name]
		if !ok {
			i, at[name] = len(m.list), len(m.list)
			m.list = append(m.list, argument{name: name})
		}
		m.list[i].required = true
	}
	return m, nil
}

// withDefinitions returns a schema beside definitions that it may refer to.
func withDefinitions(schema, defs, definitions json.RawMessage) json.RawMessage {
	all := map[string]json.RawMessage{"allOf": slices.Concat([]byte("["), schema, []byte("]"))}
	if defs != nil {
		all["$defs"] = defs
	}
	if definitions != nil {
		all["definitions"] = definitions
	}
	data, _ := json.Marshal(all) // of valid JSON there is no error
	return data
}

// closed returns a schema whose objects have no other members than those it names, where it does
// not say: a call with further arguments is none that somebody wants. What is combined by other
// keywords stays as it is.
func closed(schema json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return schema
	}
	shut(tree)
	data, _ := json.Marshal(tree) // of valid JSON there is no error
	return data
}

// shut closes the objects of a schema.
func shut(schema any) {
	keys, ok := schema.(map[string]any)
	if !ok {
		return
	}
	for key := range keys {
		if !slices.Contains(annotations, key) && !slices.Contains(plainKeys, key) {
			return
		}
	}
	shut(keys["items"])
	of, ok := keys["properties"].(map[string]any)
	for _, one := range of {
		shut(one)
	}
	if _, says := keys["additionalProperties"]; ok && !says {
		keys["additionalProperties"] = false
	}
}

// plainKeys are the keywords beside which members that are not named may be left out, and with
// which a schema stays one that values can satisfy.
var plainKeys = []string{
	"properties", "required", "additionalProperties", "items", "$defs", "definitions", "$schema", "$id", "format", "pattern", "minLength", "maxLength",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "nullable", "optional",
}

// joined returns the grammar of arguments in their order; arguments that are not required may be
// missing. Of returns the grammar of an argument.
func (g *rules) joined(list []argument, comma string, of func(a argument) (string, error)) (string, error) {
	slices.SortStableFunc(list, func(a, b argument) int { // so that there is something before the first comma
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	rest, first := `""`, `""` // what follows the arguments from one on, and what begins there
	for _, a := range slices.Backward(list) {
		text, err := of(a)
		if err != nil {
			return "", err
		}
		one := g.add(text)
		if a.required {
			first = g.add(one + " " + rest)
			rest = g.add(quoted(comma) + " " + one + " " + rest)
		} else {
			first = g.add(one + " " + rest + " | " + first)
			rest = g.add("(" + quoted(comma) + " " + one + ")? " + rest)
		}
	}
	return first, nil
}

// Whole returns the arguments of a call as an object. A call that breaks off keeps the values that
// are whole, as clients read what a stream has brought them.
func Whole(arguments string) json.RawMessage {
	if !strings.HasPrefix(arguments, "{") {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	var ends []byte // of what is open behind the last whole value
	at, key := 0, false
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber() // a number may be beyond float64
	for {
		t, err := d.Token()
		_, number := t.(json.Number)
		if err != nil || at > 0 && len(ends) == 0 || number && int(d.InputOffset()) == len(arguments) { // which may go on
			slices.Reverse(ends)
			return json.RawMessage(arguments[:at] + string(ends))
		}
		if _, text := t.(string); text && key {
			key = false
			continue
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			ends = append(ends, byte(t.(json.Delim))+2) // as in ASCII
		case json.Delim('}'), json.Delim(']'):
			ends = ends[:len(ends)-1]
		}
		at, key = int(d.InputOffset()), len(ends) > 0 && ends[len(ends)-1] == '}'
	}
}
