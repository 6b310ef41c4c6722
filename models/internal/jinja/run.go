package jinja

import (
	"context"
	"fmt"
)

// runner renders a template once.
type runner struct {
	ctx     context.Context
	left    int // of the work that it may do: about the number of bytes made and nodes evaluated
	line    int
	scope   *scope
	root    *scope // of the template outside of loops and macros
	out     Str
	leaving leaving
	depth   int // of calls of macros
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

func (s *scope) find(name string) (value, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// costs of evaluating an expression or a statement, and of one of a string's parts
const (
	nodeCost = 4
	partCost = 16
)

// Render renders the template with variables: nil, bool, int64, float64, Str, *List, *Dict or
// Function. work is the limit on the work it may do: about the number of bytes that it makes and
// the number of nodes that it evaluates. An error is a *RenderError or a *RaisedError.
func (t *Template) Render(ctx context.Context, variables map[string]any, work int) (out Str, err error) {
	r := &runner{ctx: ctx, left: work}
	r.root = &scope{map[string]value{}, &scope{globals, nil}}
	for name, v := range variables {
		if f, ok := v.(Function); ok {
			v = callable(f.call)
		}
		r.root.values[name] = v
	}
	r.scope = r.root
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *RenderError:
			out, err = nil, e
		case *RaisedError:
			out, err = nil, e
		default:
			out, err = nil, &RenderError{r.line, fmt.Sprintf("internal error: %v", e)}
		}
	}()
	r.run(t.body)
	return r.out.join(), nil
}

// Function is a variable that templates call with strings.
type Function func(args ...string) (string, error)

func (f Function) call(r *runner, a args) value {
	var texts []string
	for _, v := range a.positional {
		texts = append(texts, r.text(v).String())
	}
	s, err := f(texts...)
	if raised, ok := err.(*RaisedError); ok {
		panic(raised)
	}
	if err != nil {
		r.fail("%v", err)
	}
	return r.made(Inside(s))
}

// fail ends rendering.
func (r *runner) fail(format string, args ...any) {
	panic(&RenderError{r.line, fmt.Sprintf(format, args...)})
}

// spend counts work.
func (r *runner) spend(n int) {
	if r.left -= n; r.left < 0 {
		r.fail("more work than a template may do")
	}
}

// deep checks the depth of nested values.
func (r *runner) deep(depth int) {
	if depth > maxNesting {
		r.fail("values nested deeper than %d", maxNesting)
	}
}

// made counts the work of making a string.
func (r *runner) made(s Str) Str {
	r.spend(s.len() + partCost*len(s))
	return s
}

func (r *runner) run(body []statement) {
	for _, s := range body {
		if r.line = s.line; r.ctx.Err() != nil {
			panic(&RenderError{r.line, r.ctx.Err().Error()})
		}
		r.spend(nodeCost)
		s.do.run(r)
		if r.leaving != 0 {
			return
		}
	}
}

func (r *runner) eval(n node) value {
	r.spend(nodeCost)
	return n.eval(r)
}

// captured runs statements in a scope of their own and returns what they print.
func (r *runner) captured(body []statement, s *scope) Str {
	out, outer := r.out, r.scope
	r.out, r.scope = nil, s
	r.run(body)
	made := r.out.join()
	r.out, r.scope = out, outer
	return r.made(made)
}

func (r *runner) inner() *scope { return &scope{map[string]value{}, r.scope} }

func (s *output) run(r *runner)   { r.print(s.text) }
func (s *printing) run(r *runner) { r.print(r.show(r.eval(s.of))) }

func (r *runner) print(s Str) { r.out = append(r.out, r.made(s)...) }

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
	if len(names) == 1 {
		to.values[names[0]] = v
		return
	}
	items := r.items(v)
	if len(items) != len(names) {
		r.fail("%d values for %d names", len(items), len(names))
	}
	for i, name := range names {
		to.values[name] = items[i]
	}
}

func (s *setAttribute) run(r *runner) {
	v, _ := r.scope.find(s.of)
	n, ok := v.(*space)
	if !ok {
		r.fail("%s is no namespace, so that its attributes cannot be set", s.of)
	}
	n.values[s.name] = r.eval(s.to)
}

func (s *setBlock) run(r *runner) {
	r.scope.values[s.name] = r.through(s.filters, r.captured(s.body, r.inner()))
}

func (s *filterBlock) run(r *runner) {
	r.print(r.show(r.through(s.filters, r.captured(s.body, r.inner()))))
}

// through applies filters in their order.
func (r *runner) through(chain []filter, v value) value {
	for i := range chain {
		v = filters[chain[i].name](r, v, r.args(chain[i].args))
	}
	return v
}

func (s *loop) run(r *runner) {
	outer := r.scope
	items := r.kept(s, r.items(r.eval(s.over)))
	ended := false // whether an iteration came to its end: jinja2 asks this for else
	for i, v := range items {
		r.spend(nodeCost)
		r.scope = &scope{map[string]value{"loop": &position{items, i}}, outer}
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
		r.scope = &scope{map[string]value{}, outer}
		r.assign(r.scope, s.names, v)
		if truth(r.eval(s.cond)) {
			kept = append(kept, v)
		}
	}
	r.scope = outer
	return kept
}

func (s *macro) run(r *runner) {
	r.scope.values[s.name] = callable(func(r *runner, a args) value {
		if r.depth++; r.depth > maxNesting {
			r.fail("calls of macros nested deeper than %d", maxNesting)
		}
		inner := &scope{map[string]value{}, r.root}
		given := r.bind("macro "+s.name, a, s.names...)
		outer := r.scope
		r.scope = inner
		for i, name := range s.names {
			v := given[i]
			d := i - (len(s.names) - len(s.defaults))
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
		r.depth--
		return out
	})
}

// items returns what a loop over a value goes over.
func (r *runner) items(v value) []value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *List:
		return v.items
	case *Dict:
		return v.names
	case Str:
		return r.chars(v)
	}
	r.fail("%s cannot be gone through", typeName(v))
	return nil
}

// chars returns the characters of a string.
func (r *runner) chars(s Str) []value {
	r.spend(s.len() * partCost)
	var items []value
	for _, p := range s {
		for _, c := range p.Text {
			items = append(items, part(string(c), p.Outside))
		}
	}
	return items
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
		return callable(func(r *runner, a args) value {
			if len(a.positional) == 0 {
				r.fail("loop.cycle without values")
			}
			return a.positional[p.index%len(a.positional)]
		}), true
	}
	return nil, false
}
