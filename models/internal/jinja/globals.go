package jinja

// functions are what every template can call.
var functions = map[string]operation{
	"range":           rangeOf,
	"namespace":       namespace,
	"dict":            dictOf,
	"raise_exception": raise,
}

// globals are the variables of every template.
var globals = func() map[string]value {
	all := map[string]value{}
	for name, do := range functions {
		all[name] = callable{do: do}
	}
	return all
}()

func rangeOf(r *runner, _ value, a args) value {
	b := r.bind("range", a, "start", "stop", "step")
	start, stop, step := int64(r.intOr(b[0], 0)), int64(r.intOr(b[1], 0)), int64(r.intOr(b[2], 1))
	if isAbsent(b[1]) {
		start, stop = 0, start
	}
	if step == 0 {
		r.fail("range with step 0")
	}
	var items []value
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		r.memory(slotSize)
		items = append(items, i)
	}
	return r.list(items)
}

func namespace(r *runner, _ value, a args) value {
	n := &space{map[string]value{}}
	for _, v := range a.positional {
		d, ok := v.(*Dict)
		if !ok {
			r.fail("namespace of %s, want a mapping", typeName(v))
		}
		for _, e := range d.entries {
			r.read(e.key)
			r.name(n, r.text(e.key).text, e.value)
		}
	}
	for i, name := range a.names {
		r.name(n, name, a.named[i])
	}
	return n
}

// name gives a value to a name in a namespace.
func (r *runner) name(n *space, name string, v value) {
	if _, ok := n.values[name]; !ok {
		r.memory(entrySize)
	}
	n.values[name] = v
}

func dictOf(r *runner, _ value, a args) value {
	d := NewDict()
	for i, name := range a.names {
		r.put(d, Inside(name), a.named[i])
	}
	return d
}

func raise(r *runner, _ value, a args) value {
	panic(&RaisedError{r.show(r.bind("raise_exception", a, "message")[0]).text})
}

// Function is a variable that templates call with strings.
type Function func(args ...string) (string, error)

func (f Function) call(r *runner, _ value, a args) value {
	var texts []string
	for _, v := range a.positional {
		texts = append(texts, r.text(v).text)
	}
	s, err := f(texts...)
	if raised, ok := err.(*RaisedError); ok {
		panic(raised)
	}
	if err != nil {
		r.fail("%v", err)
	}
	r.memory(len(s))
	return Inside(s)
}
