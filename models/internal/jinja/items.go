package jinja

// each returns a function that returns the items of a value in turn, as a loop over it gets them,
// and charges for each.
func (r *runner) each(v value) func() (value, bool) {
	if s, ok := v.(*stream); ok {
		return s.next
	}
	items, i := r.items(v), 0
	return func() (value, bool) {
		if i == len(items) {
			return nil, false
		}
		i++
		r.work(1)
		return items[i-1], true
	}
}

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
	case *stream:
		return r.drain(v)
	}
	r.fail("%s cannot be gone through", typeName(v))
	return nil
}

// drain returns the items that a stream has left.
func (r *runner) drain(s *stream) (items []value) {
	for v, ok := s.next(); ok; v, ok = s.next() {
		r.memory(2 * slotSize)
		items = append(items, v)
	}
	return items
}

// stream returns a stream of what next returns. As it may go over another stream, and that over
// another one, it counts as an evaluation.
func (r *runner) stream(next func() (value, bool)) *stream {
	r.memory(2 * boxSize)
	return &stream{func() (value, bool) {
		r.down()
		r.work(callCost)
		v, ok := next()
		r.up()
		return v, ok
	}}
}

// lazily returns a stream of the items that make returns when the first one is asked for.
func (r *runner) lazily(of func() []value) *stream {
	var next func() (value, bool)
	return r.stream(func() (value, bool) {
		if next == nil {
			next = r.each(&List{items: of()})
		}
		return next()
	})
}

// isIterable tells whether a loop can go over a value.
func isIterable(v value) bool {
	switch v.(type) {
	case undefined, *List, *Dict, Str, *stream:
		return true
	}
	return false
}

// backwards returns the items from the last to the first, if the value has them at hand.
func (r *runner) backwards(v value) []value {
	if _, ok := v.(*stream); ok {
		r.fail("a generator has no end to begin at")
	}
	items := r.items(v)
	r.memory(slotSize * len(items))
	reversed := make([]value, len(items))
	for i, v := range items {
		reversed[len(items)-1-i] = v
	}
	return reversed
}

// size returns the length of a value.
func (r *runner) size(v value) int64 {
	switch v := v.(type) {
	case undefined:
		return 0
	case Str:
		return int64(v.count())
	case *List:
		return int64(len(v.items))
	case *Dict:
		return int64(len(v.entries))
	case *position:
		return int64(len(v.items))
	}
	r.fail("the length of %s", typeName(v))
	return 0
}

// path is the attribute that filters take: steps of attributes or indices, with dots between them.
type path []value

// path parses an attribute.
func (r *runner) path(v value) (p path) {
	s, ok := v.(Str)
	if !ok {
		if v == nil {
			return nil
		}
		return path{v}
	}
	for _, step := range s.split(&r.meter, ".", -1) {
		text := step.(Str).text
		if n, ok := digits64(text); ok {
			p = append(p, n)
		} else {
			p = append(p, step)
		}
	}
	return p
}

// digits64 returns the integer that consists of digits alone.
func digits64(s string) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1<<58 {
			return 0, false
		}
		n = 10*n + int64(s[i]-'0')
	}
	return n, s != ""
}

// of follows a path from a value. missing, if it is not nil, stands for what is not defined.
func (p path) of(r *runner, v, missing value) value {
	for _, step := range p {
		v = r.operate(itemOf, v, step)
		if _, ok := v.(undefined); ok && missing != nil {
			v = missing
		}
	}
	return v
}
