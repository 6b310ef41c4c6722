package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// method returns a method of a value.
func method(all map[string]operation, of value, name string) (value, bool) {
	do, ok := all[name]
	return callable{do, of}, ok
}

// of returns a method of type T as an operation.
func of[T any](do func(r *runner, of T, a args) value) operation {
	return func(r *runner, v value, a args) value { return do(r, v.(T), a) }
}

var stringMethods = map[string]operation{
	"strip":      of(func(r *runner, s Str, a args) value { return r.trim(s, a, true, true) }),
	"lstrip":     of(func(r *runner, s Str, a args) value { return r.trim(s, a, true, false) }),
	"rstrip":     of(func(r *runner, s Str, a args) value { return r.trim(s, a, false, true) }),
	"upper":      of(func(r *runner, s Str, a args) value { return r.changed("upper", s, a, strings.ToUpper) }),
	"lower":      of(func(r *runner, s Str, a args) value { return r.changed("lower", s, a, strings.ToLower) }),
	"title":      of(func(r *runner, s Str, a args) value { return r.changed("title", s, a, titler(notLetter)) }),
	"capitalize": of(func(r *runner, s Str, a args) value { return r.changed("capitalize", s, a, capitalizer()) }),
	"split":      of(split),
	"splitlines": of(splitLines),
	"startswith": of(func(r *runner, s Str, a args) value { return r.affix("startswith", s, a, strings.HasPrefix) }),
	"endswith":   of(func(r *runner, s Str, a args) value { return r.affix("endswith", s, a, strings.HasSuffix) }),
	"replace":    of(func(r *runner, s Str, a args) value { return r.replaced(s, a) }),
	"join":       of(func(r *runner, s Str, a args) value { return r.joined(r.items(r.bind("join", a, "items")[0]), s) }),
	"find":       of(find),
	"isdigit": of(func(r *runner, s Str, a args) value {
		return s.text != "" && strings.IndexFunc(s.text, func(c rune) bool { return !unicode.IsDigit(c) }) < 0
	}),
}

var dictMethods = map[string]operation{
	"items":  of(func(r *runner, d *Dict, a args) value { return r.pairs(d) }),
	"keys":   of(func(r *runner, d *Dict, a args) value { return r.list(r.keys(d)) }),
	"values": of(func(r *runner, d *Dict, a args) value { return r.list(r.values(d)) }),
	"get": of(func(r *runner, d *Dict, a args) value {
		b := r.bind("get", a, "key", "default")
		if v, ok := d.get(b[0]); ok {
			return v
		}
		if isAbsent(b[1]) {
			return nil
		}
		return b[1]
	}),
}

func (r *runner) trim(s Str, a args, left, right bool) value {
	return s.trim(&r.meter, r.textOr(r.bind("strip", a, "characters")[0], ""), left, right)
}

// changed is converted for an operation without arguments.
func (r *runner) changed(name string, s Str, a args, convert func(string) string) value {
	r.bind(name, a)
	return r.converted(s, convert)
}

// converted returns a string with every part converted.
func (r *runner) converted(s Str, convert func(string) string) Str {
	b := builder{m: &r.meter}
	b.converted(s, convert)
	return b.str()
}

// affix also takes a tuple of which one shall fit.
func (r *runner) affix(name string, s Str, a args, fits func(s, affix string) bool) value {
	b := r.bind(name, a, "text")
	l, ok := b[0].(*List)
	if !ok {
		return fits(s.text, r.text(b[0]).text)
	}
	for _, v := range r.items(l) {
		r.read(v)
		if fits(s.text, r.text(v).text) {
			return true
		}
	}
	return false
}

func split(r *runner, s Str, a args) value {
	b := r.bind("split", a, "sep", "maxsplit")
	if b[0] == nil || isAbsent(b[0]) {
		if !isAbsent(b[1]) {
			r.fail("split at white space with a maxsplit")
		}
		return r.list(s.fields(&r.meter))
	}
	sep := r.text(b[0]).text
	if sep == "" {
		r.fail("split with an empty separator")
	}
	return r.list(s.split(&r.meter, sep, r.intOr(b[1], -1)))
}

func splitLines(r *runner, s Str, a args) value {
	r.bind("splitlines", a)
	if s.text == "" {
		return r.list(nil)
	}
	return r.list(s.cut(&r.meter, 0, len(strings.TrimSuffix(s.text, "\n"))).split(&r.meter, "\n", -1))
}

func find(r *runner, s Str, a args) value {
	what := r.text(r.bind("find", a, "text")[0]).text
	r.search(s.text, what)
	n := strings.Index(s.text, what)
	if n > 0 {
		n = utf8.RuneCountInString(s.text[:n])
	}
	return int64(n)
}

func (r *runner) replaced(s Str, a args) Str {
	b := r.bind("replace", a, "old", "new", "count")
	return s.replace(&r.meter, r.text(b[0]).text, r.text(b[1]), r.intOr(b[2], -1))
}

// joined returns what printing all items gives, with a separator between them.
func (r *runner) joined(items []value, sep Str) Str {
	b := builder{m: &r.meter}
	for i, v := range items {
		if i > 0 {
			b.add(sep)
		}
		b.add(r.show(v))
	}
	return b.str()
}

// titler returns a function for the parts of a string in turn that begins words with upper case.
// separates says what is between words.
func titler(separates func(rune) bool) func(string) string {
	inWord := false
	return func(s string) string {
		return strings.Map(func(c rune) rune {
			was := inWord
			inWord = !separates(c)
			if inWord && !was {
				return unicode.ToTitle(c)
			}
			return unicode.ToLower(c)
		}, s)
	}
}

func notLetter(c rune) bool { return !unicode.IsLetter(c) }

// bracket is what the filter title takes for the end of a word.
func bracket(c rune) bool { return isSpace(c) || strings.ContainsRune("-({[<", c) }

// capitalizer returns the same for a string that begins with upper case.
func capitalizer() func(string) string {
	begun := false
	return func(s string) string {
		return strings.Map(func(c rune) rune {
			if begun {
				return unicode.ToLower(c)
			}
			begun = true
			return unicode.ToTitle(c)
		}, s)
	}
}
