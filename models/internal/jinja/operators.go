package jinja

import (
	"math"
	"slices"
	"unicode/utf8"
)

// infix are the operators that a template writes between their operands.
var infix = map[string]operation{
	"~": func(r *runner, v value, a args) value {
		b := builder{m: &r.meter}
		b.add(r.show(v))
		b.add(r.show(a.positional[0]))
		return b.str()
	},
	"+": plus, "*": times,
	"-": calculation("-"), "/": calculation("/"), "//": calculation("//"), "**": calculation("**"), "%": remainder,
	"==":     func(r *runner, v value, a args) value { return r.equal(v, a.positional[0]) },
	"!=":     func(r *runner, v value, a args) value { return !r.equal(v, a.positional[0]) },
	"in":     func(r *runner, v value, a args) value { return r.contains(a.positional[0], v) },
	"not in": func(r *runner, v value, a args) value { return !r.contains(a.positional[0], v) },
	"<":      ordered(func(order int) bool { return order < 0 }),
	"<=":     ordered(func(order int) bool { return order <= 0 }),
	">":      ordered(func(order int) bool { return order > 0 }),
	">=":     ordered(func(order int) bool { return order >= 0 }),
}

func ordered(holds func(order int) bool) operation {
	return func(r *runner, v value, a args) value { return holds(r.order(v, a.positional[0])) }
}

// order is compare for values that must have an order.
func (r *runner) order(a, b value) int {
	order, ok := r.compare(a, b)
	if !ok {
		r.fail("%s and %s have no order", typeName(a), typeName(b))
	}
	return order
}

// plus is also for strings and lists.
func plus(r *runner, v value, a args) value {
	other := a.positional[0]
	switch x := v.(type) {
	case Str:
		if y, ok := other.(Str); ok {
			if x.safe || y.safe {
				x, y = r.escaped(x), r.escaped(y)
			}
			b := builder{m: &r.meter}
			b.add(x)
			b.add(y)
			return b.str().like(x)
		}
	case *List:
		if y, ok := other.(*List); ok && x.kind == y.kind && x.kind <= tuple {
			r.memory(slotSize * (len(x.items) + len(y.items)))
			return &List{items: slices.Concat(x.items, y.items), kind: x.kind, depth: max(x.depth, y.depth)}
		}
	}
	return r.calculate("+", v, other)
}

// times is also for a string or a list, so many times.
func times(r *runner, v value, a args) value {
	other := a.positional[0]
	many, n := v, other
	if _, ok := whole(v); ok {
		many, n = other, v
	}
	count, ok := whole(n)
	if !ok {
		return r.calculate("*", v, other)
	}
	switch x := many.(type) {
	case Str:
		b := builder{m: &r.meter}
		for range count {
			b.add(x)
		}
		return b.str().like(x)
	case *List:
		if x.kind > tuple {
			break
		}
		var items []value
		for range count {
			r.work(nodeCost)
			r.memory(slotSize * len(x.items))
			items = append(items, x.items...)
		}
		return &List{items: items, kind: x.kind, depth: x.depth}
	}
	return r.calculate("*", v, other)
}

// itemOf returns v[key].
func itemOf(r *runner, v value, a args) value {
	key := a.positional[0]
	i, isWhole := whole(key)
	switch v := v.(type) {
	case *Dict:
		if found, ok := v.get(key); ok {
			return found
		}
	case *List:
		if at, ok := place(i, len(v.items)); ok && isWhole && v.kind <= span {
			return v.items[at]
		}
	case Str:
		if isWhole {
			return r.char(v, i)
		}
	}
	if s, ok := key.(Str); ok {
		return r.attribute(v, s.text)
	}
	if _, ok := v.(undefined); ok {
		r.fail("%s is asked for an item", typeName(v))
	}
	return undefined{"an item"}
}

// char returns a character of a string.
func (r *runner) char(s Str, i int64) value {
	at, ok := place(i, s.count())
	if !ok {
		return undefined{"a character of a string"}
	}
	start := s.offset(at)
	_, n := utf8.DecodeRuneInString(s.text[start:])
	return s.cut(&r.meter, start, start+n)
}

// place returns an index that may be counted from the end as one from the beginning, and whether
// there is such an item of n.
func place(i int64, n int) (at int, ok bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

// sliceOf returns v[from:to:step].
func sliceOf(r *runner, v value, a args) value {
	b := bounds{from: r.bound(a.positional[0], math.MinInt64), to: r.bound(a.positional[1], math.MinInt64), step: r.bound(a.positional[2], 1)}
	if b.step == 0 {
		r.fail("a slice with step 0")
	}
	switch v := v.(type) {
	case *List:
		if v.kind == span {
			return r.sliceSpan(v, b)
		}
		if v.kind < span {
			return &List{items: r.pick(v.items, b), kind: v.kind, depth: v.depth}
		}
	case Str:
		return r.substring(v, b)
	}
	r.fail("%s cannot be sliced", typeName(v))
	return nil
}

// bound returns a bound of a slice.
func (r *runner) bound(v value, missing int64) int64 {
	if v == nil {
		return missing
	}
	i, ok := whole(v)
	if !ok {
		r.fail("a slice with %s, want an integer", typeName(v))
	}
	return max(i, math.MinInt64+1)
}

// bounds are the bounds of a slice. math.MinInt64 stands for one that is missing.
type bounds struct{ from, to, step int64 }

// of returns the bounds of a slice of n items: none is outside of them.
func (b bounds) of(n int) bounds {
	size := int64(n)
	low, high := int64(0), size
	if b.step < 0 {
		low, high = -1, size-1
	}
	limit := func(i, missing int64) int64 {
		if i == math.MinInt64 {
			return missing
		}
		if i < 0 {
			i += size
		}
		return min(max(i, low), high)
	}
	if b.step < 0 {
		return bounds{limit(b.from, high), limit(b.to, low), b.step}
	}
	return bounds{limit(b.from, low), limit(b.to, high), b.step}
}

// pick returns the items of a slice.
func (r *runner) pick(items []value, b bounds) (picked []value) {
	b = b.of(len(items))
	for i := b.from; b.step > 0 && i < b.to || b.step < 0 && i > b.to; i += b.step {
		r.memory(slotSize)
		picked = append(picked, items[i])
		if i > math.MaxInt64-max(b.step, 0) || i < math.MinInt64-min(b.step, 0) {
			break
		}
	}
	return picked
}

// substring returns the characters of a slice.
func (r *runner) substring(s Str, b bounds) Str {
	if b.step != 1 {
		return r.joined(r.pick(s.chars(&r.meter), b), Str{}).like(s)
	}
	b = b.of(s.count())
	return s.cut(&r.meter, s.offset(int(b.from)), s.offset(int(b.to)))
}
