package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// escaper escapes what has a meaning in HTML.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// escaped returns a string as a safe one, with what is not safe escaped.
func (r *runner) escaped(s Str) Str {
	if s.safe {
		return s
	}
	return r.converted(s, escaper.Replace).marked()
}

// formatting is a call of format or %.
type formatting struct {
	*runner
	safe bool // whether what it puts in is escaped
	out  builder
}

// text appends a text of some characters, padded.
func (f *formatting) text(s Str, spec *python.Spec, side byte) {
	if spec.Precision >= 0 {
		s = s.cut(&f.meter, 0, s.offset(spec.Precision))
	}
	left, right := spec.Padding(s.count(), side)
	f.out.inside(left)
	if f.safe {
		s = f.escaped(s)
	}
	f.out.add(s)
	f.out.inside(right)
}

// value appends a value in a format of format.
func (f *formatting) value(v value, text string) {
	if text == "" {
		f.text(f.show(v), &python.Spec{Precision: -1}, '<')
		return
	}
	spec, err := python.ParseSpec(text)
	f.check(err)
	f.memory(2 * (spec.Width + max(spec.Precision, 0)))
	switch v := v.(type) {
	case Str:
		f.check(spec.CheckText())
		f.text(v, &spec, '<')
		return
	case float64:
		s, err := spec.Float(v)
		f.check(err)
		f.out.inside(s)
		return
	}
	n, ok := whole(v)
	if !ok {
		f.fail("%s with the format %.40q, want a string or a number", typeName(v), text)
	}
	s, err := spec.Int(n)
	f.check(err)
	f.out.inside(s)
}

// check ends rendering after an error.
func (f *formatting) check(err error) {
	if err != nil {
		f.fail("%v", err)
	}
}

// format is the method of strings.
func (r *runner) format(s Str, positional []value, named *Dict) value {
	f := &formatting{runner: r, safe: s.safe, out: builder{m: &r.meter}}
	auto := 0
	f.fields(s, positional, named, &auto, true)
	return f.out.str().like(s)
}

// fields appends a string with its fields filled in. outer says that the formats of fields may have
// fields.
func (f *formatting) fields(s Str, positional []value, named *Dict, auto *int, outer bool) {
	for {
		at := strings.IndexAny(s.text, "{}")
		if at < 0 {
			f.out.add(s)
			return
		}
		f.out.add(s.cut(&f.meter, 0, at))
		if strings.HasPrefix(s.text[at+1:], s.text[at:at+1]) {
			f.out.add(s.cut(&f.meter, at, at+1))
			s = s.cut(&f.meter, at+2, len(s.text))
			continue
		}
		if s.text[at] == '}' {
			f.fail("a format with a single }")
		}
		n := closing(s.text[at+1:])
		if n < 0 {
			f.fail("a format with a field that does not end")
		}
		f.field(s.cut(&f.meter, at+1, at+1+n), positional, named, auto, outer)
		s = s.cut(&f.meter, at+n+2, len(s.text))
	}
}

// closing returns where a field ends, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// field appends the value of a field: NAME!CONVERSION:FORMAT.
func (f *formatting) field(s Str, positional []value, named *Dict, auto *int, outer bool) {
	end, bracket := len(s.text), false
	for i, c := range s.text {
		if bracket = c == '[' || bracket && c != ']'; !bracket && (c == '!' || c == ':') {
			end = i
			break
		}
	}
	v := f.lookup(s.text[:end], positional, named, auto)
	rest := s.text[end:]
	if strings.HasPrefix(rest, "!") {
		if len(rest) < 2 || len(rest) > 2 && rest[2] != ':' {
			f.fail("a format with the conversion %.20q", rest)
		}
		v = f.conversion(v, rest[1])
		rest = rest[2:]
	}
	text := strings.TrimPrefix(rest, ":")
	if strings.ContainsAny(text, "{}") {
		if !outer {
			f.fail("a format with fields nested deeper than 2")
		}
		inner := &formatting{runner: f.runner, out: builder{m: &f.meter}}
		inner.fields(s.cut(&f.meter, len(s.text)-len(text), len(s.text)), positional, named, auto, false)
		text = inner.out.str().text
	}
	f.value(v, text)
}

// conversion is what !s, !r and !a make of a value.
func (r *runner) conversion(v value, kind byte) Str {
	switch kind {
	case 's':
		return r.show(v)
	case 'r', 'a':
		b := builder{m: &r.meter}
		r.repr(&b, v)
		if kind == 'a' {
			return r.converted(b.str(), python.ASCII)
		}
		return b.str()
	}
	r.fail("a format with the conversion %q", kind)
	return Str{}
}

// lookup returns the value of a field's name: an argument, with attributes and items of it.
func (f *formatting) lookup(name string, positional []value, named *Dict, auto *int) (v value) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first, rest := name[:end], name[end:]
	n, isIndex := digits64(first)
	if first == "" {
		if *auto < 0 {
			f.fail("a format with numbers in some fields only")
		}
		n, isIndex = int64(*auto), true
		*auto++
	} else if isIndex {
		if *auto > 0 {
			f.fail("a format with numbers in some fields only")
		}
		*auto = -1
	}
	ok := false
	switch {
	case isIndex && n < int64(len(positional)):
		v, ok = positional[n], true
	case !isIndex && named != nil:
		v, ok = named.get(Inside(first))
	}
	if !ok {
		f.fail("a format with the field %.60q, for which there is no value", name)
	}
	for rest != "" {
		if rest[0] == '.' {
			next := strings.IndexAny(rest[1:]+".", ".[")
			v, rest = f.attribute(v, rest[1:1+next]), rest[1+next:]
			continue
		}
		next := strings.IndexByte(rest, ']')
		if next < 2 {
			f.fail("a format with the field %.60q", name)
		}
		var key value = Inside(rest[1:next])
		if n, ok := digits64(rest[1:next]); ok {
			key = n
		}
		v, rest = f.operate(itemOf, v, key), rest[next+1:]
		if rest != "" && rest[0] != '.' && rest[0] != '[' {
			f.fail("a format with the field %.60q", name)
		}
	}
	return v
}

// percentFilter is the filter format: %, with arguments in place of its right side.
func (r *runner) percentFilter(s Str, a args) value {
	if len(a.names) == 0 {
		return r.percent(s, r.sequence(a.positional, tuple))
	}
	if len(a.positional) > 0 {
		r.fail("format with and without names")
	}
	return r.percent(s, a.dict(r))
}

// percent is the operator % of strings.
func (r *runner) percent(s Str, with value) value {
	f := &formatting{runner: r, safe: s.safe, out: builder{m: &r.meter}}
	items, used := []value{with}, 0
	if l, ok := with.(*List); ok && l.kind == tuple {
		items = l.items
	}
	next := func() value {
		if used == len(items) {
			r.fail("a format with more fields than there are values")
		}
		used++
		return items[used-1]
	}
	named := false
	for {
		at := strings.IndexByte(s.text, '%')
		if at < 0 {
			f.out.add(s)
			break
		}
		f.out.add(s.cut(&r.meter, 0, at))
		p := &percentField{formatting: f, rest: s.text[at+1:], next: next}
		p.run(with)
		named = named || p.named
		s = s.cut(&r.meter, len(s.text)-len(p.rest), len(s.text))
	}
	if used < len(items) && !named && !isMapping(with) {
		r.fail("a format with fewer fields than there are values")
	}
	return f.out.str().like(s)
}

// isMapping tells whether % takes a value for one that names could be looked up in, of which a
// format may use nothing.
func isMapping(v value) bool {
	l, ok := v.(*List)
	return ok && (l.kind == list || l.kind == span) || is[*Dict](v) || is[undefined](v)
}

// percentField is a field of a format of %.
type percentField struct {
	*formatting
	rest  string // of the format
	next  func() value
	named bool
	spec  python.Spec
}

// run appends the field: %(NAME)FLAGS WIDTH.PRECISION TYPE.
func (f *percentField) run(with value) {
	take := f.next
	if strings.HasPrefix(f.rest, "(") {
		name, rest, ok := strings.Cut(f.rest[1:], ")")
		d, isDict := with.(*Dict)
		if !ok || !isDict {
			f.fail("a format with a name, want a mapping")
		}
		v, found := d.get(Inside(name))
		if !found {
			f.fail("a format with the field %.60q, for which there is no value", name)
		}
		f.named, f.rest = true, rest
		take = func() value { return v }
	}
	f.spec = python.Spec{Fill: ' ', Align: '>', Precision: -1}
	f.flags()
	f.spec.Width = f.number()
	if f.spec.Width < 0 {
		f.spec.Width, f.spec.Fill, f.spec.Align = -f.spec.Width, ' ', '<'
	}
	if strings.HasPrefix(f.rest, ".") {
		f.rest = f.rest[1:]
		f.spec.Precision = max(f.number(), 0)
	}
	f.rest = strings.TrimLeft(f.rest, "hlL")
	if f.rest == "" {
		f.fail("a format that does not end")
	}
	kind := f.rest[0]
	f.rest = f.rest[1:]
	f.memory(2 * (f.spec.Width + max(f.spec.Precision, 0)))
	if kind == '%' {
		f.out.inside("%")
		return
	}
	f.append(take(), kind)
}

func (f *percentField) flags() {
	for ; f.rest != ""; f.rest = f.rest[1:] {
		switch f.rest[0] {
		case '-':
			f.spec.Align, f.spec.Fill = '<', ' '
		case '0':
			if f.spec.Align != '<' {
				f.spec.Align, f.spec.Fill = '=', '0'
			}
		case '+':
			f.spec.Sign = '+'
		case ' ':
			if f.spec.Sign == 0 {
				f.spec.Sign = ' '
			}
		case '#':
			f.spec.Alternate = true
		default:
			return
		}
	}
}

// number takes a width or a precision, * for a value.
func (f *percentField) number() int {
	if strings.HasPrefix(f.rest, "*") {
		f.rest = f.rest[1:]
		return f.count(f.next())
	}
	n := 0
	for f.rest != "" && '0' <= f.rest[0] && f.rest[0] <= '9' {
		if n = 10*n + int(f.rest[0]-'0'); n > python.Most {
			f.fail("a format with more than %d characters", python.Most)
		}
		f.rest = f.rest[1:]
	}
	return n
}

// append appends a value as its type says.
func (f *percentField) append(v value, kind byte) {
	spec := &f.spec
	if strings.IndexByte("sra", kind) >= 0 {
		if spec.Align == '=' {
			spec.Align, spec.Fill = '>', ' '
		}
		f.text(f.conversion(v, kind), spec, '>')
		return
	}
	if s, ok := v.(Str); ok && kind == 'c' {
		if s.count() != 1 {
			f.fail("a format of a character with %d", s.count())
		}
		spec.Precision = -1
		if spec.Align == '=' {
			spec.Align, spec.Fill = '>', ' '
		}
		f.text(s, spec, '>')
		return
	}
	x, isFloat := v.(float64)
	n, isInt := whole(v)
	if !isFloat && !isInt {
		f.fail("%s with the format %%%c, want a number", typeName(v), kind)
	}
	var s string
	var err error
	switch kind {
	case 'd', 'i', 'u', 'o', 'x', 'X', 'c':
		if isFloat && kind != 'd' && kind != 'i' && kind != 'u' {
			f.fail("%s with the format %%%c, want an integer", typeName(v), kind)
		}
		if isFloat {
			n = f.integer(f.truncated(x, nil))
		}
		if spec.Digits = max(spec.Precision, 0); kind == 'c' {
			spec.Digits = 0
			if n < 0 || n > utf8.MaxRune {
				f.fail("the character %d", n)
			}
			*spec = python.Spec{Fill: ' ', Align: spec.Align, Width: spec.Width, Precision: -1}
			f.text(Inside(string(rune(n))), spec, '>')
			return
		}
		spec.Precision, spec.Type = -1, kind
		s, err = spec.Int(n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !isFloat {
			x = float64(n)
		}
		spec.Type = kind
		s, err = spec.Float(x)
	default:
		err = fmt.Errorf("a format with the type %q", kind)
	}
	f.check(err)
	f.out.inside(s)
}
