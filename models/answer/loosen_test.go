package answer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
)

// TestLoosened: of a tool that is not strict, a grammar leaves out only what it cannot keep, so
// that calls with all required arguments can be written in every notation.
func TestLoosened(t *testing.T) {
	const plain = `{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "at": {"type": "object", "properties": {"on": {"type": "string"}}, "required": ["on"], "additionalProperties": false}}, "required": ["city", "days", "at"], "additionalProperties": false}`
	const odd = `{"type": "object", "minProperties": 0, "properties": {"city": {"type": "string", "minLength": 0}, "days": {"type": "integer"},
		"at": {"type": "object", "properties": {"on": {"type": "string", "maxLength": 999999}}, "required": ["on"]}, "x": {"$ref": "https://example.com/x"}}, "required": ["city", "days", "at"]}`
	const far = `{"type": "object", "properties": {"city": {"type": "string", "pattern": "(?=a)"}, "days": {"type": "integer", "$ref": "https://example.com/x"}, "at": {"$ref": "#/$defs/at"}},
		"required": ["city", "days", "at"], "$defs": {"at": {"type": "object"}}}`
	for name, source := range templates {
		f := formatOf(t, source)
		written, err := f.Grammar(answer.Asked{Tools: []chattemplate.Tool{{Name: "f", Parameters: json.RawMessage(plain)}}, Required: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range []string{odd, far} {
			a := answer.Asked{Tools: []chattemplate.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}}
			g, err := f.Grammar(a)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			found := 0
			for seed := range 20 {
				text := walk(t, written, uint64(seed))
				ok, err := g.Match(text)
				if err != nil {
					t.Fatal(err)
				}
				_, _, calls := parsed(f.Parser(a), text)
				if !ok || len(calls) == 0 {
					t.Errorf("%s: %v of the grammar, %d calls: %q", name, ok, len(calls), text)
				}
				for _, c := range calls {
					if strings.Contains(c, `"city"`) && strings.Contains(c, `"days"`) && strings.Contains(c, `"on"`) {
						found++
					}
				}
			}
			if found == 0 {
				t.Errorf("%s: no call has its arguments", name)
			}
			a.Tools[0].Strict = true
			if _, err := f.Grammar(a); !errors.Is(err, answer.ErrTool) {
				t.Errorf("%s: strict: %v", name, err)
			}
		}
	}
}

// TestLooseTypes: also where there is too much to try, a property is of its type, and can be
// written.
func TestLooseTypes(t *testing.T) {
	var odd, plain []string
	for i := range 400 {
		kind := []string{"string", "integer", "number", "boolean", "null", "array", "object"}[i%7]
		odd = append(odd, fmt.Sprintf(`"p%03d": {"type": %q, "$ref": "https://example.com/x"}`, i, kind))
		plain = append(plain, fmt.Sprintf(`"p%03d"`, i))
	}
	schema := fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s]}`, strings.Join(odd, ", "), strings.Join(plain, ", "))
	begin := map[string]string{"lfm2": "<|tool_call_start|>[f(p000=", "gemma4": "<|tool_call>call:f{p000:<", "qwen3-coder": "<tool_call>\n<function=f>\n<parameter=p000>", "hermes": `<tool_call>` + "\n" + `{"name": "f", "arguments": {"p000": "`}
	for name, text := range begin {
		g, err := formatOf(t, templates[name]).Grammar(answer.Asked{Tools: []chattemplate.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}})
		if err != nil {
			t.Fatal(name, err)
		}
		x, err := g.Matcher(letters)
		if err != nil {
			t.Fatal(err)
		}
		for text != "" { // by the longest tokens that it begins with
			at := -1
			for i, token := range texts {
				if strings.HasPrefix(text, token) && (at < 0 || len(token) > len(texts[at])) {
					at = i
				}
			}
			if err := x.Accept(int32(at)); err != nil {
				t.Fatalf("%s: %v before %q", name, err, text)
			}
			text = text[len(texts[at]):]
		}
	}
}

// TestLargeSchema: a schema that would take much memory or time is an error that names its tool,
// whether it is strict or not.
func TestLargeSchema(t *testing.T) {
	var properties, defs []string
	for i := range 300 {
		properties = append(properties, fmt.Sprintf(`"p%d": {"$ref": "#/$defs/d0"}`, i))
		defs = append(defs, fmt.Sprintf(`"d%d": {"type": "string", "description": %q}`, i, strings.Repeat("d", 100)))
	}
	for what, schema := range map[string]string{
		"definitions": fmt.Sprintf(`{"type": "object", "properties": {%s}, "$defs": {%s}}`, strings.Join(properties, ", "), strings.Join(defs, ", ")),
		"depth":       strings.Repeat(`{"type": "object", "properties": {"a": `, 60) + "{}" + strings.Repeat("}}", 60),
		"bytes":       `{"type": "object", "description": "` + strings.Repeat("d", 1<<20) + `"}`,
	} {
		names := []string{"qwen3-coder", "lfm2"}
		if what != "definitions" { // which the others write once
			names = append(names, "json", "gemma4", "mistral")
		}
		for _, name := range names {
			for _, required := range []bool{false, true} {
				_, err := formatOf(t, templates[name]).Grammar(answer.Asked{Tools: []chattemplate.Tool{{Name: "now"}, {Name: "f", Parameters: json.RawMessage(schema)}}, Required: required})
				if !errors.Is(err, answer.ErrTool) || !strings.Contains(err.Error(), "Tools[1]") {
					t.Errorf("%s of %s: %.200v", what, name, err)
				}
			}
		}
	}
}
