package answer

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
)

// object is a call as a JSON object: {"name": "f", "arguments": {...}}, of which a list has
// several.
type object struct {
	list        bool   // of them: [{...}, {...}]
	lead, trail string // around a call, where a grammar writes it
	arguments   string // the key of arguments, where a grammar writes it; "" is arguments
}

// read implements notation.
func (o *object) read(c *cursor, a *Asked) []chattemplate.ToolCall {
	if c.list.at > 0 {
		c.at = c.list.at
	} else if c.list.many = c.peek("["); c.list.many {
		c.lit("[")
	}
	for c.going() {
		c.space()
		call := objectCall(c, a)
		c.space()
		last := c.list.many && c.try("]") || !c.list.many && (o.lead != "" || !c.try(";"))
		if c.list.many && !last {
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

// objectCall takes a call.
func objectCall(c *cursor, a *Asked) (call chattemplate.ToolCall) {
	from := c.at
	data := c.object()
	if c.written && (c.more || c.over) {
		c.open = openCall(c.text[from:])
	}
	if !c.going() {
		return call
	}
	var of map[string]json.RawMessage
	text := func(key string, to *string) {
		if of[key] != nil && json.Unmarshal(of[key], to) != nil {
			c.bad = true
		}
	}
	if json.Unmarshal(data, &of) != nil || !c.written && !unique(data) {
		c.bad = true
	}
	text("name", &call.Name)
	text("id", &call.ID)
	if call.Arguments = of["arguments"]; call.Arguments == nil {
		call.Arguments = of["parameters"]
	}
	if a.tool(call.Name) == nil || len(call.Arguments) == 0 || call.Arguments[0] != '{' {
		c.bad = true
	}
	return call
}

// openCall returns the call that a text begins with, as [object.rule] writes it, if its arguments
// have begun.
func openCall(text string) *chattemplate.ToolCall {
	rest, ok := strings.CutPrefix(text, `{"name": "`)
	name, rest, named := strings.Cut(rest, `", "`)
	key, rest, begun := strings.Cut(rest, `": `)
	if !ok || !named || !begun || key != "arguments" && key != "parameters" {
		return nil
	}
	c, call := cursor{text: rest}, chattemplate.ToolCall{Name: name}
	c.arguments(&call)
	if c.open != nil {
		c.open.Name = name
	}
	return c.open
}

// rule implements notation.
func (o *object) rule(g *rules, t *chattemplate.Tool) (string, error) {
	key := cmp.Or(o.arguments, "arguments")
	return quoted(`{"name": "`+t.Name+`", "`+key+`": `) + ` %json ` + line(closed(schemaOf(t))) + ` "}"`, nil
}

// several implements notation.
func (o *object) several(call string) string {
	if o.list {
		return quoted(o.lead+"[") + " " + call + ` (", " ` + call + `)* "]"`
	}
	return quoted(o.lead) + " " + call + " " + quoted(o.trail)
}

// starts implements notation.
func (o *object) starts(*Asked) []string {
	return []string{`{"name"`, `{ "name"`, "{\n", `{"type": "function"`, `{"type":"function"`, `[{"name"`}
}

// named is a call as a name and a JSON object behind it.
type named struct {
	first, middle string // before and behind the name, where a grammar writes it
	last          string // behind the name, before the arguments: what stands before it does not matter
	post          string // behind the arguments
	id            bool   // from first to last it is the id of the call, with the number of the call behind the name
}

// read implements notation.
func (n *named) read(c *cursor, a *Asked) []chattemplate.ToolCall {
	from := c.at
	c.lit(n.first)
	call := chattemplate.ToolCall{Name: c.name()}
	if n.id {
		call.Name = call.Name[:max(0, strings.LastIndexByte(call.Name, ':'))]
	}
	if c.going() && a.tool(call.Name) == nil {
		c.bad = true
	}
	if !c.peek("{") {
		between := c.until(n.last)
		if _, id, ok := strings.Cut(between, "[CALL_ID]"); ok {
			call.ID = id
		}
		if len(between) > longestHeader {
			c.bad = true
		}
		if n.id && c.going() {
			call.ID = c.text[from : c.at-len(n.last)]
		}
	}
	c.space()
	c.arguments(&call)
	if n.post != "" {
		c.space()
		c.lit(strings.TrimSpace(n.post))
	}
	return []chattemplate.ToolCall{call}
}

// longestHeader is the most bytes between a name and its arguments.
const longestHeader = 256

// rule implements notation.
func (n *named) rule(g *rules, t *chattemplate.Tool) (string, error) {
	head := quoted(n.first + t.Name + n.middle)
	if n.id {
		head = quoted(n.first+t.Name+":") + " [0-9]+ " + quoted(n.middle)
	}
	return head + ` %json ` + line(closed(schemaOf(t))) + " " + quoted(n.post), nil
}

// several implements notation.
func (n *named) several(call string) string { return call }

// starts implements notation.
func (n *named) starts(*Asked) []string { return nil }

// line returns JSON in one line.
func line(data json.RawMessage) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(data) != nil {
		return string(data) // whose error the grammar reports
	}
	return strings.TrimSpace(b.String())
}
