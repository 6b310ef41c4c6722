package jinja

import (
	"sort"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// sorting are the filters that compare items.
var sorting = map[string]operation{
	"sort":     takes("sort(reverse=False, case_sensitive=False, attribute=None)", sortFilter),
	"dictsort": takes("dictsort(case_sensitive=False, by='key', reverse=False)", dictsort),
	"unique":   takes("unique(case_sensitive=False, attribute=None)", unique),
	"groupby":  takes("groupby(attribute, default=None, case_sensitive=False)", groupby),
	"min":      takes("min(case_sensitive=False, attribute=None)", func(r *runner, v value, b []value) value { return r.extreme(v, b, -1) }),
	"max":      takes("max(case_sensitive=False, attribute=None)", func(r *runner, v value, b []value) value { return r.extreme(v, b, 1) }),
}

// folded is v in lower case, if it is a string and case does not count.
func (r *runner) folded(v, caseSensitive value) value {
	if s, ok := v.(Str); ok && !truth(caseSensitive) {
		return r.converted(s, python.Lower)
	}
	return v
}

// sorted returns items in the order of their keys.
func (r *runner) sorted(items, keys []value, reverse bool) []value {
	r.memory(4 * slotSize * len(items))
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
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
	return sorted
}

// sortFilter sorts by one or several attributes, with commas between them.
func sortFilter(r *runner, v value, b []value) value {
	items := r.items(v)
	paths := []path{nil}
	if s, ok := b[2].(Str); ok {
		paths = nil
		for _, one := range s.split(&r.meter, ",", -1) {
			paths = append(paths, r.path(one))
		}
	} else if b[2] != nil {
		paths = []path{r.path(b[2])}
	}
	keys := make([]value, len(items))
	for i, item := range items {
		parts := make([]value, len(paths))
		for j, p := range paths {
			parts[j] = r.folded(p.of(r, item, nil), b[1])
		}
		keys[i] = r.list(parts)
	}
	return r.list(r.sorted(items, keys, truth(b[0])))
}

func dictsort(r *runner, v value, b []value) value {
	at, ok := map[string]int{"key": 0, "value": 1}[r.text(b[1]).text]
	if !ok {
		r.fail("dictsort by %.40q, want key or value", b[1].(Str).text)
	}
	entries := r.pairs(r.mapping(v)).items
	keys := make([]value, len(entries))
	for i, e := range entries {
		keys[i] = r.folded(e.(*List).items[at], b[0])
	}
	return r.list(r.sorted(entries, keys, truth(b[2])))
}

// unique is a stream of the items whose key none before has.
func unique(r *runner, v value, b []value) value {
	next, p, seen := r.each(v), r.path(b[1]), NewDict()
	return r.stream(func() (value, bool) {
		for v, ok := next(); ok; v, ok = next() {
			key := r.folded(p.of(r, v, nil), b[0])
			r.read(key)
			if _, known := seen.get(r.key(key)); !known {
				r.put(seen, key, nil)
				return v, true
			}
		}
		return nil, false
	})
}

// extreme returns the first item with the smallest key, or with the largest one.
func (r *runner) extreme(v value, b []value, sign int) value {
	next, p := r.each(v), r.path(b[1])
	best, ok := next()
	if !ok {
		return undefined{"an item of nothing"}
	}
	key := r.folded(p.of(r, best, nil), b[0])
	for v, ok := next(); ok; v, ok = next() {
		if k := r.folded(p.of(r, v, nil), b[0]); sign*r.order(k, key) > 0 {
			best, key = v, k
		}
	}
	return best
}

// groupby returns tuples of a key and a list of the items that have it.
func groupby(r *runner, v value, b []value) value {
	items, p := r.items(v), r.path(b[0])
	r.memory(2 * slotSize * len(items))
	keys := make([]value, len(items))
	for i, item := range items {
		keys[i] = r.folded(p.of(r, item, b[1]), b[2])
	}
	items = r.sorted(items, keys, false)
	var groups []value
	for start, end := 0, 0; start < len(items); start = end {
		key := r.folded(p.of(r, items[start], b[1]), b[2])
		for end < len(items) && r.equal(r.folded(p.of(r, items[end], b[1]), b[2]), key) {
			end++
		}
		group := r.sequence([]value{p.of(r, items[start], b[1]), r.list(items[start:end])}, tuple)
		group.fields = []string{"grouper", "list"}
		groups = append(groups, group)
	}
	return r.list(groups)
}
