package jinja

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
