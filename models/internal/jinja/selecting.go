package jinja

// selecting are the filters that go over items and choose or change them: streams.
var selecting = map[string]operation{
	"map":        mapped,
	"select":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, true) },
	"reject":     func(r *runner, v value, a args) value { return r.chosen(v, a, false, false) },
	"selectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, true) },
	"rejectattr": func(r *runner, v value, a args) value { return r.chosen(v, a, true, false) },
	"items":      alone("items", itemsOf),
	"reverse":    alone("reverse", reverse),
	"batch":      takes("batch(linecount, fill_with=None)", batch),
	"slice":      takes("slice(slices, fill_with=None)", columns),
	"list":       alone("list", func(r *runner, v value) value { return r.list(r.items(v)) }),
	"first":      alone("first", first),
	"last":       alone("last", last),
	"join":       takes("join(d='', attribute=None)", join),
	"sum":        takes("sum(attribute=None, start=0)", sum),
	"length":     alone("length", func(r *runner, v value) value { return r.size(v) }), "count": alone("count", func(r *runner, v value) value { return r.size(v) }),
}

// transform returns a stream of what make returns for each item. make is asked for a function when
// the first item is, and only if the value is true.
func (r *runner) transform(v value, make func() func(value) (value, bool)) *stream {
	var next func() (value, bool)
	var do func(value) (value, bool)
	return r.stream(func() (value, bool) {
		if !truth(v) {
			return nil, false
		}
		if do == nil {
			do, next = make(), r.each(v)
		}
		for v, ok := next(); ok; v, ok = next() {
			if made, keep := do(v); keep {
				return made, true
			}
		}
		return nil, false
	})
}

// attributes is the form of map that takes an attribute of each item.
var attributes = parseSignature("map(attribute, default=None)")

// mapped applies a filter to all items, or takes an attribute of them.
func mapped(r *runner, v value, a args) value {
	return r.transform(v, func() func(value) (value, bool) {
		if len(a.positional) == 0 {
			b := attributes.bind(r, a)
			p := r.path(b[0])
			return func(v value) (value, bool) { return p.of(r, v, b[1]), true }
		}
		f := r.filter(r.text(a.positional[0]).text)
		rest := a
		rest.positional = a.positional[1:]
		return func(v value) (value, bool) { return r.apply(f, v, rest), true }
	})
}

// chosen goes over the items that pass a test, or of which an attribute does; or those that do not.
// Without a test the value itself counts.
func (r *runner) chosen(v value, a args, attribute, pass bool) value {
	return r.transform(v, func() func(value) (value, bool) {
		var p path
		if attribute {
			if len(a.positional) == 0 {
				r.fail("selectattr or rejectattr without an attribute")
			}
			p = r.path(a.positional[0])
			a.positional = a.positional[1:]
		}
		check := func(r *runner, v value, a args) value { return v }
		if len(a.positional) > 0 {
			check = r.test(r.text(a.positional[0]).text)
			a.positional = a.positional[1:]
		}
		return func(v value) (value, bool) { return v, truth(r.apply(check, p.of(r, v, nil), a)) == pass }
	})
}

func itemsOf(r *runner, v value) value {
	return r.lazily(func() []value {
		if _, ok := v.(undefined); ok {
			return nil
		}
		return r.pairs(r.mapping(v)).items
	})
}

func reverse(r *runner, v value) value {
	switch v := v.(type) {
	case Str:
		return r.joined(r.backwards(v), Str{})
	case *stream:
		return r.list(r.backwards(&List{items: r.drain(v)}))
	}
	items := r.backwards(v)
	return r.lazily(func() []value { return items })
}

func first(r *runner, v value) value {
	if s, ok := v.(Str); ok && s.text != "" {
		return r.char(s, 0)
	}
	if l, ok := v.(*List); ok && len(l.items) > 0 {
		return l.items[0]
	}
	if v, ok := r.each(v)(); ok {
		return v
	}
	return undefined{"the first item of nothing"}
}

func last(r *runner, v value) value {
	switch v := v.(type) {
	case Str:
		if v.text != "" {
			return r.char(v, -1)
		}
	case *List:
		if n := len(v.items); n > 0 {
			return v.items[n-1]
		}
	default:
		if items := r.backwards(v); len(items) > 0 {
			return items[0]
		}
	}
	return undefined{"the last item of nothing"}
}

// join joins the items of a value, or an attribute of them.
func join(r *runner, v value, b []value) value {
	sep, p := r.show(b[0]), r.path(b[1])
	out := builder{m: &r.meter}
	begun := false
	next := r.each(v)
	for v, ok := next(); ok; v, ok = next() {
		if begun {
			out.add(sep)
		}
		begun = true
		out.add(r.show(p.of(r, v, nil)))
	}
	return out.str()
}

func sum(r *runner, v value, b []value) value {
	if _, ok := b[1].(Str); ok {
		r.fail("the sum of strings; join puts them together")
	}
	p, sum, next := r.path(b[0]), b[1], r.each(v)
	for v, ok := next(); ok; v, ok = next() {
		sum = r.operate(plus, sum, p.of(r, v, nil))
	}
	return sum
}

// batch is a stream of lists of so many items.
func batch(r *runner, v value, b []value) value {
	return r.lazily(func() (all []value) {
		n := r.integer(b[0])
		var part []value
		for _, v := range r.items(v) {
			if int64(len(part)) == n {
				all, part = append(all, r.list(part)), nil
			}
			part = append(part, v)
		}
		if len(part) == 0 {
			return all
		}
		for b[1] != nil && int64(len(part)) < n {
			r.memory(2 * slotSize)
			part = append(part, b[1])
		}
		return append(all, r.list(part))
	})
}

// columns is a stream of so many lists, which have all items together.
func columns(r *runner, v value, b []value) value {
	return r.lazily(func() (all []value) {
		items, n := r.items(v), r.integer(b[0])
		if n == 0 {
			r.fail("division by zero")
		}
		each, more, start := int64(len(items))/max(n, 1), int64(len(items))%max(n, 1), int64(0)
		for i := range n {
			r.memory(slotSize)
			end := start + each
			if i < more {
				end++
			}
			part := items[start:end:end]
			if b[1] != nil && i >= more {
				part = append(part, b[1])
			}
			all, start = append(all, r.list(part)), end
		}
		return all
	})
}
