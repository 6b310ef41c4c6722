package answer

import (
	"bytes"
	"encoding/json"
	"strings"
)

// literal takes a value as Python or Gemma writes it, and adds its JSON: words for true, false and
// null in both forms, strings between quotes, or between quote if that is not "", keys without
// quotes too.
func (c *cursor) literal(to []byte, quote string, depth int) []byte {
	c.space()
	if depth > deepestValue {
		c.bad = true
	}
	switch {
	case !c.going():
		return to
	case quote != "" && c.try(quote):
		return append(to, textOf(c.until(quote))...)
	case c.peek(`"'`):
		return append(to, textOf(c.quoted())...)
	case c.try("["):
		return c.items(to, "[", "]", func(to []byte) []byte { return c.literal(to, quote, depth+1) })
	case c.try("{"):
		return c.items(to, "{", "}", func(to []byte) []byte {
			to = append(append(to, c.key(quote)...), ": "...)
			c.space()
			c.lit(":")
			return c.literal(to, quote, depth+1)
		})
	}
	from := c.at
	for c.going() && !c.peek(",]}) \n\t\r") && c.going() {
		c.at++
	}
	if !c.going() {
		return to
	}
	word := c.text[from:c.at]
	if w, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[word]; ok {
		word = w
	}
	if !json.Valid([]byte(word)) {
		c.bad = true
	}
	return append(to, word...)
}

// deepest is the most values within each other in a schema, and deepestValue in arguments: no
// grammar lets a text have so many, and encoding/json reads as many.
const deepest, deepestValue = 100, 10000

// items takes what is between brackets, separated by commas.
func (c *cursor) items(to []byte, open, shut string, item func(to []byte) []byte) []byte {
	to = append(to, open...)
	c.space()
	for n := 0; c.going() && !c.try(shut) && c.going(); n++ {
		if n > 0 {
			c.lit(",")
			c.space()
			to = append(to, ", "...)
		}
		to = item(to)
		c.space()
	}
	return append(to, shut...)
}

// key takes the key of a mapping.
func (c *cursor) key(quote string) json.RawMessage {
	c.space()
	if quote != "" && c.try(quote) {
		return textOf(c.until(quote))
	}
	if c.peek(`"'`) {
		return textOf(c.quoted())
	}
	from := c.at
	for c.going() && !c.peek(`:,{}[]"`) && c.going() {
		c.at++
	}
	return textOf(strings.TrimSpace(c.text[from:c.at]))
}

// quoted takes a string between quotes, of which it has the escapes of Python and JSON.
func (c *cursor) quoted() string {
	mark := c.text[c.at]
	var b bytes.Buffer
	for i := c.at + 1; i < len(c.text); i++ {
		switch ch := c.text[i]; {
		case ch == mark:
			c.at = i + 1
			return b.String()
		case ch != '\\':
			b.WriteByte(ch)
		case i+1 < len(c.text):
			n := 2
			switch c.text[i+1] {
			case 'u':
				n = 6
				if strings.HasPrefix(c.text[min(i+6, len(c.text)):], `\u`) { // it may be a half of a character
					n = 12
				}
			case '\'':
				b.WriteByte('\'')
				i++
				continue
			}
			if i+n > len(c.text) {
				c.lacks(true)
				return ""
			}
			var text string
			if json.Unmarshal([]byte(`"`+c.text[i:i+n]+`"`), &text) != nil {
				c.bad = true
				return ""
			}
			b.WriteString(text)
			i += n - 1
		}
	}
	c.lacks(true)
	return ""
}

// textOf returns a string as JSON.
func textOf(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings have no error
	return bytes.TrimSpace(b.Bytes())
}
