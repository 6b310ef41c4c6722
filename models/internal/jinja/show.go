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
		return nil
	case Str:
		return v
	}
	return r.repr(v, 0)
}

// repr returns how Python writes a value within lists.
func (r *runner) repr(v value, depth int) Str {
	r.deep(depth)
	r.spend(1)
	switch v := v.(type) {
	case nil:
		return Inside("None")
	case undefined:
		return Inside("Undefined")
	case bool:
		if v {
			return Inside("True")
		}
		return Inside("False")
	case int64:
		return Inside(strconv.FormatInt(v, 10))
	case float64:
		return Inside(formatFloat(v))
	case Str:
		return r.made(quote(v))
	case *List:
		open, close := "[", "]"
		if v.tuple {
			open, close = "(", ")"
			if len(v.items) == 1 {
				close = ",)"
			}
		}
		return r.surround(open, close, len(v.items), func(i int) Str { return r.repr(v.items[i], depth+1) })
	case *Dict:
		return r.surround("{", "}", len(v.keys), func(i int) Str {
			return concat(r.repr(v.names[i], depth+1), Inside(": "), r.repr(v.values[v.keys[i]], depth+1))
		})
	}
	r.fail("%s cannot be printed", typeName(v))
	return nil
}

// surround puts n items between brackets.
func (r *runner) surround(open, close string, n int, item func(i int) Str) Str {
	all := []Str{Inside(open)}
	for i := range n {
		if i > 0 {
			all = append(all, Inside(", "))
		}
		all = append(all, item(i))
	}
	return r.made(concat(append(all, Inside(close))...))
}

// quote writes a string as Python's repr does.
func quote(s Str) Str {
	mark := "'"
	if flat := s.String(); strings.Contains(flat, "'") && !strings.Contains(flat, `"`) {
		mark = `"`
	}
	inner := s.convert(func(t string) string {
		var b strings.Builder
		for _, r := range t {
			switch {
			case r == '\\' || string(r) == mark:
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\r':
				b.WriteString(`\r`)
			case r == '\t':
				b.WriteString(`\t`)
			case unicode.IsPrint(r):
				b.WriteRune(r)
			default:
				b.WriteString(escaped(r))
			}
		}
		return b.String()
	})
	return concat(Inside(mark), inner, Inside(mark))
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
func (r *runner) json(v value, indent, depth int) Str {
	r.deep(depth)
	r.spend(1)
	switch v := v.(type) {
	case nil:
		return Inside("null")
	case bool:
		return Inside(strconv.FormatBool(v))
	case Str:
		return r.made(concat(Inside(`"`), v.convert(jsonString), Inside(`"`)))
	case int64, float64:
		return r.repr(v, depth)
	case *List:
		return r.block("[", "]", len(v.items), indent, depth, func(i int) Str { return r.json(v.items[i], indent, depth+1) })
	case *Dict:
		return r.block("{", "}", len(v.keys), indent, depth, func(i int) Str {
			key, ok := v.names[i].(Str)
			if !ok {
				key = r.json(v.names[i], indent, depth+1)
			}
			return concat(Inside(`"`), key.convert(jsonString), Inside(`": `), r.json(v.values[v.keys[i]], indent, depth+1))
		})
	}
	r.fail("%s cannot be written as JSON", typeName(v))
	return nil
}

// block is surround with line breaks.
func (r *runner) block(open, close string, n, indent, depth int, item func(i int) Str) Str {
	if indent < 0 || n == 0 {
		return r.surround(open, close, n, item)
	}
	line := func(depth int) Str {
		r.spend(indent * depth)
		return Inside("\n" + strings.Repeat(" ", indent*depth))
	}
	all := []Str{Inside(open)}
	for i := range n {
		if i > 0 {
			all = append(all, Inside(","))
		}
		all = append(all, line(depth+1), item(i))
	}
	return r.made(concat(append(all, line(depth), Inside(close))...))
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
