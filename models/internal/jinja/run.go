package jinja

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/jinja/syntax"
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

// within returns a scope of a frame within another one.
func (r *runner) within(f *syntax.Frame, outer *scope) *scope {
	s := r.inner(outer)
	r.memory(nameSize * len(f.Hidden))
	for _, name := range f.Hidden {
		s.values[name] = absent{}
	}
	return s
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
// *Function. work is the limit on the work it may do: a byte that is read is a unit, a byte of
// memory that is taken four. An error is a [*kernel.Error] of the kind [ErrRender] or [ErrRefused].
// Cancelling ctx ends rendering after at most 2^14 units and what is charged at once, such as a
// pass over a string.
func (t *Template) Render(ctx context.Context, variables map[string]any, work int64) (Str, error) {
	return newRunner(ctx, variables, work).render(t)
}

func newRunner(ctx context.Context, variables map[string]any, work int64) *runner {
	r := &runner{meter: meter{ctx: ctx, left: work, ask: work}}
	r.out = &builder{m: &r.meter}
	given := &scope{map[string]value{}, &scope{globals, nil}}
	for name, v := range variables {
		if f, ok := v.(*Function); ok {
			v = callable{do: f.operation()}
		}
		given.values[name] = v
	}
	r.root = given
	r.scope = r.root
	return r
}

func (r *runner) render(t *Template) (out Str, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *kernel.Error:
			out, err = Str{}, e
		default:
			out, err = Str{}, failed(r.line, fmt.Sprintf("internal error: %v", e))
		}
	}()
	r.line = 1
	r.root = r.within(t.parsed.Frame, r.root)
	r.scope = r.root
	r.run(t.parsed.Body)
	return r.out.str(), nil
}

// run runs statements until one leaves the iteration.
func (r *runner) run(body []syntax.Statement) {
	r.down()
	for _, s := range body {
		r.line = s.Line
		r.work(nodeCost)
		r.do(s.Do)
		if r.leaving != 0 {
			break
		}
	}
	r.up()
}

// captured runs statements in a scope of their own and returns what they print.
func (r *runner) captured(body []syntax.Statement, s *scope) Str {
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

// do runs one statement.
func (r *runner) do(s syntax.Doer) {
	switch s := s.(type) {
	case *syntax.Output:
		r.out.add(Inside(s.Text))
	case *syntax.Printing:
		r.runPrinting(s)
	case *syntax.Branch:
		r.runBranch(s)
	case *syntax.Loop:
		r.goOver(s, r.eval(s.Over), 0)
	case *syntax.Set:
		r.assign(s.To, r.scope, r.eval(s.Of))
	case *syntax.SetBlock:
		r.runSetBlock(s)
	case *syntax.FilterBlock:
		r.runFilterBlock(s)
	case *syntax.With:
		r.runWith(s)
	case *syntax.Macro:
		r.assign(syntax.ToName(s.Name), r.scope, r.callableOf(s))
	case *syntax.CallBlock:
		r.runCallBlock(s)
	case *syntax.Leave:
		r.runLeave(s)
	case *syntax.Scoped:
		r.runScoped(s)
	case *syntax.Missing:
		r.fail("block %q, which is not supported", s.What)
	default:
		panic(fmt.Sprintf("jinja: a statement %T", s)) // there is no other one
	}
}

func (r *runner) runPrinting(s *syntax.Printing) {
	for _, of := range s.Of {
		r.out.add(r.show(r.eval(of)))
	}
}

func (r *runner) runBranch(s *syntax.Branch) {
	for i, cond := range s.Conds {
		if truth(r.eval(cond)) {
			r.run(s.Bodies[i])
			return
		}
	}
	r.run(s.Other)
}

func (r *runner) runScoped(s *syntax.Scoped) {
	outer := r.scope
	if s.Root {
		r.scope = r.root
	}
	r.scope = r.within(s.Frame, r.scope)
	r.run(s.Body)
	r.scope = outer
}

func (r *runner) runWith(s *syntax.With) {
	outer, inner := r.scope, r.within(s.Frame, r.scope)
	for i, of := range s.Of {
		r.assign(s.To[i], inner, r.eval(of))
	}
	r.scope = inner
	r.run(s.Body)
	r.scope = outer
}

func (r *runner) runLeave(s *syntax.Leave) {
	r.leaving = toBreak
	if s.Next {
		r.leaving = toContinue
	}
}

// assign sets what a target names, variables of a scope or attributes, to a value.
func (r *runner) assign(t syntax.Target, to *scope, v value) {
	switch t := t.(type) {
	case syntax.ToName:
		r.assignName(t, to, v)
	case *syntax.ToAttribute:
		r.assignAttribute(t, v)
	case syntax.ToAll:
		r.assignAll(t, to, v)
	}
}

func (r *runner) assignName(t syntax.ToName, to *scope, v value) {
	r.work(callCost)
	if _, ok := to.values[string(t)]; !ok {
		r.memory(nameSize)
	}
	to.values[string(t)] = v
}

func (r *runner) assignAttribute(t *syntax.ToAttribute, v value) {
	of, _ := r.find(t.Of)
	n, ok := of.(*space)
	if !ok {
		r.fail("%s is no namespace, so that its attributes cannot be set", t.Of)
	}
	r.name(n, t.Name, v)
}

func (r *runner) assignAll(t syntax.ToAll, to *scope, v value) {
	items := r.items(v)
	if len(items) != len(t) {
		r.fail("%d values for %d names", len(items), len(t))
	}
	for i, one := range t {
		r.assign(one, to, items[i])
	}
}

func (r *runner) runSetBlock(s *syntax.SetBlock) {
	r.assign(s.To, r.scope, r.through(s.Filters, r.captured(s.Body, r.within(s.Frame, r.scope))))
}

func (r *runner) runFilterBlock(s *syntax.FilterBlock) {
	r.out.add(r.show(r.through(s.Filters, r.captured(s.Body, r.within(s.Frame, r.scope)))))
}

// through applies filters in their order.
func (r *runner) through(chain []syntax.Filter, v value) value {
	for i := range chain {
		v = r.filtered(v, &chain[i])
	}
	return v
}

// goOver runs the loop over a value. depth is how many of its iterations it lies in.
func (r *runner) goOver(s *syntax.Loop, over value, depth int) {
	outer := r.scope
	items := r.kept(s, r.items(over))
	ended := false // whether an iteration came to its end: jinja2 asks this for else
	at := &position{items: items, of: s, scope: outer, depth: depth}
	for i, v := range items {
		r.scope = r.within(s.Frame, outer)
		at.index = i
		r.scope.values["loop"] = at
		r.assign(s.To, r.scope, v)
		r.run(s.Body)
		leaving := r.leaving
		r.leaving = 0
		ended = ended || leaving == 0
		if leaving == toBreak {
			break
		}
	}
	r.scope = outer
	if !ended {
		r.scope = r.within(s.OtherFrame, outer)
		r.run(s.Other)
		r.scope = outer
	}
}

// kept returns the items for which the loop's condition is true.
func (r *runner) kept(s *syntax.Loop, items []value) []value {
	if s.Cond == nil {
		return items
	}
	outer := r.scope
	var kept []value
	for _, v := range items {
		r.scope = r.inner(outer)
		r.assign(s.To, r.scope, v)
		if truth(r.eval(s.Cond)) {
			r.memory(slotSize)
			kept = append(kept, v)
		}
	}
	r.scope = outer
	return kept
}
