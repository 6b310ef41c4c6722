package answer

import (
	"bytes"
	"encoding/json"
	"strings"
)

// literal takes a value as Python or Gemma writes it, and returns its JSON: words for true, false and null in both forms,
// strings between quotes, or between quote if that is not "", keys without quotes too.
func (c *cursor) literal(quote string, depth int) json.RawMessage {
	c.space()
	if depth > deepest {
		c.bad = true
	}
	switch {
	case !c.going():
		return nil
	case quote != "" && c.try(quote):
		return textOf(c.until(quote))
	case c.peek(`"'`):
		return textOf(c.quoted())
	case c.try("["):
		return c.items("[", "]", func() json.RawMessage { return c.literal(quote, depth+1) })
	case c.try("{"):
		return c.items("{", "}", func() json.RawMessage {
			key := c.key(quote)
			c.space()
			c.lit(":")
			return append(append(key, ": "...), c.literal(quote, depth+1)...)
		})
	}
	from := c.at
	for c.going() && !c.peek(",]}) \n\t\r") && c.going() {
		c.at++
	}
	if !c.going() {
		return nil
	}
	word := c.text[from:c.at]
	if w, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[word]; ok {
		word = w
	}
	if !json.Valid([]byte(word)) {
		c.bad = true
	}
	return json.RawMessage(word)
}

// deepest is the most values within each other.
const deepest = 100

// items takes what is between brackets, separated by commas.
func (c *cursor) items(open, shut string, item func() json.RawMessage) json.RawMessage {
	all := []byte(open)
	c.space()
	for n := 0; c.going() && !c.try(shut) && c.going(); n++ {
		if n > 0 {
			c.lit(",")
			c.space()
			all = append(all, ", "...)
		}
		all = append(all, item()...)
		c.space()
	}
	return append(all, shut...)
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
