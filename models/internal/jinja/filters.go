package jinja

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

var filters map[string]func(r *runner, v value, a args) value

func init() {
	filters = map[string]func(r *runner, v value, a args) value{
		"trim": func(r *runner, v value, a args) value {
			set := r.textOr(r.bind("trim", a, "chars")[0], "")
			return r.text(r.show(v)).trim(set, true, true)
		},
		"upper":      func(r *runner, v value, a args) value { return r.changed("upper", r.show(v), a, strings.ToUpper) },
		"lower":      func(r *runner, v value, a args) value { return r.changed("lower", r.show(v), a, strings.ToLower) },
		"title":      func(r *runner, v value, a args) value { return r.changed("title", r.show(v), a, titler(bracket)) },
		"capitalize": func(r *runner, v value, a args) value { return r.changed("capitalize", r.show(v), a, capitalizer()) },
		"replace": func(r *runner, v value, a args) value {
			b := r.bind("replace", a, "old", "new", "count")
			return r.replaced(r.show(v), b[0], b[1], b[2])
		},
		"string": func(r *runner, v value, a args) value { return r.show(v) },
		"safe":   func(r *runner, v value, a args) value { return v },
		"join": func(r *runner, v value, a args) value {
			b := r.bind("join", a, "d", "attribute")
			items := r.items(v)
			if !isAbsent(b[1]) {
				items = r.attributes(items, b[1])
			}
			if isAbsent(b[0]) {
				b[0] = Str(nil)
			}
			return r.joined(items, r.text(b[0]))
		},
		"length": length, "count": length,
		"default": defaultTo, "d": defaultTo,
		"first": func(r *runner, v value, a args) value { return r.at(v, func(n int) int { return 0 }) },
		"last":  func(r *runner, v value, a args) value { return r.at(v, func(n int) int { return n - 1 }) },
		"list": func(r *runner, v value, a args) value {
			items := r.items(v)
			r.spend(partCost * len(items))
			return &List{items: items}
		},
		"items": func(r *runner, v value, a args) value {
			d, ok := v.(*Dict)
			if !ok {
				r.fail("the items of %s", typeName(v))
			}
			return r.pairs(d)
		},
		"dictsort": func(r *runner, v value, a args) value {
			d, ok := v.(*Dict)
			if !ok {
				r.fail("the items of %s", typeName(v))
			}
			return r.sorted(r.pairs(d).items, false)
		},
		"reverse": func(r *runner, v value, a args) value {
			items := slices.Clone(r.items(v))
			r.spend(partCost * len(items))
			slices.Reverse(items)
			if _, ok := v.(Str); ok {
				return r.joined(items, nil)
			}
			return &List{items: items}
		},
		"sort": func(r *runner, v value, a args) value {
			b := r.bind("sort", a, "reverse")
			return r.sorted(r.items(v), !isAbsent(b[0]) && truth(b[0]))
		},
		"unique":     unique,
		"map":        mapped,
		"select":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, true) },
		"reject":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, false) },
		"selectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, true) },
		"rejectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, false) },
		"tojson": func(r *runner, v value, a args) value {
			return r.json(v, max(-1, min(r.intOr(r.bind("tojson", a, "indent")[0], -1), 100)), 0)
		},
		"indent": indent,
		"int":    toInt,
		"float": func(r *runner, v value, a args) value {
			f, ok := toFloat(v)
			if !ok {
				return 0.0
			}
			return f
		},
		"abs": func(r *runner, v value, a args) value {
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
		},
		"sum": func(r *runner, v value, a args) value {
			var sum value = int64(0)
			for _, item := range r.items(v) {
				sum = r.eval(&binary{"+", &constant{sum}, &constant{item}})
			}
			return sum
		},
	}
}

func length(r *runner, v value, a args) value {
	switch v := v.(type) {
	case undefined:
		return int64(0)
	case Str:
		return int64(r.text(v).count())
	case *List:
		return int64(len(v.items))
	case *Dict:
		return int64(len(v.keys))
	}
	r.fail("the length of %s", typeName(v))
	return nil
}

func defaultTo(r *runner, v value, a args) value {
	b := r.bind("default", a, "default_value", "boolean")
	_, missing := v.(undefined)
	if missing || !isAbsent(b[1]) && truth(b[1]) && !truth(v) {
		if isAbsent(b[0]) {
			return Str(nil)
		}
		return b[0]
	}
	return v
}

// at returns one of the items of a value.
func (r *runner) at(v value, index func(n int) int) value {
	items := r.items(v)
	if len(items) == 0 {
		return undefined{"an item of nothing"}
	}
	return items[index(len(items))]
}

// sorted returns items in order; strings without regard to case.
func (r *runner) sorted(items []value, reverse bool) *List {
	items = slices.Clone(items)
	keys := make([]value, len(items))
	r.spend(partCost * len(items))
	for i, v := range items {
		keys[i] = r.folded(v)
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := keys[order[i]], keys[order[j]]
		if reverse {
			a, b = b, a
		}
		less, ok := r.compare(a, b, 0)
		if !ok {
			r.fail("%s and %s have no order", typeName(a), typeName(b))
		}
		return less < 0
	})
	sorted := make([]value, len(items))
	for i, at := range order {
		sorted[i] = items[at]
	}
	return &List{items: sorted}
}

// folded is v in lower case, if it is a string.
func (r *runner) folded(v value) value {
	switch v := v.(type) {
	case Str:
		return r.text(v).convert(strings.ToLower)
	case *List:
		if v.tuple && len(v.items) == 2 { // an entry of a mapping
			return &List{[]value{r.folded(v.items[0])}, true}
		}
	}
	return v
}

func unique(r *runner, v value, a args) value {
	l := &List{}
	for _, item := range r.items(v) {
		known := false
		for _, other := range l.items {
			known = known || r.equal(r.folded(item), r.folded(other), 0)
		}
		if !known {
			l.items = append(l.items, item)
		}
	}
	return l
}

// attributes returns an attribute of all items, which may be one of an attribute: "a.b".
func (r *runner) attributes(items []value, name value) []value {
	var all []value
	if i, ok := whole(name); ok {
		for _, v := range items {
			all = append(all, r.eval(&item{&constant{v}, &constant{i}}))
		}
		return all
	}
	path := strings.Split(r.text(name).String(), ".")
	for _, v := range items {
		for _, step := range path {
			r.spend(nodeCost)
			v = r.eval(&item{&constant{v}, &constant{Inside(step)}})
		}
		all = append(all, v)
	}
	return all
}

// mapped applies a filter to all items, or takes an attribute of them.
func mapped(r *runner, v value, a args) value {
	items := r.items(v)
	if i := slices.Index(a.names, "attribute"); i >= 0 && len(a.positional) == 0 {
		all := r.attributes(items, a.named[i])
		if d := slices.Index(a.names, "default"); d >= 0 {
			for i, v := range all {
				if _, ok := v.(undefined); ok {
					all[i] = a.named[d]
				}
			}
		}
		return &List{items: all}
	}
	if len(a.positional) == 0 {
		r.fail("map without a filter")
	}
	name := r.text(a.positional[0]).String()
	f, ok := filters[name]
	if !ok {
		r.fail("filter %q, which is not known", name)
	}
	a.positional = a.positional[1:]
	l := &List{}
	for _, v := range items {
		r.spend(nodeCost)
		l.items = append(l.items, f(r, v, a))
	}
	return l
}

// chosen returns the items that pass a test, or of which an attribute does; or those that do not.
// Without a test the value itself counts.
func (r *runner) chosen(v value, a args, attribute, pass bool) value {
	items := r.items(v)
	tested := items
	rest := a.positional
	if attribute {
		if len(rest) == 0 {
			r.fail("selectattr or rejectattr without an attribute")
		}
		tested = r.attributes(items, rest[0])
		rest = rest[1:]
	}
	check := func(v value) bool { return truth(v) }
	if len(rest) > 0 {
		name := r.text(rest[0]).String()
		f, ok := tests[name]
		if !ok {
			r.fail("test %q, which is not known", name)
		}
		a.positional = rest[1:]
		check = func(v value) bool { return f(r, v, a) }
	}
	l := &List{}
	for i, v := range tested {
		r.spend(nodeCost)
		if check(v) == pass {
			l.items = append(l.items, items[i])
		}
	}
	return l
}

// indent puts white space before all lines but the first and empty ones.
func indent(r *runner, v value, a args) value {
	b := r.bind("indent", a, "width", "first", "blank")
	space := ""
	if s, ok := b[0].(Str); ok {
		space = s.String()
	} else {
		n := r.intOr(b[0], 4)
		r.spend(max(n, 0))
		space = strings.Repeat(" ", max(n, 0))
	}
	first, blank := !isAbsent(b[1]) && truth(b[1]), !isAbsent(b[2]) && truth(b[2])
	lines := r.text(v).split("\n", -1)
	r.spendTimes(len(space)+partCost, int64(len(lines)))
	for i, line := range lines {
		if (i > 0 || first) && (len(line) > 0 || blank) {
			line = concat(Inside(space), line)
		}
		if i > 0 {
			line = concat(Inside("\n"), line)
		}
		lines[i] = line
	}
	return concat(lines...)
}

func toInt(r *runner, v value, a args) value {
	missing := r.intOr(r.bind("int", a, "default")[0], 0)
	if i, ok := whole(v); ok {
		return i
	}
	if s, ok := v.(Str); ok {
		if i, err := strconv.ParseInt(strings.TrimFunc(s.String(), isSpace), 10, 64); err == nil {
			return i
		}
	}
	f, ok := toFloat(v)
	if !ok || math.Abs(f) >= 1<<63 || f != f {
		return int64(missing)
	}
	return int64(f)
}

func toFloat(v value) (float64, bool) {
	if f, ok := number(v); ok {
		return f, true
	}
	s, ok := v.(Str)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.TrimFunc(s.String(), isSpace), 64)
	return f, err == nil
}
