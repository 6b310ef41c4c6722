package answer

import (
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
)

// A cursor reads a text that may go on. Once more or bad is set, it reads nothing.
type cursor struct {
	text string
	at   int
	over bool // the text does not go on
	more bool // what is wanted may follow
	bad  bool // it cannot
	list progress

	written bool                   // see [Asked.written]
	open    *chattemplate.ToolCall // as far as the text goes, if its arguments have begun
}

// progress is how far a list of calls has been read, so that whoever reads it on begins there.
type progress struct {
	at    int // 0 if nothing has been
	many  bool
	calls []chattemplate.ToolCall
}

// going tells whether all has been there so far.
func (c *cursor) going() bool { return !c.more && !c.bad }

// lacks says that something is not there, or not yet.
func (c *cursor) lacks(yet bool) {
	c.more = yet && !c.over
	c.bad = !c.more
}

// lit takes a text.
func (c *cursor) lit(text string) {
	if c.going() && !c.try(text) && c.going() {
		c.bad = true
	}
}

// try takes a text if it is there.
func (c *cursor) try(text string) bool {
	if !c.going() {
		return false
	}
	rest := c.text[c.at:]
	if strings.HasPrefix(rest, text) {
		c.at += len(text)
		return true
	}
	if !c.over && strings.HasPrefix(text, rest) {
		c.more = true
	}
	return false
}

// peek tells whether any of some characters comes next. At the end of the text something is
// lacking.
func (c *cursor) peek(set string) bool {
	if !c.going() {
		return false
	}
	if c.at == len(c.text) {
		c.lacks(true)
		return false
	}
	return strings.IndexByte(set, c.text[c.at]) >= 0
}

// space takes spaces and ends of lines.
func (c *cursor) space() {
	for c.going() && c.at < len(c.text) && strings.IndexByte(" \t\r\n", c.text[c.at]) >= 0 {
		c.at++
	}
}

// until takes the text up to another one, and that.
func (c *cursor) until(end string) string {
	if !c.going() {
		return ""
	}
	at := strings.Index(c.text[c.at:], end)
	if at < 0 {
		c.lacks(true)
		return ""
	}
	text := c.text[c.at : c.at+at]
	c.at += at + len(end)
	return text
}

// name takes the name of a tool, or of an argument.
func (c *cursor) name() string {
	from := c.at
	for c.going() && c.at < len(c.text) && isName(c.text[c.at]) {
		c.at++
	}
	if c.going() && c.at == len(c.text) && !c.over {
		c.more = true
	}
	if c.going() && c.at == from {
		c.bad = true
	}
	return c.text[from:c.at]
}

func isName(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("_.:/-", b) >= 0
}

// object takes a JSON object.
func (c *cursor) object() json.RawMessage {
	if !c.peek("{") {
		c.lacks(c.more)
		return nil
	}
	return c.value()
}

// value takes a JSON object, array or string.
func (c *cursor) value() json.RawMessage {
	depth, quoted := 0, false
	for i := c.at; i < len(c.text); i++ {
		switch b := c.text[i]; {
		case quoted && b == '\\':
			i++
			continue
		case b == '"':
			quoted = !quoted
		case b == '{' || b == '[':
			if !quoted {
				depth++
			}
		case (b == '}' || b == ']') && !quoted:
			depth--
		default:
			continue
		}
		if depth <= 0 && !quoted {
			data := json.RawMessage(c.text[c.at : i+1])
			if c.at = i + 1; !json.Valid(data) {
				c.bad = true
			}
			return data
		}
	}
	c.lacks(true)
	return nil
}

// arguments takes the arguments of a call, an object, and notes it as open.
func (c *cursor) arguments(call *chattemplate.ToolCall) {
	if c.going() && c.at < len(c.text) && c.text[c.at] == '{' {
		c.open = &chattemplate.ToolCall{ID: call.ID, Name: call.Name, Arguments: json.RawMessage(c.text[c.at:])}
	}
	if call.Arguments = c.object(); c.open != nil && len(call.Arguments) > 0 {
		c.open.Arguments = call.Arguments
	}
}
