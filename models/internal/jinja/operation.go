package jinja

import (
	"slices"

	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

// operation is what a template can have done with a value: a filter, a test, an operator, a method
// or, if the value is nil, a function. It may read all of the strings that it is given a few times;
// what takes more, and all that it makes, it charges for itself.
type operation func(r *runner, v value, a args) value

// apply is the only way to an operation. It charges for the call and for reading the strings that
// are involved.
func (r *runner) apply(do operation, v value, a args) value {
	r.work(callCost)
	r.read(v)
	for _, v := range a.positional {
		r.read(v)
	}
	for _, v := range a.named {
		r.read(v)
	}
	return do(r, v, a)
}

// operate is apply for an operator, whose operands have no names.
func (r *runner) operate(do operation, v value, others ...value) value {
	return r.apply(do, v, args{positional: others})
}

// read charges for reading a value, if it is a string. Operations that go over the items of others
// charge for that by items or values.
func (r *runner) read(v value) {
	if s, ok := v.(Str); ok {
		r.work(len(s.text) + len(s.turns))
	}
}

// callable is a value that can be called: an operation with the value that it is a method of.
type callable struct {
	do    operation
	of    value
	macro *syntax.Macro // if it is one, for its attributes
}

// args are the arguments of a call.
type args struct {
	positional []value
	names      []string
	named      []value
}

// args evaluates arguments, including *rest and **others.
func (r *runner) args(n syntax.Args) (a args) {
	for _, p := range n.Positional {
		a.positional = append(a.positional, r.eval(p))
	}
	if n.Rest != nil {
		rest := r.items(r.eval(n.Rest))
		r.memory(slotSize * (len(a.positional) + len(rest)))
		a.positional = slices.Concat(a.positional, rest)
	}
	a.names = n.Names
	for _, p := range n.Named {
		a.named = append(a.named, r.eval(p))
	}
	if n.Others != nil {
		r.others(&a, r.mapping(r.eval(n.Others)))
	}
	return a
}

// others adds the entries of a dict to the arguments with names.
func (r *runner) others(a *args, d *Dict) {
	r.memory(2 * slotSize * (len(a.names) + len(d.entries)))
	a.names = slices.Clone(a.names)
	for _, e := range d.entries {
		r.work(len(a.names))
		name := r.text(e.key).text
		if slices.Contains(a.names, name) {
			r.fail("a call has the argument %s twice", name)
		}
		a.names, a.named = append(a.names, name), append(a.named, e.value)
	}
}

// mapping returns a value that is a dict.
func (r *runner) mapping(v value) *Dict {
	d, ok := v.(*Dict)
	if !ok {
		r.fail("%s, want a mapping", typeName(v))
	}
	return d
}
