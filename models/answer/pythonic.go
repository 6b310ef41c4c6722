package answer

import (
	"encoding/json"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
)

// pythonic is a list of calls as Python writes them: [f(a=1, b="x"), g()].
type pythonic struct{}

// read implements notation.
func (*pythonic) read(c *cursor, a *Asked) []chattemplate.ToolCall {
	if c.list.at > 0 {
		c.at = c.list.at
	} else {
		c.lit("[")
	}
	for c.going() {
		c.space()
		call := chattemplate.ToolCall{Name: c.name()}
		if c.going() && a.tool(call.Name) == nil {
			c.bad = true
		}
		c.lit("(")
		all := c.items(nil, "{", ")", func(to []byte) []byte {
			to = append(append(to, textOf(c.name())...), ": "...)
			c.space()
			c.lit("=")
			return c.literal(to, "", 0)
		})
		all[len(all)-1] = '}'
		call.Arguments = all
		c.space()
		last := c.try("]")
		if !last {
			c.lit(",")
		}
		if !c.going() {
			break
		}
		if last {
			return append(c.list.calls, call)
		}
		c.list.calls, c.list.at = append(c.list.calls, call), c.at
	}
	return nil
}

// rule implements notation.
func (*pythonic) rule(g *rules, t *chattemplate.Tool) (string, error) {
	list, err := g.argumentsOf(t)
	if err != nil {
		return "", err
	}
	inside, err := g.joined(list, ", ", func(a argument) (string, error) {
		return quoted(a.name+"=") + " %json " + line(closed(a.schema)), nil
	})
	return quoted(t.Name+"(") + " " + inside + ` ")"`, err
}

// several implements notation.
func (*pythonic) several(call string) string { return `"[" ` + call + ` (", " ` + call + `)* "]"` }

// starts implements notation.
func (*pythonic) starts(a *Asked) (all []string) {
	for _, t := range a.Tools {
		all = append(all, "["+t.Name+"(")
	}
	return all
}

// braced is a call as Gemma writes it: call:f{a:1,b:<|"|>x<|"|>}, with a quote of its own.
type braced struct{ quote string }

// read implements notation.
func (b *braced) read(c *cursor, a *Asked) []chattemplate.ToolCall {
	c.lit("call:")
	c.space()
	call := chattemplate.ToolCall{Name: c.name()}
	if c.going() && a.tool(call.Name) == nil {
		c.bad = true
	}
	if c.space(); !c.peek("{") && c.going() {
		c.bad = true
	}
	call.Arguments = c.literal(nil, b.quote, 0)
	return []chattemplate.ToolCall{call}
}

// rule implements notation.
func (b *braced) rule(g *rules, t *chattemplate.Tool) (string, error) {
	inside, err := b.object(g, t.Name, schemaOf(t), 0)
	return quoted("call:"+t.Name) + " " + inside, err
}

// object returns the grammar of a mapping.
func (b *braced) object(g *rules, at string, schema json.RawMessage, depth int) (string, error) {
	list, err := g.propertiesOf(at, schema)
	if err != nil {
		return "", err
	}
	inside, err := g.joined(list, ",", func(a argument) (string, error) {
		value, err := b.value(g, at+"."+a.name, a.schema, depth+1)
		return quoted(a.name+":") + " " + value, err
	})
	return `"{" ` + inside + ` "}"`, err
}

// value returns the grammar of a value.
func (b *braced) value(g *rules, at string, schema json.RawMessage, depth int) (string, error) {
	k := kindOf(schema)
	switch {
	case depth > deepest:
		return "", only(at, json.RawMessage(`{"deeper": 1}`))
	case k.text():
		return quoted(b.quote) + " " + g.text(k, b.quote), only(at, schema)
	case k.Type == "array" && len(k.Enum) == 0 && k.Items == nil && only(at, schema) == nil:
		item := b.any(g)
		return `"[" (` + item + ` ("," ` + item + `)*)? "]"`, nil
	case k.Type == "array" && len(k.Enum) == 0:
		item, err := b.value(g, at+"[]", k.Items, depth+1)
		if err == nil {
			err = only(at, schema, "items")
		}
		item = g.add(item)
		return `"[" (` + item + ` ("," ` + item + `)*)? "]"`, err
	case k.Type == "object" && len(k.Enum) == 0 && k.Properties == nil && string(k.Additional) != "false":
		return b.any(g) + "object", only(at, schema, "additionalProperties")
	case k.Type == "object" && len(k.Enum) == 0:
		return b.object(g, at, schema, depth+1)
	case k.Type == nil && len(k.Enum) == 0 && only(at, schema) == nil:
		return b.any(g), nil
	case k.Type == "integer" || k.Type == "number" || k.Type == "boolean" || k.Type == "null":
		return "%json " + line(schema), nil
	}
	return "", only(at, json.RawMessage(`{"any type": 1}`))
}

// any returns the rule of any value. The rule of any object has object behind its name.
func (b *braced) any(g *rules) string {
	if !g.any {
		g.any = true
		fmt.Fprintf(&g.b, "any ::= %s %%until(%s) | anyobject | \"[\" (any (\",\" any)*)? \"]\" | %%json {\"type\": [\"number\", \"boolean\", \"null\"]}\n", quoted(b.quote), quoted(b.quote))
		g.b.WriteString("anyobject ::= \"{\" (anymember (\",\" anymember)*)? \"}\"\nanymember ::= [A-Za-z0-9_.-]+ \":\" any\n")
	}
	return "any"
}

// several implements notation.
func (*braced) several(call string) string { return call }

// starts implements notation.
func (*braced) starts(*Asked) []string { return nil }
