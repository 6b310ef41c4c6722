package jinja

import "github.com/attn-go/attn/models/internal/jinja/syntax"

// position is the variable loop.
type position struct {
	items []value
	index int
	of    *syntax.Loop
	scope *scope // around the loop
	depth int    // from 0
	last  value  // that changed has seen, a tuple
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
	case "depth":
		return int64(p.depth + 1), true
	case "depth0":
		return int64(p.depth), true
	case "previtem":
		if p.index > 0 {
			return p.items[p.index-1], true
		}
	case "nextitem":
		if p.index+1 < n {
			return p.items[p.index+1], true
		}
	}
	return method(loopMethods, p, name)
}

// loopMethods are the methods of loop.
var loopMethods = map[string]operation{
	"cycle": of("cycle(*args)", func(r *runner, p *position, b []value) value {
		items := b[0].(*List).items
		if len(items) == 0 {
			r.fail("loop.cycle without values")
		}
		return items[p.index%len(items)]
	}),
	"changed": of("changed(*value)", func(r *runner, p *position, b []value) value {
		was := p.last
		p.last = b[0]
		return was == nil || !r.equal(was, b[0])
	}),
}

// again calls the variable loop.
var again operation

func init() { // not where it is declared, as the body of a loop may call it
	again = takes("loop(iterable, /)", (*runner).loopAgain)
}

// loopAgain runs the body of a recursive loop over another value, and returns what that prints.
func (r *runner) loopAgain(v value, b []value) value {
	p := v.(*position)
	if !p.of.Recursive {
		r.fail("a call of the variable loop of a loop that is not recursive")
	}
	out, outer := r.out, r.scope
	r.out, r.scope = &builder{m: &r.meter}, p.scope
	r.down()
	r.goOver(p.of, b[0], p.depth+1)
	r.up()
	made := r.out.str()
	r.out, r.scope = out, outer
	return made
}
