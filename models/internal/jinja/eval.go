package jinja

import (
	"math"
	"strings"
)

func (n *constant) eval(*runner) value { return n.value }

func (n *variable) eval(r *runner) value {
	if v, ok := r.scope.find(n.name); ok {
		return v
	}
	return undefined{n.name}
}

func (n *listNode) eval(r *runner) value {
	l := &List{tuple: n.tuple}
	for _, item := range n.items {
		l.items = append(l.items, r.eval(item))
	}
	return l
}

func (n *dictNode) eval(r *runner) value {
	d := NewDict()
	for i, k := range n.keys {
		d.set(r.key(r.eval(k)), r.eval(n.values[i]))
	}
	return d
}

// key checks that a value can be a key.
func (r *runner) key(v value) value {
	switch v.(type) {
	case nil, bool, int64, float64, Str:
		return v
	}
	r.fail("%s cannot be a key", typeName(v))
	return nil
}

func (n *attribute) eval(r *runner) value { return r.attribute(r.eval(n.of), n.name) }

// attribute returns v.name: a method, an attribute or an entry.
func (r *runner) attribute(v value, name string) value {
	var found value
	ok := false
	switch v := v.(type) {
	case undefined:
		r.fail("%s is asked for %s", typeName(v), name)
	case Str:
		found, ok = method(stringMethods, v, name)
	case *Dict:
		if found, ok = method(dictMethods, v, name); !ok {
			found, ok = v.get(Inside(name))
		}
	case *space:
		found, ok = v.values[name]
	case *position:
		found, ok = v.attribute(name)
	}
	if !ok {
		return undefined{name}
	}
	return found
}

func (n *item) eval(r *runner) value {
	of, key := r.eval(n.of), r.eval(n.key)
	switch v := of.(type) {
	case *Dict:
		if found, ok := v.get(key); ok {
			return found
		}
	case *List:
		if i, ok := whole(key); ok {
			if i < 0 {
				i += int64(len(v.items))
			}
			if i >= 0 && i < int64(len(v.items)) {
				return v.items[i]
			}
		}
		return undefined{"an item of a list"}
	case Str:
		if i, ok := whole(key); ok {
			r.spend(v.len())
			at := v.runes()
			if i < 0 {
				i += int64(len(at) - 1)
			}
			if i >= 0 && i < int64(len(at)-1) {
				return v.cut(at[i], at[i+1])
			}
			return undefined{"a character of a string"}
		}
	}
	if s, ok := key.(Str); ok {
		return r.attribute(of, s.String())
	}
	if _, ok := of.(undefined); ok {
		r.fail("%s is asked for an item", typeName(of))
	}
	return undefined{"an item"}
}

func (n *slice) eval(r *runner) value {
	of := r.eval(n.of)
	var items []value
	switch v := of.(type) {
	case *List:
		items = v.items
	case Str:
		items = r.chars(v)
	default:
		r.fail("%s cannot be sliced", typeName(of))
	}
	picked := r.pick(items, n)
	if l, ok := of.(*List); ok {
		return &List{picked, l.tuple}
	}
	parts := make([]Str, len(picked))
	for i, v := range picked {
		parts[i] = v.(Str)
	}
	return r.made(concat(parts...))
}

// pick returns what a slice says of items.
func (r *runner) pick(items []value, n *slice) []value {
	step := r.bound(n.step, 1)
	if step == 0 {
		r.fail("a slice with step 0")
	}
	size := int64(len(items))
	low, high := int64(0), size
	if step < 0 {
		low, high = -1, size-1
	}
	limit := func(end node, missing int64) int64 {
		i := r.bound(end, math.MinInt64)
		if i == math.MinInt64 {
			return missing
		}
		if i < 0 {
			i += size
		}
		return min(max(i, low), high)
	}
	from, to := limit(n.from, low), limit(n.to, high)
	if step < 0 {
		from, to = limit(n.from, high), limit(n.to, low)
	}
	var picked []value
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		picked = append(picked, items[i])
		if i > math.MaxInt64-max(step, 0) || i < math.MinInt64-min(step, 0) {
			break
		}
	}
	r.spend(len(picked))
	return picked
}

// bound evaluates a bound of a slice.
func (r *runner) bound(n node, missing int64) int64 {
	if n == nil {
		return missing
	}
	v := r.eval(n)
	if v == nil {
		return missing
	}
	i, ok := whole(v)
	if !ok {
		r.fail("a slice with %s, want an integer", typeName(v))
	}
	return max(i, math.MinInt64+1)
}

func (n *call) eval(r *runner) value {
	f, ok := r.eval(n.of).(callable)
	if !ok {
		r.fail("%s cannot be called", typeName(r.eval(n.of)))
	}
	return f(r, r.args(n.args))
}

func (n *filter) eval(r *runner) value {
	of := r.eval(n.of)
	return filters[n.name](r, of, r.args(n.args))
}

func (n *test) eval(r *runner) value {
	of := r.eval(n.of)
	return tests[n.name](r, of, r.args(n.args))
}

func (n *not) eval(r *runner) value { return !truth(r.eval(n.of)) }

func (n *sign) eval(r *runner) value {
	switch v := r.eval(n.of).(type) {
	case float64:
		if n.negative {
			return -v
		}
		return v
	default:
		i, ok := whole(v)
		if !ok {
			r.fail("the sign of %s", typeName(v))
		}
		if n.negative {
			return r.integers("-", 0, i)
		}
		return i
	}
}

func (n *logic) eval(r *runner) value {
	left := r.eval(n.left)
	if truth(left) == n.or {
		return left
	}
	return r.eval(n.right)
}

func (n *choice) eval(r *runner) value {
	switch {
	case truth(r.eval(n.cond)):
		return r.eval(n.yes)
	case n.no != nil:
		return r.eval(n.no)
	}
	return undefined{"an if without else"}
}

func (n *chain) eval(r *runner) value {
	left := r.eval(n.first)
	for i, op := range n.ops {
		right := r.eval(n.rest[i])
		if !r.holds(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

// holds returns whether a comparison is true.
func (r *runner) holds(op string, a, b value) bool {
	switch op {
	case "==":
		return r.equal(a, b, 0)
	case "!=":
		return !r.equal(a, b, 0)
	case "in":
		return r.contains(b, a)
	case "not in":
		return !r.contains(b, a)
	}
	order, ok := r.compare(a, b, 0)
	if !ok {
		r.fail("%s and %s have no order", typeName(a), typeName(b))
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (r *runner) contains(in, v value) bool {
	switch in := in.(type) {
	case undefined:
		return false
	case Str:
		s, ok := v.(Str)
		if !ok {
			r.fail("%s in a string", typeName(v))
		}
		r.spend(in.len())
		return strings.Contains(in.String(), s.String())
	case *Dict:
		_, ok := in.get(v)
		return ok
	case *List:
		for _, item := range in.items {
			if r.equal(item, v, 0) {
				return true
			}
		}
		return false
	}
	r.fail("in %s", typeName(in))
	return false
}
