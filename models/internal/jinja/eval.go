package jinja

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

// eval evaluates an expression.
func (r *runner) eval(n syntax.Node) value {
	r.down()
	r.work(nodeCost)
	v := r.valueOf(n)
	r.up()
	return v
}

// valueOf is eval without its costs.
func (r *runner) valueOf(n syntax.Node) value {
	switch n := n.(type) {
	case *syntax.Constant:
		if text, ok := n.Value.(string); ok {
			return Inside(text)
		}
		return n.Value
	case *syntax.Variable:
		return r.evalVariable(n)
	case *syntax.List:
		return r.evalList(n)
	case *syntax.Dict:
		return r.evalDict(n)
	case *syntax.Attribute:
		return r.attribute(r.eval(n.Of), n.Name)
	case *syntax.Item:
		return r.evalItem(n)
	case *syntax.Slice:
		return r.evalSlice(n)
	case *syntax.Call:
		return r.evalCall(n)
	case *syntax.Filter:
		return r.filtered(r.eval(n.Of), n)
	case *syntax.Test:
		return r.evalTest(n)
	case *syntax.Not:
		return !truth(r.eval(n.Of))
	case *syntax.Sign:
		return r.evalSign(n)
	case *syntax.Logic:
		return r.evalLogic(n)
	case *syntax.Choice:
		return r.evalChoice(n)
	case *syntax.Binary:
		return r.evalBinary(n)
	case *syntax.Chain:
		return r.evalChain(n)
	}
	panic(fmt.Sprintf("jinja: an expression %T", n)) // there is no other one
}

func (r *runner) evalVariable(n *syntax.Variable) value {
	v, ok := r.find(n.Name)
	if !ok || isAbsent(v) {
		return undefined{n.Name}
	}
	return v
}

func (r *runner) evalList(n *syntax.List) value {
	var items []value
	for _, item := range n.Items {
		items = append(items, r.eval(item))
	}
	return r.sequence(items, map[bool]listKind{true: tuple}[n.Tuple])
}

func (r *runner) evalDict(n *syntax.Dict) value {
	d := NewDict()
	for i, k := range n.Keys {
		r.put(d, r.eval(k), r.eval(n.Values[i]))
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
	case bool, int64, longInt, float64:
		if numberAttributes[name] {
			r.fail("the attribute %s of %s, which is not supported", name, typeName(v))
		}
	}
	if !ok {
		return undefined{name}
	}
	return found
}

// changing are methods of mappings that the sandbox of transformers hides, before entries of that
// name.
var changing = map[string]bool{"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true}

// numberAttributes are attributes of Python's numbers.
var numberAttributes = map[string]bool{
	"real": true, "imag": true, "numerator": true, "denominator": true, "conjugate": true, "bit_length": true, "bit_count": true,
	"as_integer_ratio": true, "to_bytes": true, "from_bytes": true, "is_integer": true, "hex": true, "fromhex": true,
}

func (r *runner) evalItem(n *syntax.Item) value {
	of := r.eval(n.Of)
	return r.operate(itemOf, of, r.eval(n.Key))
}

func (r *runner) evalSlice(n *syntax.Slice) value {
	of := r.eval(n.Of)
	var bounds [3]value
	for i, bound := range [...]syntax.Node{n.From, n.To, n.Step} {
		if bound != nil {
			bounds[i] = r.eval(bound)
		}
	}
	return r.operate(sliceOf, of, bounds[:]...)
}

func (r *runner) evalCall(n *syntax.Call) value {
	of := r.eval(n.Of)
	return r.call(of, r.args(n.Args))
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
func (r *runner) filtered(v value, n *syntax.Filter) value {
	return r.apply(r.filter(n.Name), v, r.args(n.Args))
}

func (r *runner) evalTest(n *syntax.Test) value {
	of := r.eval(n.Of)
	return r.apply(r.test(n.Name), of, r.args(n.Args))
}

func (r *runner) evalSign(n *syntax.Sign) value {
	switch v := r.eval(n.Of).(type) {
	case float64:
		if n.Negative {
			return -v
		}
		return v
	default:
		i, ok := whole(v)
		if !ok {
			r.fail("the sign of %s", typeName(v))
		}
		if n.Negative {
			return r.integers("-", 0, i)
		}
		return i
	}
}

func (r *runner) evalLogic(n *syntax.Logic) value {
	left := r.eval(n.Left)
	if truth(left) == n.Or {
		return left
	}
	return r.eval(n.Right)
}

func (r *runner) evalChoice(n *syntax.Choice) value {
	switch {
	case truth(r.eval(n.Cond)):
		return r.eval(n.Yes)
	case n.No != nil:
		return r.eval(n.No)
	}
	return undefined{"an if without else"}
}

func (r *runner) evalBinary(n *syntax.Binary) value {
	left := r.eval(n.Left)
	return r.operate(infix[n.Op], left, r.eval(n.Right))
}

func (r *runner) evalChain(n *syntax.Chain) value {
	left := r.eval(n.First)
	for i, op := range n.Ops {
		right := r.eval(n.Rest[i])
		if r.operate(infix[op], left, right) == false {
			return false
		}
		left = right
	}
	return true
}
