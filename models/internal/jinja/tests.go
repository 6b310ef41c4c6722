package jinja

import "strings"

// tests are what can follow "is". They return a bool.
var tests = map[string]operation{
	"defined":   func(r *runner, v value, a args) value { return !isUndefined(v) },
	"undefined": func(r *runner, v value, a args) value { return isUndefined(v) },
	"none":      func(r *runner, v value, a args) value { return v == nil },
	"true":      func(r *runner, v value, a args) value { return v == true },
	"false":     func(r *runner, v value, a args) value { return v == false },
	"string":    is[Str],
	"boolean":   is[bool],
	"integer":   is[int64],
	"float":     is[float64],
	"mapping":   is[*Dict],
	"callable":  is[callable],
	"number": func(r *runner, v value, a args) value {
		_, ok := number(v)
		return ok
	},
	"sequence": sequence,
	"iterable": sequence,
	"odd":      func(r *runner, v value, a args) value { return r.remainder(v, int64(2)) != 0 },
	"even":     func(r *runner, v value, a args) value { return r.remainder(v, int64(2)) == 0 },
	"divisibleby": func(r *runner, v value, a args) value {
		return r.remainder(v, r.bind("divisibleby", a, "by")[0]) == 0
	},
	"equalto": compared("=="), "eq": compared("=="), "ne": compared("!="), "sameas": compared("=="),
	"lt": compared("<"), "le": compared("<="), "gt": compared(">"), "ge": compared(">="),
	"lessthan": compared("<"), "greaterthan": compared(">"), "in": compared("in"),
	"upper": func(r *runner, v value, a args) value { return r.sameAs(v, strings.ToUpper) },
	"lower": func(r *runner, v value, a args) value { return r.sameAs(v, strings.ToLower) },
}

func isUndefined(v value) bool {
	_, ok := v.(undefined)
	return ok || isAbsent(v)
}

func is[T any](r *runner, v value, a args) value {
	_, ok := v.(T)
	return ok
}

func sequence(r *runner, v value, a args) value {
	switch v.(type) {
	case Str, *List, *Dict, undefined:
		return true
	}
	return false
}

func (r *runner) remainder(v, by value) int64 {
	x, okX := whole(v)
	y, okY := whole(by)
	if !okX || !okY {
		r.fail("%s divided by %s, want integers", typeName(v), typeName(by))
	}
	return r.integers("%", x, y).(int64)
}

func compared(op string) operation {
	return func(r *runner, v value, a args) value {
		return r.operate(infix[op], v, r.bind(op, a, "other")...)
	}
}

// sameAs returns whether a string has letters and is what a conversion makes of it.
func (r *runner) sameAs(v value, convert func(string) string) bool {
	s := r.show(v)
	upper, lower := r.converted(s, strings.ToUpper), r.converted(s, strings.ToLower)
	return upper.text != lower.text && s.text == r.converted(s, convert).text
}
