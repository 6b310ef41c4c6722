package jinja

import (
	"fmt"
	"html"
	"maps"
	"math"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

var filters map[string]operation

const (
	chance = "the same messages have the same text"
	layout = "templates of conversations lay out no pages"
)

func init() { // not where it is declared, as map uses it
	filters = map[string]operation{
		"trim":       takes("trim(chars=None)", func(r *runner, v value, b []value) value { return r.trim(r.show(v), b[0], true, true) }),
		"upper":      conversion("upper", func() func(string) string { return python.Upper }),
		"lower":      conversion("lower", func() func(string) string { return python.Lower }),
		"title":      plain(conversion("title", python.Words)),
		"capitalize": conversion("capitalize", python.Capitalizer),
		"center": takes("center(width=80)", func(r *runner, v value, b []value) value {
			s := r.show(v)
			return r.padded(s, r.count(b[0])-s.count(), Inside(" "), center)
		}),
		"replace": takes("replace(old, new, count=None)", func(r *runner, v value, b []value) value {
			most := -1
			if b[2] != nil {
				most = r.small(b[2])
			}
			return r.show(v).plain().replace(&r.meter, r.show(b[0]).text, r.show(b[1]).plain(), most)
		}),
		"truncate":  takes("truncate(length=255, killwords=False, end='...', leeway=None)", truncate),
		"format":    func(r *runner, v value, a args) value { return r.percentFilter(r.show(v), a) },
		"string":    alone("string", func(r *runner, v value) value { return r.show(v) }),
		"safe":      alone("safe", func(r *runner, v value) value { return r.show(v).marked() }),
		"e":         alone("e", func(r *runner, v value) value { return r.escaped(r.show(v)) }),
		"escape":    alone("escape", func(r *runner, v value) value { return r.escaped(r.show(v)) }),
		"indent":    takes("indent(width=4, first=False, blank=False)", indent),
		"tojson":    takes("tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)", tojson),
		"striptags": alone("striptags", stripTags),
		"urlencode": alone("urlencode", urlEncode),
		"wordcount": alone("wordcount", wordCount),
		"xmlattr":   takes("xmlattr(autospace=True)", xmlAttributes),

		"forceescape": alone("forceescape", func(r *runner, v value) value { return r.escaped(r.show(v).plain()) }),

		"default": takes("default(default_value='', boolean=False)", defaultTo),
		"d":       takes("d(default_value='', boolean=False)", defaultTo),
		"attr": takes("attr(name)", func(r *runner, v value, b []value) value {
			if d, ok := v.(*Dict); ok { // of which it takes no entries
				v = &Dict{depth: d.depth}
			}
			return r.attribute(v, r.text(b[0]).text)
		}),
		"int":   takes("int(default=0, base=10)", toInt),
		"float": takes("float(default=0.0)", toFloat),
		"abs":   alone("abs", abs),
		"round": takes("round(precision=0, method='common')", round),

		"filesizeformat": takes("filesizeformat(binary=False)", fileSize),

		"random":   unsupported(`filter "random"`, chance),
		"pprint":   unsupported(`filter "pprint"`, layout),
		"urlize":   unsupported(`filter "urlize"`, layout),
		"wordwrap": unsupported(`filter "wordwrap"`, layout),
	}
	maps.Copy(filters, sorting)
	maps.Copy(filters, selecting)
}

// filter returns the filter of a name.
func (r *runner) filter(name string) operation {
	if f, ok := filters[name]; ok {
		return f
	}
	return r.unknown("filter", name)
}

// conversion is a filter that converts every part of a string by a function that make returns.
func conversion(name string, make func() func(string) string) operation {
	return alone(name, func(r *runner, v value) value { return r.converted(r.show(v), make()).like(r.show(v)) })
}

// plain is an operation whose result is not safe.
func plain(do operation) operation {
	return func(r *runner, v value, a args) value { return do(r, v, a).(Str).plain() }
}

func defaultTo(r *runner, v value, b []value) value {
	if _, missing := v.(undefined); missing || truth(b[1]) && !truth(v) {
		return b[0]
	}
	return v
}

// truncate cuts a string that is longer than length by more than leeway, at a space unless
// killwords.
func truncate(r *runner, v value, b []value) value {
	length, end, leeway := r.integer(b[0]), r.text(b[2]), int64(5)
	if b[3] != nil {
		leeway = r.integer(b[3])
	}
	n := r.size(v)
	if length < int64(end.count()) || leeway < 0 {
		r.fail("truncate to %d with a leeway of %d, want as many as the end has and 0 or more", length, leeway)
	}
	if n <= length || n-length <= leeway {
		return v
	}
	s := r.text(v)
	kept := s.cut(&r.meter, 0, s.offset(int(length)-end.count()))
	if at := strings.LastIndexByte(kept.text, ' '); at >= 0 && !truth(b[1]) {
		kept = kept.cut(&r.meter, 0, at)
	}
	return r.operate(plus, kept.like(s), end)
}

// indent puts white space before all lines but the first and empty ones.
func indent(r *runner, v value, b []value) value {
	s := r.text(v)
	space, ok := b[0].(Str)
	if !ok {
		space = r.operate(times, Inside(" "), b[0]).(Str)
	}
	first, blank := truth(b[1]), truth(b[2])
	out := builder{m: &r.meter}
	lines := s.lines(&r.meter, false)
	if s.text == "" || endsLine(s.text) {
		lines = append(lines, Str{})
	}
	for i, line := range lines {
		if i > 0 {
			out.inside("\n")
		}
		if i == 0 && first || i > 0 && (truth(line) || blank) {
			out.add(space)
		}
		out.add(line.(Str))
	}
	return out.str().like(s)
}

// endsLine tells whether a string ends in the end of a line.
func endsLine(s string) bool {
	c, _ := utf8.DecodeLastRuneInString(s)
	return python.EndsLine(c)
}

// stripTags drops comments and tags, joins words with spaces, and reads entities.
func stripTags(r *runner, v value) value {
	s := r.show(v).plain()
	for _, t := range [...]struct{ open, close string }{{"<!--", "-->"}, {"<", ">"}} {
		out := builder{m: &r.meter}
		for {
			start := strings.Index(s.text, t.open)
			if start < 0 {
				break
			}
			n := strings.Index(s.text[start:], t.close)
			if n < 0 {
				break
			}
			out.add(s.cut(&r.meter, 0, start))
			s = s.cut(&r.meter, start+n+len(t.close), len(s.text))
		}
		out.add(s)
		s = out.str()
	}
	return r.converted(r.joined(s.fields(&r.meter, -1), Inside(" ")), html.UnescapeString)
}

// urlEncode escapes a string for the path of a URL, or pairs for its query.
func urlEncode(r *runner, v value) value {
	if _, ok := v.(Str); ok || !isIterable(v) {
		return r.quoted(r.show(v), func(s string) string { return inPath.Replace(url.QueryEscape(s)) })
	}
	if d, ok := v.(*Dict); ok {
		v = r.pairs(d)
	}
	out := builder{m: &r.meter}
	for i, pair := range r.items(v) {
		both := r.items(pair)
		if len(both) != 2 {
			r.fail("urlencode of %d values, want a key and a value", len(both))
		}
		if i > 0 {
			out.inside("&")
		}
		out.add(r.quoted(r.show(both[0]), url.QueryEscape))
		out.inside("=")
		out.add(r.quoted(r.show(both[1]), url.QueryEscape))
	}
	return out.str()
}

// inPath changes what is escaped for a query for the path.
var inPath = strings.NewReplacer("+", "%20", "%2F", "/")

// quoted returns a string for a URL, in which a byte may take three.
func (r *runner) quoted(s Str, quote func(string) string) Str {
	r.memory(8*len(s.text) + boxSize*len(s.turns))
	return r.converted(s.plain(), quote)
}

func wordCount(r *runner, v value) value {
	n, inWord := int64(0), false
	for _, c := range r.show(v).text {
		was := inWord
		if inWord = c == '_' || python.IsAlnum(c); inWord && !was {
			n++
		}
	}
	return n
}

// xmlAttributes writes the attributes of an element.
func xmlAttributes(r *runner, v value, b []value) value {
	out := builder{m: &r.meter}
	for _, e := range r.mapping(v).entries {
		if _, missing := e.value.(undefined); missing || e.value == nil {
			continue
		}
		key := r.text(e.key)
		if r.read(key); strings.ContainsAny(key.text, " \t\n\r\f\v/>=") {
			r.fail("the name of an attribute %.40q", key.text)
		}
		if out.text.Len() > 0 || truth(b[0]) {
			out.inside(" ")
		}
		out.add(r.escaped(key))
		out.inside(`="`)
		out.add(r.escaped(r.show(e.value)))
		out.inside(`"`)
	}
	return out.str()
}

func toInt(r *runner, v value, b []value) value {
	switch v := v.(type) {
	case undefined:
		r.fail("int of %s", typeName(v))
	case longInt:
		return v
	case float64:
		return r.truncated(v, b[0])
	case Str:
		r.memory(2 * len(v.text))
		n, ok, err := python.ParseInt(v.text, r.base(b[1]))
		if err != nil {
			r.fail("%v", err)
		}
		if ok {
			return n
		}
		f, ok := python.ParseFloat(v.text)
		if !ok || math.IsInf(f, 0) || f != f {
			return b[0]
		}
		return r.truncated(f, b[0])
	}
	if n, ok := whole(v); ok {
		return n
	}
	return b[0]
}

// base returns the base of an integer.
func (r *runner) base(v value) int {
	n := r.small(v)
	if n != 0 && (n < 2 || n > 36) {
		r.fail("the base %d, want 0 or 2 to 36", n)
	}
	return n
}

// truncated returns the integer of a float towards 0.
func (r *runner) truncated(f float64, missing value) value {
	switch {
	case f != f:
		return missing
	case math.Abs(f) >= 1<<63:
		r.fail("%v", python.ErrRange)
	}
	return int64(f)
}

func toFloat(r *runner, v value, b []value) value {
	switch v := v.(type) {
	case undefined:
		r.fail("float of %s", typeName(v))
	case longInt:
		r.memory(2 * len(v))
		f, _ := python.ParseFloat(string(v)) // it is a number
		if math.IsInf(f, 0) {
			r.fail("float of %s", typeName(v))
		}
		return f
	case Str:
		r.memory(2 * len(v.text))
		if f, ok := python.ParseFloat(v.text); ok {
			return f
		}
		return b[0]
	}
	if f, ok := number(v); ok {
		return f
	}
	return b[0]
}

func abs(r *runner, v value) value {
	if f, ok := v.(float64); ok {
		return math.Abs(f)
	}
	i, ok := whole(v)
	if !ok {
		r.fail("abs of %s", typeName(v))
	}
	if i < 0 {
		return r.integers("-", 0, i)
	}
	return i
}

// round rounds to so many digits after the point: to the nearest number, up, or down.
func round(r *runner, v value, b []value) value {
	method := r.text(b[1]).text
	if method == "common" {
		if b[0] == nil {
			return r.truncated(python.Round(r.float(v), 0), nil)
		}
		digits := int(max(-1000, min(r.integer(b[0]), 1000)))
		if f, ok := v.(float64); ok {
			return python.Round(f, digits)
		}
		n, err := python.RoundInt(r.integer(v), digits)
		if err != nil {
			r.fail("%v", err)
		}
		return n
	}
	to, ok := map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor}[method]
	if !ok {
		r.fail("round by %.40q, want common, ceil or floor", method)
	}
	unit := r.operate(infix["**"], int64(10), b[0])
	n := r.truncated(to(r.float(r.operate(times, v, unit))), nil)
	if n == nil {
		r.fail("the integer of %s", typeName(v))
	}
	return r.operate(infix["/"], n, unit)
}

// float returns a value that is a number.
func (r *runner) float(v value) float64 {
	f, ok := number(v)
	if !ok {
		r.fail("%s, want a number", typeName(v))
	}
	return f
}

// fileSize writes a number of bytes.
func fileSize(r *runner, v value, b []value) value {
	bytes, ok := toFloat(r, v, []value{nil}).(float64)
	if !ok {
		r.fail("a file of %s", typeName(v))
	}
	base, unit := 1000.0, "B"
	if truth(b[0]) {
		base, unit = 1024, "iB"
	}
	switch {
	case bytes != bytes || math.IsInf(bytes, 0):
		r.fail("a file of %s bytes", python.FormatFloat(bytes))
	case bytes == 1:
		return Inside("1 Byte")
	case bytes < base:
		return Inside(fmt.Sprintf("%d Bytes", int64(bytes)))
	}
	for i, prefix := range "kMGTPEZY" {
		size := math.Pow(base, float64(i+2))
		if bytes < size || prefix == 'Y' {
			if prefix == 'k' && truth(b[0]) {
				prefix = 'K'
			}
			return Inside(fmt.Sprintf("%.1f %c%s", base*bytes/size, prefix, unit))
		}
	}
	return nil
}
