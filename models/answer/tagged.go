package answer

import (
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
)

// tagged is a call with tags around each argument, whose texts have no quotes:
//
//	<function=f>
//	<parameter=a>
//	1
//	</parameter>
//	</function>
type tagged struct {
	head, named string   // before and behind the name
	key         string   // before the name of an argument
	value       []string // between it and its value, with spaces between them
	end         string   // of a value
	foot        string   // behind the arguments
	line        bool     // values are lines
}

// read implements notation.
func (x *tagged) read(c *cursor, a *Asked) []chattemplate.ToolCall {
	c.lit(strings.TrimSpace(x.head))
	call := chattemplate.ToolCall{Name: c.name()}
	t := a.tool(call.Name)
	if c.going() && t == nil {
		c.bad = true
	}
	if !c.going() {
		return nil
	}
	c.lit(strings.TrimSpace(x.named))
	var of struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(schemaOf(t), &of) // it says nothing then
	all := []byte("{")
	for c.going() {
		if c.space(); !c.try(x.key) {
			break
		}
		name := c.until(x.value[0])
		for _, tag := range x.value[1:] {
			c.space()
			c.lit(tag)
		}
		data := x.argument(c, of.Properties[strings.TrimSpace(name)])
		if !c.going() {
			break
		}
		if len(all) > 1 {
			all = append(all, ", "...)
		}
		all = append(append(append(all, textOf(strings.TrimSpace(name))...), ": "...), data...)
	}
	c.lit(strings.TrimSpace(x.foot))
	call.Arguments = append(all, '}')
	return []chattemplate.ToolCall{call}
}

// argument takes a value of a schema, and what ends it. In strings of JSON that may stand, too.
func (x *tagged) argument(c *cursor, schema json.RawMessage) json.RawMessage {
	if k := kindOf(schema); !k.text() && c.going() {
		as := *c
		if as.space(); as.peek(`{["`) {
			data := as.value()
			as.space()
			if as.lit(x.end); as.going() {
				*c = as
				return data
			}
		}
		if as.more {
			c.more = true
			return nil
		}
	}
	data, ok := x.valueOf(c.until(x.end), schema)
	c.bad = c.bad || c.going() && !ok
	return data
}

// valueOf returns the JSON of a value of a schema.
func (x *tagged) valueOf(text string, schema json.RawMessage) (json.RawMessage, bool) {
	k := kindOf(schema)
	line := text
	if x.line {
		line = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	}
	if k.text() {
		return textOf(line), true
	}
	word := strings.TrimSpace(text)
	if w, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[word]; ok {
		word = w
	}
	if json.Valid([]byte(word)) {
		return json.RawMessage(word), true
	}
	// A text that is none of JSON can be one if the schema does not say that it cannot.
	free := k.Type == nil
	if list, ok := k.Type.([]any); ok {
		for _, one := range list {
			free = free || one == "string"
		}
	}
	return textOf(line), free && len(k.Enum) == 0
}

// rule implements notation.
func (x *tagged) rule(g *rules, t *chattemplate.Tool) (string, error) {
	list, err := g.argumentsOf(t)
	if err != nil {
		return "", err
	}
	parts := []string{quoted(x.head + t.Name + x.named)}
	for _, a := range list {
		k := kindOf(a.schema)
		open, end := strings.Join(x.value, "\n"), x.end
		if x.line {
			open, end = open+"\n", "\n"+end
		}
		one := quoted(x.key+a.name+open) + " "
		if k.text() {
			if err := only(t.Name+"."+a.name, a.schema); err != nil {
				return "", err
			}
			if len(k.Enum) == 0 {
				end = x.end // the first one ends it
			}
			one += g.text(k, end) + ` "\n"`
		} else {
			one += "%json " + line(closed(a.schema)) + " " + quoted(end+"\n")
		}
		if !a.required {
			one = "(" + one + ")?"
		}
		parts = append(parts, one)
	}
	return strings.Join(append(parts, quoted(x.foot)), " "), nil
}

// several implements notation.
func (*tagged) several(call string) string { return call }

// starts implements notation.
func (*tagged) starts(*Asked) []string { return nil }
