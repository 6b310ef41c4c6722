package jinja

import (
	"slices"
	"sort"
	"strings"
)

// items returns what a loop over a value goes over, and charges for going over it.
func (r *runner) items(v value) []value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *List:
		r.work(len(v.items))
		return v.items
	case *Dict:
		return r.keys(v)
	case Str:
		return v.chars(&r.meter)
	}
	r.fail("%s cannot be gone through", typeName(v))
	return nil
}

// end returns the first item of a value, with index 0, or the last one, with index -1.
func (r *runner) end(v value, index int64) value {
	var items []value
	switch v := v.(type) {
	case Str:
		if v.text != "" {
			return r.char(v, index)
		}
	case *List:
		items = v.items
	default:
		items = r.items(v)
	}
	at, ok := place(index, len(items))
	if !ok {
		return undefined{"an item of nothing"}
	}
	return items[at]
}

// sorted returns items in order; strings without regard to case.
func (r *runner) sorted(items []value, reverse bool) *List {
	r.memory(4 * slotSize * len(items))
	keys, order := make([]value, len(items)), make([]int, len(items))
	for i, v := range items {
		keys[i], order[i] = r.folded(v), i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := keys[order[i]], keys[order[j]]
		if reverse {
			a, b = b, a
		}
		return r.order(a, b) < 0
	})
	sorted := make([]value, len(items))
	for i, at := range order {
		sorted[i] = items[at]
	}
	return r.list(sorted)
}

// folded is v in lower case, if it is a string.
func (r *runner) folded(v value) value {
	switch v := v.(type) {
	case Str:
		return r.converted(v, strings.ToLower)
	case *List:
		if v.tuple && len(v.items) == 2 { // an entry of a mapping
			return r.sequence([]value{r.folded(v.items[0])}, true)
		}
	}
	return v
}

func unique(r *runner, v value, a args) value {
	var all, keys []value
	for _, item := range r.items(v) {
		key := r.folded(item)
		if !slices.ContainsFunc(keys, func(known value) bool { return r.equal(key, known) }) {
			r.memory(2 * slotSize)
			all, keys = append(all, item), append(keys, key)
		}
	}
	return r.list(all)
}

// attributes returns an attribute of all items, which may be one of an attribute: "a.b".
func (r *runner) attributes(items []value, name value) (all []value) {
	path := []value{name}
	if _, ok := whole(name); !ok {
		path = r.text(name).split(&r.meter, ".", -1)
	}
	for _, v := range items {
		for _, step := range path {
			v = r.operate(itemOf, v, step)
		}
		r.memory(slotSize)
		all = append(all, v)
	}
	return all
}

// mapped applies a filter to all items, or takes an attribute of them.
func mapped(r *runner, v value, a args) value {
	items := r.items(v)
	if i := slices.Index(a.names, "attribute"); i >= 0 && len(a.positional) == 0 {
		all := r.attributes(items, a.named[i])
		if d := slices.Index(a.names, "default"); d >= 0 {
			for i, v := range all {
				if _, ok := v.(undefined); ok {
					all[i] = a.named[d]
				}
			}
		}
		return r.list(all)
	}
	if len(a.positional) == 0 {
		r.fail("map without a filter")
	}
	name := r.text(a.positional[0]).text
	f, ok := filters[name]
	if !ok {
		r.fail("filter %q, which is not known", name)
	}
	a.positional = a.positional[1:]
	var all []value
	for _, v := range items {
		all = append(all, r.apply(f, v, a))
	}
	return r.list(all)
}

// chosen returns the items that pass a test, or of which an attribute does; or those that do not.
// Without a test the value itself counts.
func (r *runner) chosen(v value, a args, attribute, pass bool) value {
	items := r.items(v)
	tested := items
	if attribute {
		if len(a.positional) == 0 {
			r.fail("selectattr or rejectattr without an attribute")
		}
		tested = r.attributes(items, a.positional[0])
		a.positional = a.positional[1:]
	}
	check := func(r *runner, v value, a args) value { return truth(v) }
	if len(a.positional) > 0 {
		name := r.text(a.positional[0]).text
		ok := false
		if check, ok = tests[name]; !ok {
			r.fail("test %q, which is not known", name)
		}
		a.positional = a.positional[1:]
	}
	var chosen []value
	for i, v := range tested {
		if r.apply(check, v, a) == pass {
			chosen = append(chosen, items[i])
		}
	}
	return r.list(chosen)
}
