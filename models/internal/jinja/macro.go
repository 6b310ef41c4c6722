package jinja

import "slices"

// callableOf returns a macro as a value. Its body sees the variables of the current scope.
func (r *runner) callableOf(s *macro) callable {
	outer := r.scope
	return callable{do: func(r *runner, _ value, a args) value { return r.callMacro(s, outer, a) }, macro: s}
}

// callMacro runs a macro and returns what it prints.
func (r *runner) callMacro(s *macro, around *scope, a args) value {
	inner, outer := r.within(s.frame, around), r.scope
	r.scope = inner
	r.bind(s, inner, a)
	for i, name := range s.names {
		if !isAbsent(inner.values[name]) {
			continue
		}
		inner.values[name] = undefined{name}
		if d := i - (len(s.names) - len(s.defaults)); d >= 0 {
			inner.values[name] = r.eval(s.defaults[d])
		}
	}
	out := r.captured(s.body, inner)
	r.scope = outer
	return out
}

// bind gives the arguments of a call to the names of a scope.
func (r *runner) bind(s *macro, to *scope, a args) {
	r.work(callCost*len(s.names) + len(s.names)*len(a.names))
	r.memory(nameSize * (len(s.names) + 3))
	for i, name := range s.names {
		to.values[name] = absent{}
		if i < len(a.positional) {
			to.values[name] = a.positional[i]
		}
	}
	rest := a.positional[min(len(s.names), len(a.positional)):]
	switch {
	case s.varargs:
		to.values["varargs"] = r.sequence(slices.Clone(rest), tuple)
	case len(rest) > 0:
		r.fail("macro %s has %d arguments, want at most %d", s.name, len(a.positional), len(s.names))
	}
	if s.caller {
		to.values["caller"] = undefined{"caller"}
	}
	others := NewDict()
	for i, name := range a.names {
		switch at := slices.Index(s.names, name); {
		case at >= 0 && isAbsent(to.values[name]):
			to.values[name] = a.named[i]
		case at < 0 && s.caller && name == "caller":
			to.values[name] = a.named[i]
		case s.kwargs:
			r.put(others, Inside(name), a.named[i])
		default:
			r.fail("macro %s has an argument %s that it has already or does not know", s.name, name)
		}
	}
	if s.kwargs {
		to.values["kwargs"] = others
	}
}

// runCallBlock calls a macro that gets the body of the block as caller.
func (r *runner) runCallBlock(s *callBlock) {
	of := r.eval(s.call.of)
	a := r.args(s.call.args)
	a.names = append(slices.Clone(a.names), "caller")
	a.named = append(slices.Clone(a.named), r.callableOf(s.caller))
	r.out.add(r.show(r.call(of, a)))
}

// attribute returns what a macro says of itself.
func (c callable) attribute(name string) (value, bool) {
	if c.macro == nil {
		return nil, false
	}
	switch name {
	case "name":
		return Inside(c.macro.name), true
	case "arguments":
		var names []value
		for _, n := range c.macro.names {
			names = append(names, Inside(n))
		}
		return newList(names, tuple), true
	case "catch_varargs":
		return c.macro.varargs, true
	case "catch_kwargs":
		return c.macro.kwargs, true
	case "caller":
		return c.macro.caller, true
	}
	return nil, false
}
