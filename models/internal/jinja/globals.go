package jinja

// globals are the functions that every template has.
var globals = map[string]value{
	"range":           callable(rangeOf),
	"namespace":       callable(namespace),
	"dict":            callable(dictOf),
	"raise_exception": callable(raise),
}

func rangeOf(r *runner, a args) value {
	b := r.bind("range", a, "start", "stop", "step")
	start, stop, step := r.intOr(b[0], 0), r.intOr(b[1], 0), r.intOr(b[2], 1)
	if isAbsent(b[1]) {
		start, stop = 0, start
	}
	if step == 0 {
		r.fail("range with step 0")
	}
	l := &List{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		r.spend(partCost)
		l.items = append(l.items, int64(i))
	}
	return l
}

func namespace(r *runner, a args) value {
	n := &space{map[string]value{}}
	for _, v := range a.positional {
		d, ok := v.(*Dict)
		if !ok {
			r.fail("namespace of %s, want a mapping", typeName(v))
		}
		for i, v := range r.values(d) {
			n.values[r.text(d.names[i]).String()] = v
		}
	}
	for i, name := range a.names {
		n.values[name] = a.named[i]
	}
	return n
}

func dictOf(r *runner, a args) value {
	d := NewDict()
	for i, name := range a.names {
		d.set(Inside(name), a.named[i])
	}
	return d
}

func raise(r *runner, a args) value {
	panic(&RaisedError{r.show(r.bind("raise_exception", a, "message")[0]).String()})
}
