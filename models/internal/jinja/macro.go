package jinja

import (
	"slices"

	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

// callableOf returns a macro as a value. Its body sees the variables of the current scope.
func (r *runner) callableOf(s *syntax.Macro) callable {
	outer := r.scope
	return callable{do: func(r *runner, _ value, a args) value { return r.callMacro(s, outer, a) }, macro: s}
}

// callMacro runs a macro and returns what it prints.
func (r *runner) callMacro(s *syntax.Macro, around *scope, a args) value {
	inner, outer := r.within(s.Frame, around), r.scope
	r.scope = inner
	r.bind(s, inner, a)
	for i, name := range s.Names {
		if !isAbsent(inner.values[name]) {
			continue
		}
		inner.values[name] = undefined{name}
		if d := i - (len(s.Names) - len(s.Defaults)); d >= 0 {
			inner.values[name] = r.eval(s.Defaults[d])
		}
	}
	out := r.captured(s.Body, inner)
	r.scope = outer
	return out
}

// bind gives the arguments of a call to the names of a scope.
func (r *runner) bind(s *syntax.Macro, to *scope, a args) {
	r.work(callCost*len(s.Names) + len(s.Names)*len(a.names))
	r.memory(nameSize * (len(s.Names) + 3))
	for i, name := range s.Names {
		to.values[name] = absent{}
		if i < len(a.positional) {
			to.values[name] = a.positional[i]
		}
	}
	rest := a.positional[min(len(s.Names), len(a.positional)):]
	switch {
	case s.Varargs:
		to.values["varargs"] = r.sequence(slices.Clone(rest), tuple)
	case len(rest) > 0:
		r.fail("macro %s has %d arguments, want at most %d", s.Name, len(a.positional), len(s.Names))
	}
	if s.Caller {
		to.values["caller"] = undefined{"caller"}
	}
	others := NewDict()
	for i, name := range a.names {
		switch at := slices.Index(s.Names, name); {
		case at >= 0 && isAbsent(to.values[name]):
			to.values[name] = a.named[i]
		case at < 0 && s.Caller && name == "caller":
			to.values[name] = a.named[i]
		case s.Kwargs:
			r.put(others, Inside(name), a.named[i])
		default:
			r.fail("macro %s has an argument %s that it has already or does not know", s.Name, name)
		}
	}
	if s.Kwargs {
		to.values["kwargs"] = others
	}
}

// runCallBlock calls a macro that gets the body of the block as caller.
func (r *runner) runCallBlock(s *syntax.CallBlock) {
	of := r.eval(s.Call.Of)
	a := r.args(s.Call.Args)
	a.names = append(slices.Clone(a.names), "caller")
	a.named = append(slices.Clone(a.named), r.callableOf(s.Caller))
	r.out.add(r.show(r.call(of, a)))
}

// attribute returns what a macro says of itself.
func (c callable) attribute(name string) (value, bool) {
	if c.macro == nil {
		return nil, false
	}
	switch name {
	case "name":
		return Inside(c.macro.Name), true
	case "arguments":
		var names []value
		for _, n := range c.macro.Names {
			names = append(names, Inside(n))
		}
		return newList(names, tuple), true
	case "catch_varargs":
		return c.macro.Varargs, true
	case "catch_kwargs":
		return c.macro.Kwargs, true
	case "caller":
		return c.macro.Caller, true
	}
	return nil, false
}
