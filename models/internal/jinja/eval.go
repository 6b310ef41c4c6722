package jinja

import (
	"fmt"
	"slices"
)

// eval evaluates an expression.
func (r *runner) eval(n node) value {
	r.down()
	r.work(nodeCost)
	v := r.valueOf(n)
	r.up()
	return v
}

// valueOf is eval without its costs.
func (r *runner) valueOf(n node) value {
	switch n := n.(type) {
	case *constant:
		if text, ok := n.value.(string); ok {
			return Inside(text)
		}
		return n.value
	case *variable:
		return r.evalVariable(n)
	case *listNode:
		return r.evalList(n)
	case *dictNode:
		return r.evalDict(n)
	case *attribute:
		return r.attribute(r.eval(n.of), n.name)
	case *item:
		return r.evalItem(n)
	case *slice:
		return r.evalSlice(n)
	case *call:
		return r.evalCall(n)
	case *filter:
		return r.filtered(r.eval(n.of), n)
	case *test:
		return r.evalTest(n)
	case *not:
		return !truth(r.eval(n.of))
	case *sign:
		return r.evalSign(n)
	case *logic:
		return r.evalLogic(n)
	case *choice:
		return r.evalChoice(n)
	case *binary:
		return r.evalBinary(n)
	case *chain:
		return r.evalChain(n)
	}
	panic(fmt.Sprintf("jinja: an expression %T", n)) // there is no other one
}

func (r *runner) evalVariable(n *variable) value {
	v, ok := r.find(n.name)
	if !ok || isAbsent(v) {
		return undefined{n.name}
	}
	return v
}

func (r *runner) evalList(n *listNode) value {
	var items []value
	for _, item := range n.items {
		items = append(items, r.eval(item))
	}
	return r.sequence(items, map[bool]listKind{true: tuple}[n.tuple])
}

func (r *runner) evalDict(n *dictNode) value {
	d := NewDict()
	for i, k := range n.keys {
		r.put(d, r.eval(k), r.eval(n.values[i]))
	}
	return d
}

// attribute returns v.name: a method, an attribute or an entry.
func (r *runner) attribute(v value, name string) value {
	var found value
	ok := false
	switch v := v.(type) {
	case undefined:
		r.fail("%s is asked for %s", typeName(v), name)
	case Str:
		found, ok = method(stringMethods, v, name)
	case *List:
		if at := slices.Index(v.fields, name); at >= 0 {
			return v.items[at]
		}
		found, ok = method(methodsOf[v.kind], v, name)
	case *Dict:
		if found, ok = method(dictMethods, v, name); !ok && !changing[name] {
			found, ok = v.get(Inside(name))
		}
	case *space:
		found, ok = v.values[name]
	case *position:
		found, ok = v.attribute(name)
	case *cycler:
		if name == "current" {
			return v.items[v.at%len(v.items)]
		}
		found, ok = method(cyclerMethods, v, name)
	case callable:
		found, ok = v.attribute(name)
	case bool, int64, float64:
		if numberAttributes[name] {
			r.fail("the attribute %s of %s, which is not supported", name, typeName(v))
		}
	}
	if !ok {
		return undefined{name}
	}
	return found
}

// changing are methods of mappings that the sandbox of transformers hides, before entries of that name.
var changing = map[string]bool{"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true}

// numberAttributes are attributes of Python's numbers.
var numberAttributes = map[string]bool{
	"real": true, "imag": true, "numerator": true, "denominator": true, "conjugate": true, "bit_length": true, "bit_count": true,
	"as_integer_ratio": true, "to_bytes": true, "from_bytes": true, "is_integer": true, "hex": true, "fromhex": true,
}

func (r *runner) evalItem(n *item) value {
	of := r.eval(n.of)
	return r.operate(itemOf, of, r.eval(n.key))
}

func (r *runner) evalSlice(n *slice) value {
	of := r.eval(n.of)
	var bounds [3]value
	for i, bound := range [...]node{n.from, n.to, n.step} {
		if bound != nil {
			bounds[i] = r.eval(bound)
		}
	}
	return r.operate(sliceOf, of, bounds[:]...)
}

func (r *runner) evalCall(n *call) value {
	of := r.eval(n.of)
	return r.call(of, r.args(n.args))
}

// call calls a value.
func (r *runner) call(of value, a args) value {
	switch of := of.(type) {
	case callable:
		return r.apply(of.do, of.of, a)
	case *position:
		return r.apply(again, of, a)
	}
	r.fail("%s cannot be called", typeName(of))
	return nil
}

// filtered applies a filter.
func (r *runner) filtered(v value, n *filter) value {
	return r.apply(r.filter(n.name), v, r.args(n.args))
}

func (r *runner) evalTest(n *test) value {
	of := r.eval(n.of)
	return r.apply(r.test(n.name), of, r.args(n.args))
}

func (r *runner) evalSign(n *sign) value {
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

func (r *runner) evalLogic(n *logic) value {
	left := r.eval(n.left)
	if truth(left) == n.or {
		return left
	}
	return r.eval(n.right)
}

func (r *runner) evalChoice(n *choice) value {
	switch {
	case truth(r.eval(n.cond)):
		return r.eval(n.yes)
	case n.no != nil:
		return r.eval(n.no)
	}
	return undefined{"an if without else"}
}

func (r *runner) evalBinary(n *binary) value {
	left := r.eval(n.left)
	return r.operate(infix[n.op], left, r.eval(n.right))
}

func (r *runner) evalChain(n *chain) value {
	left := r.eval(n.first)
	for i, op := range n.ops {
		right := r.eval(n.rest[i])
		if r.operate(infix[op], left, right) == false {
			return false
		}
		left = right
	}
	return true
}
