package jinja

import "slices"

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
	r.spend(s.len() + partCost*len(s))
	return s
}

// textOr returns an argument that is a string, or s if it is absent or none.
func (r *runner) textOr(v value, s string) string {
	if v == nil || isAbsent(v) {
		return s
	}
	return r.text(v).String()
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
