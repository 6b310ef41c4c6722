package jinja

import (
	"strconv"
	"strings"
	"unicode"
)

// show returns what printing a value gives.
func (r *runner) show(v value) Str {
	switch v := v.(type) {
	case undefined:
		return Str{}
	case Str:
		return v
	}
	b := builder{m: &r.meter}
	r.repr(&b, v)
	return b.str()
}

// repr writes a value as Python does within lists.
func (r *runner) repr(b *builder, v value) {
	r.work(nodeCost)
	switch v := v.(type) {
	case nil:
		b.inside("None")
	case undefined:
		b.inside("Undefined")
	case bool:
		if v {
			b.inside("True")
		} else {
			b.inside("False")
		}
	case int64:
		b.inside(strconv.FormatInt(v, 10))
	case float64:
		b.inside(formatFloat(v))
	case Str:
		r.quote(b, v)
	case *List:
		r.reprList(b, v)
	case *Dict:
		b.inside("{")
		for i, e := range v.entries {
			if i > 0 {
				b.inside(", ")
			}
			r.repr(b, e.key)
			b.inside(": ")
			r.repr(b, e.value)
		}
		b.inside("}")
	default:
		r.fail("%s cannot be printed", typeName(v))
	}
}

func (r *runner) reprList(b *builder, l *List) {
	open, close := "[", "]"
	if l.tuple {
		open, close = "(", ")"
		if len(l.items) == 1 {
			close = ",)"
		}
	}
	b.inside(open)
	for i, v := range l.items {
		if i > 0 {
			b.inside(", ")
		}
		r.repr(b, v)
	}
	b.inside(close)
}

// quote writes a string as Python's repr does.
func (r *runner) quote(b *builder, s Str) {
	r.read(s)
	mark := '\''
	if strings.Contains(s.text, "'") && !strings.Contains(s.text, `"`) {
		mark = '"'
	}
	b.inside(string(mark))
	b.converted(s, func(t string) string {
		var b strings.Builder
		for _, c := range t {
			switch {
			case c == '\\' || c == mark:
				b.WriteByte('\\')
				b.WriteRune(c)
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\r':
				b.WriteString(`\r`)
			case c == '\t':
				b.WriteString(`\t`)
			case unicode.IsPrint(c):
				b.WriteRune(c)
			default:
				b.WriteString(escaped(c))
			}
		}
		return b.String()
	})
	b.inside(string(mark))
}

// escaped writes a character that cannot be printed.
func escaped(r rune) string {
	hex := func(width int) string {
		s := strconv.FormatInt(int64(r), 16)
		return strings.Repeat("0", width-len(s)) + s
	}
	switch {
	case r < 0x100:
		return `\x` + hex(2)
	case r < 0x10000:
		return `\u` + hex(4)
	}
	return `\U` + hex(8)
}

// json writes a value as Python's json.dumps does, without escaping what is not ASCII. Lines are
// indented by indent spaces for each level, if it is not negative.
func (r *runner) json(b *builder, v value, indent, depth int) {
	r.work(nodeCost)
	switch v := v.(type) {
	case nil:
		b.inside("null")
	case bool:
		b.inside(strconv.FormatBool(v))
	case Str:
		jsonText(b, v)
	case int64, float64:
		r.repr(b, v)
	case *List:
		jsonBlock(b, "[]", len(v.items), indent, depth, func(i int) { r.json(b, v.items[i], indent, depth+1) })
	case *Dict:
		jsonBlock(b, "{}", len(v.entries), indent, depth, func(i int) {
			e := v.entries[i]
			if s, ok := e.key.(Str); ok {
				jsonText(b, s)
			} else {
				b.inside(`"`)
				r.json(b, e.key, indent, depth+1)
				b.inside(`"`)
			}
			b.inside(": ")
			r.json(b, e.value, indent, depth+1)
		})
	default:
		r.fail("%s cannot be written as JSON", typeName(v))
	}
}

// jsonBlock writes n items between brackets.
func jsonBlock(b *builder, brackets string, n, indent, depth int, item func(i int)) {
	line := func(depth int) {
		b.inside("\n" + strings.Repeat(" ", indent*depth))
	}
	b.inside(brackets[:1])
	for i := range n {
		switch {
		case i > 0 && indent < 0:
			b.inside(", ")
		case i > 0:
			b.inside(",")
		}
		if indent >= 0 {
			line(depth + 1)
		}
		item(i)
	}
	if indent >= 0 && n > 0 {
		line(depth)
	}
	b.inside(brackets[1:])
}

// jsonText writes a string.
func jsonText(b *builder, s Str) {
	b.inside(`"`)
	b.converted(s, jsonString)
	b.inside(`"`)
}

func jsonString(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < ' ' {
				b.WriteString(`\u00` + escaped(r)[2:])
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
