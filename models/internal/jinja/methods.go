package jinja

import (
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// method returns a method of a value.
func method(all map[string]operation, of value, name string) (value, bool) {
	do, ok := all[name]
	return callable{do: do, of: of}, ok
}

// of returns an operation on a value of type T.
func of[T any](sig string, do func(r *runner, of T, b []value) value) operation {
	return takes(sig, func(r *runner, v value, b []value) value { return do(r, v.(T), b) })
}

// notBytes says why methods are missing.
const notBytes = "there are no bytes and no tables of characters"

var stringMethods map[string]operation

func init() { // not where it is declared, as format uses methods
	stringMethods = map[string]operation{
		"strip":  of("strip(chars=None, /)", func(r *runner, s Str, b []value) value { return r.trim(s, b[0], true, true) }),
		"lstrip": of("lstrip(chars=None, /)", func(r *runner, s Str, b []value) value { return r.trim(s, b[0], true, false) }),
		"rstrip": of("rstrip(chars=None, /)", func(r *runner, s Str, b []value) value { return r.trim(s, b[0], false, true) }),

		"upper":      changes("upper", func() func(string) string { return python.Upper }),
		"lower":      changes("lower", func() func(string) string { return python.Lower }),
		"casefold":   changes("casefold", func() func(string) string { return python.Fold }),
		"swapcase":   changes("swapcase", func() func(string) string { return python.SwapCase }),
		"title":      changes("title", python.Titler),
		"capitalize": changes("capitalize", python.Capitalizer),

		"split":      of("split(sep=None, maxsplit=-1)", func(r *runner, s Str, b []value) value { return r.split(s, b, Str.fields, Str.split) }),
		"rsplit":     of("rsplit(sep=None, maxsplit=-1)", func(r *runner, s Str, b []value) value { return r.split(s, b, Str.fieldsRight, Str.splitRight) }),
		"splitlines": of("splitlines(keepends=False)", func(r *runner, s Str, b []value) value { return r.list(s.lines(&r.meter, r.integer(b[0]) != 0)) }),
		"partition":  of("partition(sep, /)", func(r *runner, s Str, b []value) value { return r.partition(s, b[0], strings.Index, 0) }),
		"rpartition": of("rpartition(sep, /)", func(r *runner, s Str, b []value) value { return r.partition(s, b[0], strings.LastIndex, 2) }),

		"startswith": of("startswith(prefix, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.affix(s, b, strings.HasPrefix) }),
		"endswith":   of("endswith(suffix, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.affix(s, b, strings.HasSuffix) }),

		"removeprefix": of("removeprefix(prefix, /)", func(r *runner, s Str, b []value) value {
			if p := r.text(b[0]).text; strings.HasPrefix(s.text, p) {
				return s.cut(&r.meter, len(p), len(s.text))
			}
			return s
		}),
		"removesuffix": of("removesuffix(suffix, /)", func(r *runner, s Str, b []value) value {
			if p := r.text(b[0]).text; strings.HasSuffix(s.text, p) {
				return s.cut(&r.meter, 0, len(s.text)-len(p))
			}
			return s
		}),

		"replace": of("replace(old, new, count=-1, /)", func(r *runner, s Str, b []value) value {
			return s.replace(&r.meter, r.text(b[0]).text, r.joining(s, b[1]), r.small(b[2])).like(s)
		}),
		"join": of("join(iterable, /)", func(r *runner, s Str, b []value) value { return r.joinMethod(s, b[0]) }),

		"find":   of("find(sub, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.place(s, b, strings.Index, false) }),
		"rfind":  of("rfind(sub, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.place(s, b, strings.LastIndex, false) }),
		"index":  of("index(sub, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.place(s, b, strings.Index, true) }),
		"rindex": of("rindex(sub, start=None, end=None, /)", func(r *runner, s Str, b []value) value { return r.place(s, b, strings.LastIndex, true) }),
		"count": of("count(sub, start=None, end=None, /)", func(r *runner, s Str, b []value) value {
			sub := r.text(b[0]).text
			part, _, ok := r.between(s, b[1:])
			if r.search(part.text, sub); !ok {
				return int64(0)
			}
			return int64(strings.Count(part.text, sub))
		}),

		"center":     of("center(width, fillchar=' ', /)", func(r *runner, s Str, b []value) value { return r.pad(s, b, center) }),
		"ljust":      of("ljust(width, fillchar=' ', /)", func(r *runner, s Str, b []value) value { return r.pad(s, b, left) }),
		"rjust":      of("rjust(width, fillchar=' ', /)", func(r *runner, s Str, b []value) value { return r.pad(s, b, right) }),
		"zfill":      of("zfill(width, /)", zfill),
		"expandtabs": of("expandtabs(tabsize=8)", expandTabs),

		"format": func(r *runner, v value, a args) value { return r.format(v.(Str), a.positional, a.dict(r)) },
		"format_map": of("format_map(mapping, /)", func(r *runner, s Str, b []value) value {
			return r.format(s, nil, r.mapping(b[0]))
		}),

		"isalpha":      all("isalpha", python.Every(python.IsAlpha)),
		"isalnum":      all("isalnum", python.Every(python.IsAlnum)),
		"isdecimal":    all("isdecimal", python.Every(python.IsDecimal)),
		"isdigit":      all("isdigit", python.Every(python.IsDigit)),
		"isnumeric":    all("isnumeric", python.Every(python.IsNumeric)),
		"isspace":      all("isspace", python.Every(python.IsSpace)),
		"isupper":      all("isupper", python.IsUpper),
		"islower":      all("islower", python.IsLower),
		"istitle":      all("istitle", python.IsTitle),
		"isidentifier": all("isidentifier", python.IsIdentifier),
		"isprintable":  all("isprintable", python.IsPrintable),
		"isascii":      all("isascii", python.IsASCII),

		"encode":    unsupported("the method encode", notBytes),
		"translate": unsupported("the method translate", notBytes),
		"maketrans": unsupported("the method maketrans", notBytes),
	}
}

// dict returns the arguments that have names.
func (a *args) dict(r *runner) *Dict {
	d := NewDict()
	for i, name := range a.names {
		r.put(d, Inside(name), a.named[i])
	}
	return d
}

// changes is a method that converts every part of a string by a function that make returns.
func changes(name string, make func() func(string) string) operation {
	return of(name+"()", func(r *runner, s Str, _ []value) value { return r.converted(s, make()).like(s) })
}

// all is a method that tests a string.
func all(name string, is func(string) bool) operation {
	return of(name+"()", func(r *runner, s Str, _ []value) value { return is(s.text) })
}

var dictMethods = map[string]operation{
	"items":  of("items()", func(r *runner, d *Dict, _ []value) value { return r.pairs(d) }),
	"keys":   of("keys()", func(r *runner, d *Dict, _ []value) value { return r.sequence(r.keys(d), keys) }),
	"values": of("values()", func(r *runner, d *Dict, _ []value) value { return r.sequence(r.values(d), values) }),
	"get": of("get(key, default=None, /)", func(r *runner, d *Dict, b []value) value {
		if v, ok := d.get(r.key(b[0])); ok {
			return v
		}
		return b[1]
	}),
	"copy": of("copy()", func(r *runner, d *Dict, _ []value) value { return d }), // which cannot change
	"fromkeys": of("fromkeys(iterable, value=None, /)", func(r *runner, _ *Dict, b []value) value {
		d := NewDict()
		for _, key := range r.items(b[0]) {
			r.put(d, key, b[1])
		}
		return d
	}),
}

var listMethods = map[string]operation{
	"index": of("index(value, start=0, stop=9223372036854775807, /)", func(r *runner, l *List, b []value) value {
		from := bounds{from: r.integer(b[1]), to: r.integer(b[2]), step: 1}.of(len(l.items))
		for i := from.from; i < from.to; i++ {
			if r.equal(l.items[i], b[0]) {
				return i
			}
		}
		r.fail("the index of a value that is not in %s", typeName(l))
		return nil
	}),
	"count": of("count(value, /)", func(r *runner, l *List, b []value) value {
		n := int64(0)
		for _, v := range l.items {
			if r.equal(v, b[0]) {
				n++
			}
		}
		return n
	}),
}

var copyMethod = map[string]operation{
	"copy": of("copy()", func(r *runner, l *List, _ []value) value { return l }),
}

var spanMethods = map[string]operation{
	"count": listMethods["count"],
	"index": of("index(value, /)", func(r *runner, l *List, b []value) value {
		return r.apply(listMethods["index"], l, args{positional: b})
	}),
	"start": unsupported("the attribute start of a range", "its items say it"),
	"stop":  unsupported("the attribute stop of a range", "its items say it"),
	"step":  unsupported("the attribute step of a range", "its items say it"),
}

// methodsOf are the methods of each kind of list.
var methodsOf = map[listKind]map[string]operation{list: union(listMethods, copyMethod), tuple: listMethods, span: spanMethods}

func union(a, b map[string]operation) map[string]operation {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

func (r *runner) trim(s Str, chars value, left, right bool) Str {
	if chars == nil {
		return s.trim(&r.meter, python.IsSpace, left, right)
	}
	set := map[rune]bool{}
	text := r.text(chars).text
	r.memory(slotSize * utf8.RuneCountInString(text))
	for _, c := range text {
		set[c] = true
	}
	return s.trim(&r.meter, func(c rune) bool { return set[c] }, left, right)
}

// converted returns a string with every part converted.
func (r *runner) converted(s Str, convert func(string) string) Str {
	b := builder{m: &r.meter}
	b.converted(s, convert)
	return b.str()
}

// between returns the part of a string from start to end, where it begins, and whether there is
// such a place.
func (r *runner) between(s Str, b []value) (part Str, start int, ok bool) {
	if b[0] == nil && b[1] == nil {
		return s, 0, true
	}
	n := int64(s.count())
	from, to := int64(0), n
	for i, end := range [...]*int64{&from, &to} {
		if b[i] == nil {
			continue
		}
		if *end = r.integer(b[i]); *end < 0 {
			*end = max(*end+n, 0)
		}
	}
	if from > n || from > to {
		return Str{}, 0, false
	}
	to = min(to, n)
	return s.cut(&r.meter, s.offset(int(from)), s.offset(int(to))), int(from), true
}

// affix also takes a tuple of which one shall fit.
func (r *runner) affix(s Str, b []value, fits func(s, affix string) bool) value {
	part, _, ok := r.between(s, b[1:])
	l, several := b[0].(*List)
	if !several || l.kind != tuple {
		affix := r.text(b[0]).text
		return ok && fits(part.text, affix)
	}
	for _, v := range r.items(l) {
		r.read(v)
		if affix := r.text(v).text; ok && fits(part.text, affix) {
			return true
		}
	}
	return false
}

// split splits at a separator, or at white space without one.
func (r *runner) split(s Str, b []value, fields func(Str, *meter, int) []value, split func(Str, *meter, string, int) []value) value {
	most := r.small(b[1])
	if b[0] == nil {
		return r.list(fields(s, &r.meter, most))
	}
	sep := r.text(b[0]).text
	if sep == "" {
		r.fail("split with an empty separator")
	}
	return r.list(split(s, &r.meter, sep, most))
}

// partition returns what is before a separator, the separator and what is behind it. Without one
// the string is the part at whole.
func (r *runner) partition(s Str, sep value, index func(s, sep string) int, whole int) value {
	what := r.text(sep)
	if what.text == "" {
		r.fail("partition with an empty separator")
	}
	r.search(s.text, what.text)
	at := index(s.text, what.text)
	if at < 0 {
		parts := []value{Str{}.like(s), Str{}.like(s), Str{}.like(s)}
		parts[whole] = s
		return r.sequence(parts, tuple)
	}
	end := at + len(what.text)
	return r.sequence([]value{s.piece(&r.meter, 0, at), s.piece(&r.meter, at, end), s.piece(&r.meter, end, len(s.text))}, tuple)
}

// place returns the index of a string in a part of another one.
func (r *runner) place(s Str, b []value, index func(s, sub string) int, must bool) value {
	what := r.text(b[0]).text
	part, start, ok := r.between(s, b[1:])
	r.search(part.text, what)
	n := -1
	if ok {
		n = index(part.text, what)
	}
	switch {
	case n >= 0:
		return int64(start + utf8.RuneCountInString(part.text[:n]))
	case must:
		r.fail("the index of a string that is not there")
	}
	return int64(-1)
}

// joining returns a value that becomes part of a string: escaped if that is safe.
func (r *runner) joining(s Str, v value) Str {
	t := r.text(v)
	if s.safe {
		return r.escaped(t)
	}
	return t
}

// joinMethod joins strings, which alone it takes.
func (r *runner) joinMethod(sep Str, v value) value {
	out := builder{m: &r.meter}
	begun := false
	next := r.each(v)
	for v, ok := next(); ok; v, ok = next() {
		if begun {
			out.add(sep)
		}
		begun = true
		if sep.safe {
			v = r.escaped(r.show(v))
		}
		out.add(r.text(v))
	}
	return out.str().like(sep)
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

// a side returns how many of n characters of padding stand on the left of a text of some width.
type side func(n, width int) int

func left(n, width int) int   { return 0 }
func right(n, width int) int  { return n }
func center(n, width int) int { return n/2 + n&width&1 }

// padded returns a string with n characters more, if n is positive.
func (r *runner) padded(s Str, n int, fill Str, before side) Str {
	if n <= 0 {
		return s
	}
	b := builder{m: &r.meter}
	on := before(n, s.count()+n)
	for range on {
		b.add(fill)
	}
	b.add(s)
	for range n - on {
		b.add(fill)
	}
	return b.str().like(s)
}

func (r *runner) pad(s Str, b []value, before side) value {
	fill := r.joining(s, b[1])
	if r.text(b[1]).count() != 1 {
		r.fail("a padding of %d characters, want one", fill.count())
	}
	return r.padded(s, r.count(b[0])-s.count(), fill, before)
}

// zfill pads with zeros behind a sign.
func zfill(r *runner, s Str, b []value) value {
	n := r.count(b[0]) - s.count()
	sign := 0
	if strings.HasPrefix(s.text, "+") || strings.HasPrefix(s.text, "-") {
		sign = 1
	}
	out := builder{m: &r.meter}
	out.add(s.cut(&r.meter, 0, sign))
	out.add(r.padded(s.cut(&r.meter, sign, len(s.text)), n, Inside("0"), right))
	return out.str().like(s)
}

// expandTabs replaces tabs by spaces up to the next column.
func expandTabs(r *runner, s Str, b []value) value {
	size, column := r.small(b[0]), 0
	out := builder{m: &r.meter}
	for text, outside := range s.Parts() {
		for _, c := range text {
			n := 1
			if c == '\t' {
				if n = 0; size > 0 {
					n = size - column%size
				}
				out.spaces(n, outside)
			} else {
				out.part(string(c), outside)
			}
			if column += n; c == '\n' || c == '\r' {
				column = 0
			}
		}
	}
	return out.str().like(s)
}
