package jinja

// tests are what can follow "is".
var tests = map[string]func(r *runner, v value, a args) bool{
	"defined":   func(r *runner, v value, a args) bool { return !isUndefined(v) },
	"undefined": func(r *runner, v value, a args) bool { return isUndefined(v) },
	"none":      func(r *runner, v value, a args) bool { return v == nil },
	"true":      func(r *runner, v value, a args) bool { return v == true },
	"false":     func(r *runner, v value, a args) bool { return v == false },
	"string":    is[Str],
	"boolean":   is[bool],
	"integer":   is[int64],
	"float":     is[float64],
	"mapping":   is[*Dict],
	"callable":  is[callable],
	"number": func(r *runner, v value, a args) bool {
		_, ok := number(v)
		return ok
	},
	"sequence": sequence,
	"iterable": sequence,
	"odd":      func(r *runner, v value, a args) bool { return r.remainder(v, int64(2)) != 0 },
	"even":     func(r *runner, v value, a args) bool { return r.remainder(v, int64(2)) == 0 },
	"divisibleby": func(r *runner, v value, a args) bool {
		return r.remainder(v, r.bind("divisibleby", a, "by")[0]) == 0
	},
	"equalto": compared("=="), "eq": compared("=="), "ne": compared("!="), "sameas": compared("=="),
	"lt": compared("<"), "le": compared("<="), "gt": compared(">"), "ge": compared(">="),
	"lessthan": compared("<"), "greaterthan": compared(">"), "in": compared("in"),
	"upper": func(r *runner, v value, a args) bool { return r.sameAs("upper", v) },
	"lower": func(r *runner, v value, a args) bool { return r.sameAs("lower", v) },
}

func isUndefined(v value) bool {
	_, ok := v.(undefined)
	return ok || isAbsent(v)
}

func is[T any](r *runner, v value, a args) bool {
	_, ok := v.(T)
	return ok
}

func sequence(r *runner, v value, a args) bool {
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

func compared(op string) func(r *runner, v value, a args) bool {
	return func(r *runner, v value, a args) bool { return r.holds(op, v, r.bind(op, a, "other")[0]) }
}

// sameAs returns whether a string has letters and is what a filter makes of it.
func (r *runner) sameAs(filter string, v value) bool {
	s := r.show(v)
	upper := filters["upper"](r, s, args{}).(Str).String()
	lower := filters["lower"](r, s, args{}).(Str).String()
	return upper != lower && s.String() == map[string]string{"upper": upper, "lower": lower}[filter]
}
