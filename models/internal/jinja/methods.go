package jinja

import (
	"strings"
	"unicode"
)

// methods are the methods of a type.
type methods[T any] map[string]func(r *runner, of T, a args) value

// method returns a method of a value.
func method[T any](all methods[T], of T, name string) (value, bool) {
	m, ok := all[name]
	if !ok {
		return nil, false
	}
	return callable(func(r *runner, a args) value { return m(r, of, a) }), true
}

var stringMethods = methods[Str]{
	"strip":      func(r *runner, s Str, a args) value { return r.trim(s, a, true, true) },
	"lstrip":     func(r *runner, s Str, a args) value { return r.trim(s, a, true, false) },
	"rstrip":     func(r *runner, s Str, a args) value { return r.trim(s, a, false, true) },
	"upper":      func(r *runner, s Str, a args) value { return r.changed("upper", s, a, strings.ToUpper) },
	"lower":      func(r *runner, s Str, a args) value { return r.changed("lower", s, a, strings.ToLower) },
	"title":      func(r *runner, s Str, a args) value { return r.changed("title", s, a, titler(notLetter)) },
	"capitalize": func(r *runner, s Str, a args) value { return r.changed("capitalize", s, a, capitalizer()) },
	"split":      splitMethod,
	"splitlines": func(r *runner, s Str, a args) value {
		r.bind("splitlines", a)
		flat := r.text(s).String()
		if flat == "" {
			return &List{}
		}
		if strings.HasSuffix(flat, "\n") {
			s = s.cut(0, len(flat)-1)
		}
		return list(s.split("\n", -1))
	},
	"startswith": func(r *runner, s Str, a args) value {
		return r.affix("startswith", s, a, strings.HasPrefix)
	},
	"endswith": func(r *runner, s Str, a args) value { return r.affix("endswith", s, a, strings.HasSuffix) },
	"replace": func(r *runner, s Str, a args) value {
		b := r.bind("replace", a, "old", "new", "count")
		return r.replaced(s, b[0], b[1], b[2])
	},
	"join": func(r *runner, s Str, a args) value {
		b := r.bind("join", a, "items")
		return r.joined(r.items(b[0]), s)
	},
	"find": func(r *runner, s Str, a args) value {
		flat := r.text(s).String()
		n := strings.Index(flat, r.text(r.bind("find", a, "text")[0]).String())
		if n > 0 {
			n = len([]rune(flat[:n]))
		}
		return int64(n)
	},
	"isdigit": func(r *runner, s Str, a args) value {
		flat := r.text(s).String()
		return flat != "" && strings.IndexFunc(flat, func(c rune) bool { return !unicode.IsDigit(c) }) < 0
	},
}

func (r *runner) trim(s Str, a args, left, right bool) value {
	set := r.textOr(r.bind("strip", a, "characters")[0], "")
	return r.text(s).trim(set, left, right)
}

func (r *runner) changed(name string, s Str, a args, f func(string) string) value {
	r.bind(name, a)
	return r.text(s).convert(f)
}

// affix also takes a tuple of which one shall fit.
func (r *runner) affix(name string, s Str, a args, fits func(s, affix string) bool) value {
	b := r.bind(name, a, "text")
	flat := r.text(s).String()
	if l, ok := b[0].(*List); ok {
		for _, v := range l.items {
			if fits(flat, r.text(v).String()) {
				return true
			}
		}
		return false
	}
	return fits(flat, r.text(b[0]).String())
}

func splitMethod(r *runner, s Str, a args) value {
	b := r.bind("split", a, "sep", "maxsplit")
	r.text(s)
	if b[0] == nil || isAbsent(b[0]) {
		if !isAbsent(b[1]) {
			r.fail("split at white space with a maxsplit")
		}
		return r.pieces(s.fields())
	}
	sep := r.text(b[0]).String()
	if sep == "" {
		r.fail("split with an empty separator")
	}
	return r.pieces(s.split(sep, r.intOr(b[1], -1)))
}

// pieces counts the work of making a list of strings.
func (r *runner) pieces(all []Str) value {
	r.spend(partCost * len(all))
	return list(all)
}

func list(all []Str) *List {
	l := &List{}
	for _, s := range all {
		l.items = append(l.items, s)
	}
	return l
}

func (r *runner) replaced(s Str, old, new, count value) Str {
	from, to := r.text(old).String(), r.text(new)
	n := strings.Count(r.text(s).String(), from)
	r.spendTimes(to.len()+partCost*(len(to)+1), int64(n))
	return s.replace(from, to, r.intOr(count, -1))
}

func (r *runner) joined(items []value, sep Str) Str {
	r.spendTimes(sep.len()+partCost*(len(sep)+1), int64(len(items)))
	all := make([]Str, 0, 2*len(items))
	for i, v := range items {
		if i > 0 {
			all = append(all, sep)
		}
		all = append(all, r.made(r.show(v)))
	}
	return concat(all...)
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

var dictMethods = methods[*Dict]{
	"items":  func(r *runner, d *Dict, a args) value { return r.pairs(d) },
	"keys":   func(r *runner, d *Dict, a args) value { return &List{items: d.names} },
	"values": func(r *runner, d *Dict, a args) value { return &List{items: r.values(d)} },
	"get": func(r *runner, d *Dict, a args) value {
		b := r.bind("get", a, "key", "default")
		if v, ok := d.get(b[0]); ok {
			return v
		}
		if isAbsent(b[1]) {
			return nil
		}
		return b[1]
	},
}

func (r *runner) values(d *Dict) (all []value) {
	r.spend(partCost * len(d.keys))
	for _, k := range d.keys {
		all = append(all, d.values[k])
	}
	return all
}

func (r *runner) pairs(d *Dict) *List {
	l := &List{}
	for i, v := range r.values(d) {
		l.items = append(l.items, &List{[]value{d.names[i], v}, true})
	}
	return l
}
