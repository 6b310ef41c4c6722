package jinja

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// signature says which arguments an operation takes, as Python's functions do.
type signature struct {
	name       string
	params     []parameter
	positional int // of params, those that a position can give
	unnamed    int // of these, the first ones that no name can give
	rest       int // the place in params of *name, or -1
	others     int // the place of **name, or -1
}

type parameter struct {
	name    string
	missing value // absent if it must be given
}

// absent stands for an argument that is not given.
type absent struct{}

func isAbsent(v value) bool {
	_, ok := v.(absent)
	return ok
}

// parseSignature parses "name(a, b=1, /, c='x', *rest, d=None, **others)".
func parseSignature(s string) *signature {
	name, inside, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	sig := &signature{name: name, rest: -1, others: -1}
	named := false // whether a name must give what follows
	for _, p := range parameters.FindAllString(inside, -1) {
		at := len(sig.params)
		switch {
		case p == "/":
			sig.unnamed = at
			continue
		case strings.HasPrefix(p, "**"):
			sig.others = at
		case p == "*":
			named = true
			continue
		case strings.HasPrefix(p, "*"):
			sig.rest, named = at, true
		case !named:
			sig.positional++
		}
		name, missing, _ := strings.Cut(strings.TrimLeft(p, "*"), "=")
		sig.params = append(sig.params, parameter{name, literal(missing)})
	}
	return sig
}

// parameters are what commas separate, but for those in a default.
var parameters = regexp.MustCompile(`[^,' ]+('[^']*')?`)

// literal returns a default.
func literal(s string) value {
	switch s {
	case "":
		return absent{}
	case "None":
		return nil
	case "True", "False":
		return s == "True"
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	return Inside(strings.Trim(s, "'"))
}

// takes returns an operation that gets its arguments in the order of a signature, *rest as a tuple
// and **others as a dict. Names that the signature lacks, and arguments that are missing, end
// rendering.
func takes(sig string, do func(r *runner, v value, b []value) value) operation {
	s := parseSignature(sig)
	return func(r *runner, v value, a args) value { return do(r, v, s.bind(r, a)) }
}

// alone is takes for an operation without arguments.
func alone(name string, do func(r *runner, v value) value) operation {
	return takes(name+"()", func(r *runner, v value, _ []value) value { return do(r, v) })
}

// bind returns the arguments by the order of the parameters.
func (s *signature) bind(r *runner, a args) []value {
	r.work(callCost*len(s.params) + len(s.params)*len(a.names))
	r.memory(slotSize * len(s.params))
	bound := make([]value, len(s.params))
	for i := range bound {
		bound[i] = absent{}
	}
	n := copy(bound[:s.positional], a.positional)
	switch {
	case s.rest >= 0:
		bound[s.rest] = r.sequence(slices.Clone(a.positional[n:]), tuple)
	case n < len(a.positional):
		r.fail("%s has %d arguments, want at most %d", s.name, len(a.positional), s.positional)
	}
	var others *Dict
	if s.others >= 0 {
		others = NewDict()
		bound[s.others] = others
	}
	for i, name := range a.names {
		at := slices.IndexFunc(s.params, func(p parameter) bool { return p.name == name })
		switch {
		case at >= s.unnamed && at != s.rest && at != s.others && isAbsent(bound[at]):
			bound[at] = a.named[i]
		case at >= s.unnamed && at != s.rest && at != s.others:
			r.fail("%s has the argument %s twice", s.name, name)
		case others != nil:
			r.put(others, Inside(name), a.named[i])
		default:
			r.fail("%s has an argument %s, which it does not know", s.name, name)
		}
	}
	for i, p := range s.params {
		if isAbsent(bound[i]) {
			if bound[i] = p.missing; isAbsent(p.missing) {
				r.fail("%s lacks the argument %s", s.name, p.name)
			}
		}
	}
	return bound
}

// unsupported is an operation of jinja2 or Python that is not here.
func unsupported(what, why string) operation {
	return func(r *runner, v value, a args) value {
		r.fail("%s, which is not supported: %s", what, why)
		return nil
	}
}

// text returns a value that is a string.
func (r *runner) text(v value) Str {
	s, ok := v.(Str)
	if !ok {
		r.fail("%s, want a string", typeName(v))
	}
	return s
}

// integer returns a value that is an integer.
func (r *runner) integer(v value) int64 {
	n, ok := whole(v)
	if !ok {
		r.fail("%s, want an integer", typeName(v))
	}
	return n
}

// small returns an integer of 32 bits.
func (r *runner) small(v value) int {
	n := r.integer(v)
	if n != int64(int32(n)) {
		r.fail("the integer %d, want one of 32 bits", n)
	}
	return int(n)
}

// count returns an integer that may be as large as there is memory for, or negative.
func (r *runner) count(v value) int {
	n := r.integer(v)
	if n > 1<<40 || n < -1<<40 {
		r.fail("more work than a template may do")
	}
	return int(n)
}

// unknown ends rendering for a name that nothing has.
func (r *runner) unknown(kind, name string) operation {
	r.fail("%s %q, which is not known", kind, name)
	return nil
}
