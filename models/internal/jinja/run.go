package jinja

import (
	"context"
	"fmt"
)

// runner renders a template once.
type runner struct {
	meter
	scope   *scope
	root    *scope // of the template outside of loops and macros
	out     *builder
	leaving leaving
}

// leaving is set from a break or a continue to the end of the iteration.
type leaving uint8

const (
	toBreak leaving = iota + 1
	toContinue
)

// scope has the variables of a template, an iteration or a macro.
type scope struct {
	values map[string]value
	outer  *scope
}

// find returns the value of a variable.
func (r *runner) find(name string) (value, bool) {
	for s := r.scope; s != nil; s = s.outer {
		r.work(nodeCost)
		if v, ok := s.values[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// Render renders the template with variables: nil, bool, int64, float64, Str, *List, *Dict or
// Function. work is the limit on the work it may do: a byte that is read is a unit, a byte of memory
// that is taken four. An error is a *RenderError or a *RaisedError. Cancelling ctx ends rendering
// after at most 2^14 units and what is charged at once, such as a pass over a string.
func (t *Template) Render(ctx context.Context, variables map[string]any, work int64) (Str, error) {
	return newRunner(ctx, variables, work).render(t)
}

func newRunner(ctx context.Context, variables map[string]any, work int64) *runner {
	r := &runner{meter: meter{ctx: ctx, left: work, ask: work}}
	r.out = &builder{m: &r.meter}
	r.root = &scope{map[string]value{}, &scope{globals, nil}}
	for name, v := range variables {
		if f, ok := v.(Function); ok {
			v = callable{do: f.call}
		}
		r.root.values[name] = v
	}
	r.scope = r.root
	return r
}

func (r *runner) render(t *Template) (out Str, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *RenderError:
			out, err = Str{}, e
		case *RaisedError:
			out, err = Str{}, e
		default:
			out, err = Str{}, &RenderError{r.line, fmt.Sprintf("internal error: %v", e)}
		}
	}()
	r.run(t.body)
	return r.out.str(), nil
}

// run runs statements until one leaves the iteration.
func (r *runner) run(body []statement) {
	r.down()
	for _, s := range body {
		r.line = s.line
		r.work(nodeCost)
		s.do.run(r)
		if r.leaving != 0 {
			break
		}
	}
	r.up()
}

// captured runs statements in a scope of their own and returns what they print.
func (r *runner) captured(body []statement, s *scope) Str {
	out, outer := r.out, r.scope
	r.out, r.scope = &builder{m: &r.meter}, s
	r.run(body)
	made := r.out.str()
	r.out, r.scope = out, outer
	return made
}

// inner returns a scope within one.
func (r *runner) inner(outer *scope) *scope {
	r.work(scopeCost)
	return &scope{map[string]value{}, outer}
}

func (s *output) run(r *runner)   { r.out.add(s.text) }
func (s *printing) run(r *runner) { r.out.add(r.show(r.eval(s.of))) }

func (s *branch) run(r *runner) {
	for i, cond := range s.conds {
		if truth(r.eval(cond)) {
			r.run(s.bodies[i])
			return
		}
	}
	r.run(s.other)
}

func (s *group) run(r *runner) { r.run(s.body) }

func (s *leave) run(r *runner) {
	r.leaving = toBreak
	if s.next {
		r.leaving = toContinue
	}
}

func (s *set) run(r *runner) { r.assign(r.scope, s.names, r.eval(s.of)) }

// assign gives a value to a name, or the items of a value to several names.
func (r *runner) assign(to *scope, names []string, v value) {
	r.work(callCost)
	if len(names) == 1 {
		to.values[names[0]] = v
		return
	}
	items := r.items(v)
	if len(items) != len(names) {
		r.fail("%d values for %d names", len(items), len(names))
	}
	r.memory(nameSize * len(names))
	for i, name := range names {
		to.values[name] = items[i]
	}
}

func (s *setAttribute) run(r *runner) {
	v, _ := r.find(s.of)
	n, ok := v.(*space)
	if !ok {
		r.fail("%s is no namespace, so that its attributes cannot be set", s.of)
	}
	r.name(n, s.name, r.eval(s.to))
}

func (s *setBlock) run(r *runner) {
	r.scope.values[s.name] = r.through(s.filters, r.captured(s.body, r.inner(r.scope)))
}

func (s *filterBlock) run(r *runner) {
	r.out.add(r.show(r.through(s.filters, r.captured(s.body, r.inner(r.scope)))))
}

// through applies filters in their order.
func (r *runner) through(chain []filter, v value) value {
	for i := range chain {
		v = r.filtered(v, &chain[i])
	}
	return v
}

func (s *loop) run(r *runner) {
	outer := r.scope
	items := r.kept(s, r.items(r.eval(s.over)))
	ended := false // whether an iteration came to its end: jinja2 asks this for else
	for i, v := range items {
		r.scope = r.inner(outer)
		r.scope.values["loop"] = &position{items, i}
		r.assign(r.scope, s.names, v)
		r.run(s.body)
		leaving := r.leaving
		r.leaving = 0
		ended = ended || leaving == 0
		if leaving == toBreak {
			break
		}
	}
	r.scope = outer
	if !ended {
		r.run(s.other)
	}
}

// kept returns the items for which the loop's condition is true.
func (r *runner) kept(s *loop, items []value) []value {
	if s.cond == nil {
		return items
	}
	outer := r.scope
	var kept []value
	for _, v := range items {
		r.scope = r.inner(outer)
		r.assign(r.scope, s.names, v)
		if truth(r.eval(s.cond)) {
			r.memory(slotSize)
			kept = append(kept, v)
		}
	}
	r.scope = outer
	return kept
}

func (s *macro) run(r *runner) { r.scope.values[s.name] = callable{do: s.call} }

// call runs the macro and returns what it prints.
func (s *macro) call(r *runner, _ value, a args) value {
	r.memory(nameSize * len(s.names))
	inner, outer := r.inner(r.root), r.scope
	r.scope = inner
	for i, v := range r.bind("macro "+s.name, a, s.names...) {
		name, d := s.names[i], i-(len(s.names)-len(s.defaults))
		switch {
		case isAbsent(v) && d >= 0:
			v = r.eval(s.defaults[d])
		case isAbsent(v):
			v = undefined{name}
		}
		inner.values[name] = v
	}
	out := r.captured(s.body, inner)
	r.scope = outer
	return out
}

// position is the variable loop.
type position struct {
	items []value
	index int
}

func (p *position) attribute(name string) (value, bool) {
	n := len(p.items)
	switch name {
	case "index":
		return int64(p.index + 1), true
	case "index0":
		return int64(p.index), true
	case "revindex":
		return int64(n - p.index), true
	case "revindex0":
		return int64(n - p.index - 1), true
	case "first":
		return p.index == 0, true
	case "last":
		return p.index == n-1, true
	case "length":
		return int64(n), true
	case "previtem":
		if p.index > 0 {
			return p.items[p.index-1], true
		}
	case "nextitem":
		if p.index+1 < n {
			return p.items[p.index+1], true
		}
	case "cycle":
		return callable{cycle, p}, true
	}
	return nil, false
}

// cycle is the method of loop that returns one of its arguments in turn.
func cycle(r *runner, v value, a args) value {
	if len(a.positional) == 0 {
		r.fail("loop.cycle without values")
	}
	return a.positional[v.(*position).index%len(a.positional)]
}
