package jinja

import "github.com/attn-go/attn/models/internal/jinja/python"

var tests map[string]operation

func init() { // not where it is declared, as the test "test" uses it
	tests = map[string]operation{
		"defined":   alone("defined", func(r *runner, v value) value { return !is[undefined](v) }),
		"undefined": alone("undefined", func(r *runner, v value) value { return is[undefined](v) }),
		"none":      alone("none", func(r *runner, v value) value { return v == nil }),
		"true":      alone("true", func(r *runner, v value) value { return v == true }),
		"false":     alone("false", func(r *runner, v value) value { return v == false }),
		"string":    alone("string", func(r *runner, v value) value { return is[Str](v) }),
		"boolean":   alone("boolean", func(r *runner, v value) value { return is[bool](v) }),
		"integer":   alone("integer", func(r *runner, v value) value { return is[int64](v) || is[longInt](v) }),
		"float":     alone("float", func(r *runner, v value) value { return is[float64](v) }),
		"mapping":   alone("mapping", func(r *runner, v value) value { return is[*Dict](v) }),
		"callable":  alone("callable", func(r *runner, v value) value { return is[callable](v) || is[undefined](v) || is[*position](v) }),
		"escaped":   alone("escaped", func(r *runner, v value) value { s, ok := v.(Str); return ok && s.safe }),
		"number": alone("number", func(r *runner, v value) value {
			_, ok := number(v)
			return ok || is[longInt](v)
		}),
		"sequence": alone("sequence", func(r *runner, v value) value {
			l, ok := v.(*List)
			return ok && l.kind <= span || is[Str](v) || is[*Dict](v) || is[undefined](v)
		}),
		"iterable":    alone("iterable", func(r *runner, v value) value { return isIterable(v) || is[*position](v) }),
		"odd":         alone("odd", func(r *runner, v value) value { return r.rest(v, int64(2), 1) }),
		"even":        alone("even", func(r *runner, v value) value { return r.rest(v, int64(2), 0) }),
		"divisibleby": takes("divisibleby(num)", func(r *runner, v value, b []value) value { return r.rest(v, b[0], 0) }),
		"sameas":      takes("sameas(other)", func(r *runner, v value, b []value) value { return same(v, b[0]) }),
		"in":          takes("in(seq)", func(r *runner, v value, b []value) value { return r.contains(b[0], v) }),
		"upper":       alone("upper", func(r *runner, v value) value { return python.IsUpper(r.show(v).text) }),
		"lower":       alone("lower", func(r *runner, v value) value { return python.IsLower(r.show(v).text) }),
		"filter":      alone("filter", func(r *runner, v value) value { return r.known(filters, v) }),
		"test":        alone("test", func(r *runner, v value) value { return r.known(tests, v) }),
	}
	for op, names := range map[string][]string{
		"==": {"eq", "equalto"}, "!=": {"ne"}, "<": {"lt", "lessthan"}, "<=": {"le"}, ">": {"gt", "greaterthan"}, ">=": {"ge"},
	} {
		for _, name := range append(names, op) {
			tests[name] = takes(name+"(other, /)", func(r *runner, v value, b []value) value { return r.operate(infix[op], v, b[0]) })
		}
	}
}

// test returns the test of a name.
func (r *runner) test(name string) operation {
	if t, ok := tests[name]; ok {
		return t
	}
	return r.unknown("test", name)
}

// known tells whether a table has a name.
func (r *runner) known(table map[string]operation, name value) bool {
	if isObject(name) {
		return false
	}
	s, ok := r.key(name).(Str)
	return ok && table[s.text] != nil
}

func is[T any](v value) bool {
	_, ok := v.(T)
	return ok
}

// rest tells whether a division leaves a rest.
func (r *runner) rest(v, by value, rest int64) bool {
	return r.equal(r.operate(infix["%"], v, by), rest)
}

// same tells whether values are one: of what does not change, whether they are alike.
func same(a, b value) bool {
	switch a := a.(type) {
	case undefined:
		return false
	case Str:
		b, ok := b.(Str)
		return ok && a.text == b.text && a.safe == b.safe
	case callable:
		b, ok := b.(callable)
		return ok && a.macro != nil && a.macro == b.macro
	}
	return !is[callable](b) && !is[Str](b) && a == b
}
