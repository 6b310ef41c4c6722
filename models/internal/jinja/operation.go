package jinja

import "slices"

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
	do operation
	of value
}

// args are the arguments of a call.
type args struct {
	positional []value
	names      []string
	named      []value
}

func (r *runner) args(n argNodes) (a args) {
	for _, p := range n.positional {
		a.positional = append(a.positional, r.eval(p))
	}
	a.names = n.names
	for _, p := range n.named {
		a.named = append(a.named, r.eval(p))
	}
	return a
}

// absent stands for an argument that is not given.
type absent struct{}

func isAbsent(v value) bool {
	_, ok := v.(absent)
	return ok
}

// bind returns the arguments by their names. Those that are not given are absent, as macros'
// parameters are undefined then.
func (r *runner) bind(what string, a args, names ...string) []value {
	if len(a.positional) > len(names) {
		r.fail("%s has %d arguments, want at most %d", what, len(a.positional), len(names))
	}
	r.work(callCost*len(names) + len(names)*len(a.names))
	bound := make([]value, len(names))
	for i := range bound {
		bound[i] = absent{}
	}
	copy(bound, a.positional)
	for i, name := range a.names {
		at := slices.Index(names, name)
		if at < 0 || !isAbsent(bound[at]) {
			r.fail("%s has an argument %s that it has already or does not know", what, name)
		}
		bound[at] = a.named[i]
	}
	return bound
}

// text returns a value that is a string.
func (r *runner) text(v value) Str {
	s, ok := v.(Str)
	if !ok {
		r.fail("%s, want a string", typeName(v))
	}
	return s
}

// textOr returns an argument that is a string, or s if it is absent or none.
func (r *runner) textOr(v value, s string) string {
	if v == nil || isAbsent(v) {
		return s
	}
	return r.text(v).text
}

// intOr returns an argument that is an integer, or n if it is absent or none.
func (r *runner) intOr(v value, n int) int {
	if v == nil || isAbsent(v) {
		return n
	}
	i, ok := whole(v)
	if !ok || i != int64(int32(i)) {
		r.fail("%s, want an integer of 32 bits", typeName(v))
	}
	return int(i)
}

// yes returns whether an argument is given and true.
func yes(v value) bool { return !isAbsent(v) && truth(v) }
