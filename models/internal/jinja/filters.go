package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

var filters map[string]operation

func init() { // not where it is declared, as map uses it
	filters = map[string]operation{
		"trim": func(r *runner, v value, a args) value {
			return r.show(v).trim(&r.meter, r.textOr(r.bind("trim", a, "chars")[0], ""), true, true)
		},
		"upper":      func(r *runner, v value, a args) value { return r.changed("upper", r.show(v), a, strings.ToUpper) },
		"lower":      func(r *runner, v value, a args) value { return r.changed("lower", r.show(v), a, strings.ToLower) },
		"title":      func(r *runner, v value, a args) value { return r.changed("title", r.show(v), a, titler(bracket)) },
		"capitalize": func(r *runner, v value, a args) value { return r.changed("capitalize", r.show(v), a, capitalizer()) },
		"replace":    func(r *runner, v value, a args) value { return r.replaced(r.show(v), a) },
		"string":     func(r *runner, v value, a args) value { return r.show(v) },
		"safe":       func(r *runner, v value, a args) value { return v },
		"indent":     indent,
		"join":       join,
		"tojson":     tojson,

		"length": length, "count": length,
		"default": defaultTo, "d": defaultTo,
		"int": toInt, "float": toFloat, "abs": abs, "sum": sum,

		"first":    func(r *runner, v value, a args) value { return r.end(v, 0) },
		"last":     func(r *runner, v value, a args) value { return r.end(v, -1) },
		"list":     func(r *runner, v value, a args) value { return r.list(r.items(v)) },
		"items":    func(r *runner, v value, a args) value { return r.pairs(r.mapping(v)) },
		"dictsort": func(r *runner, v value, a args) value { return r.sorted(r.pairs(r.mapping(v)).items, false) },
		"sort": func(r *runner, v value, a args) value {
			reverse := yes(r.bind("sort", a, "reverse")[0])
			return r.sorted(r.items(v), reverse)
		},
		"reverse":    reverse,
		"unique":     unique,
		"map":        mapped,
		"select":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, true) },
		"reject":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, false) },
		"selectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, true) },
		"rejectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, false) },
	}
}

func length(r *runner, v value, a args) value {
	switch v := v.(type) {
	case undefined:
		return int64(0)
	case Str:
		return int64(v.count())
	case *List:
		return int64(len(v.items))
	case *Dict:
		return int64(len(v.entries))
	}
	r.fail("the length of %s", typeName(v))
	return nil
}

func defaultTo(r *runner, v value, a args) value {
	b := r.bind("default", a, "default_value", "boolean")
	_, missing := v.(undefined)
	if missing || yes(b[1]) && !truth(v) {
		if isAbsent(b[0]) {
			return Str{}
		}
		return b[0]
	}
	return v
}

// join joins the items of a value, or an attribute of them.
func join(r *runner, v value, a args) value {
	b := r.bind("join", a, "d", "attribute")
	items := r.items(v)
	if !isAbsent(b[1]) {
		items = r.attributes(items, b[1])
	}
	sep := Str{}
	if !isAbsent(b[0]) {
		sep = r.text(b[0])
	}
	return r.joined(items, sep)
}

func tojson(r *runner, v value, a args) value {
	b := builder{m: &r.meter}
	r.json(&b, v, max(-1, min(r.intOr(r.bind("tojson", a, "indent")[0], -1), 100)), 0)
	return b.str()
}

// indent puts white space before all lines but the first and empty ones.
func indent(r *runner, v value, a args) value {
	b := r.bind("indent", a, "width", "first", "blank")
	space := ""
	if s, ok := b[0].(Str); ok {
		space = s.text
	} else {
		n := max(r.intOr(b[0], 4), 0)
		r.memory(n)
		space = strings.Repeat(" ", n)
	}
	first, blank := yes(b[1]), yes(b[2])
	out := builder{m: &r.meter}
	for i, line := range r.text(v).split(&r.meter, "\n", -1) {
		if i > 0 {
			out.inside("\n")
		}
		if (i > 0 || first) && (truth(line) || blank) {
			out.inside(space)
		}
		out.add(line.(Str))
	}
	return out.str()
}

func toInt(r *runner, v value, a args) value {
	missing := r.intOr(r.bind("int", a, "default")[0], 0)
	if i, ok := whole(v); ok {
		return i
	}
	if i, err := strconv.ParseInt(r.digits(v), 10, 64); err == nil {
		return i
	}
	f, ok := r.float(v)
	if !ok || math.Abs(f) >= 1<<63 || f != f {
		return int64(missing)
	}
	return int64(f)
}

func toFloat(r *runner, v value, a args) value {
	f, ok := r.float(v)
	if !ok {
		return 0.0
	}
	return f
}

// float returns the number that a value is or that a string has.
func (r *runner) float(v value) (float64, bool) {
	if f, ok := number(v); ok {
		return f, true
	}
	f, err := strconv.ParseFloat(r.digits(v), 64)
	return f, err == nil
}

// digits returns a string without the space around it, or "". Package strconv copies it into its
// errors.
func (r *runner) digits(v value) string {
	s, ok := v.(Str)
	if !ok {
		return ""
	}
	r.memory(len(s.text))
	return strings.TrimFunc(s.text, isSpace)
}

func abs(r *runner, v value, a args) value {
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

func sum(r *runner, v value, a args) value {
	var sum value = int64(0)
	for _, item := range r.items(v) {
		sum = r.operate(plus, sum, item)
	}
	return sum
}

// mapping returns a value that is a dict.
func (r *runner) mapping(v value) *Dict {
	d, ok := v.(*Dict)
	if !ok {
		r.fail("the items of %s", typeName(v))
	}
	return d
}

func reverse(r *runner, v value, a args) value {
	items := slices.Clone(r.items(v))
	slices.Reverse(items)
	if _, ok := v.(Str); ok {
		return r.joined(items, Str{})
	}
	return r.list(items)
}
