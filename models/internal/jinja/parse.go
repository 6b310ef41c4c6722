package jinja

import (
	"fmt"
	"slices"
)

// parsed is a template, parsed.
type parsed struct {
	body  []statement
	frame *frame
	names map[string]bool // that its tags have
}

// parse parses a template. An error is a *syntaxError.
func parse(source string) (t *parsed, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *syntaxError:
			t, err = nil, e
		default:
			panic(e)
		}
	}()
	p := &parser{tokens: lex(source), named: map[string]bool{}}
	names := map[string]bool{}
	for _, t := range p.tokens {
		if t.kind == name {
			names[t.text] = true
		}
	}
	t = &parsed{names: names}
	t.frame = p.within(func() { t.body = p.body("") })
	p.finishFrames()
	return t, nil
}

// maxParsed is how deep blocks and expressions may lie within each other.
const maxParsed = 100

type parser struct {
	tokens []token
	depth  int             // of nesting
	loops  int             // around the current place
	named  map[string]bool // variables that were read, of those that macros may get
	frame  *frame          // at the current place
	frames []*frame        // of the template
}

func (p *parser) peek() token { return p.tokens[0] }

// next takes a token. The last one remains.
func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) is(k kind, s string) bool { return p.peek().kind == k && p.peek().text == s }

// take takes a token if it is the next one.
func (p *parser) take(k kind, s string) bool {
	if p.is(k, s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) op(s string) bool      { return p.take(operator, s) }
func (p *parser) keyword(s string) bool { return p.take(name, s) }

func (p *parser) unexpected(want string) {
	t := p.peek()
	panic(&syntaxError{t.line, fmt.Sprintf("%q", t.text), want})
}

func (p *parser) need(k kind, s string) {
	if !p.take(k, s) {
		p.unexpected(fmt.Sprintf("%q", s))
	}
}

// reserved are names that no variable can have.
var reserved = []string{"and", "or", "not", "in", "is", "if", "else", "elif", "for", "true", "false", "none", "True", "False", "None"}

func (p *parser) name() string {
	if p.peek().kind != name || slices.Contains(reserved, p.peek().text) {
		p.unexpected("a name")
	}
	return p.next().text
}

// nested parses what lies deeper.
func (p *parser) nested(f func()) {
	p.depth++
	if p.depth > maxParsed {
		fail(p.peek().line, "blocks or expressions nested deeper than %d", maxParsed)
	}
	f()
	p.depth--
}

// body parses up to a block that begins with one of the words, whose name it leaves to the caller.
// Without words it parses to the end of the template.
func (p *parser) body(owner string, words ...string) (body []statement) {
	p.nested(func() {
		for {
			t := p.next()
			switch t.kind {
			case end:
				if owner != "" {
					panic(&syntaxError{t.line, t.text, fmt.Sprintf("the end of %q", owner)})
				}
				return
			case data:
				body = append(body, statement{t.line, &output{t.text}})
			case printBegin:
				body = append(body, statement{t.line, &printing{[]node{p.tuple()}}})
				p.need(printEnd, "}}")
			case blockBegin:
				if p.peek().kind == name && slices.Contains(words, p.peek().text) {
					return
				}
				body = append(body, statement{t.line, p.block()})
			}
		}
	})
	return body
}

// close parses the rest of a block, before which a colon may stand.
func (p *parser) close() {
	p.op(":")
	p.need(blockEnd, "%}")
}

// end parses the block that ends another.
func (p *parser) end(word string) {
	p.need(name, word)
	p.close()
}

// block parses a block after its {%.
func (p *parser) block() doer {
	t := p.peek()
	if t.kind != name {
		p.unexpected("the name of a block")
	}
	p.next()
	if parse, ok := blocks[t.text]; ok {
		return parse(p)
	}
	if slices.Contains([]string{"include", "import", "from", "extends", "autoescape", "endautoescape"}, t.text) {
		for p.peek().kind != blockEnd && p.peek().kind != end {
			p.next()
		}
		p.close()
		return &missing{t.text}
	}
	panic(&syntaxError{t.line, fmt.Sprintf("block %q", t.text), "if, for, set, macro, call, filter, with, block, print, break, continue, raw or generation"})
}

var blocks map[string]func(p *parser) doer

func init() { // not where it is declared, as blocks have blocks within
	blocks = map[string]func(p *parser) doer{
		"if": (*parser).branch, "for": (*parser).loop, "set": (*parser).set, "macro": (*parser).macro, "call": (*parser).callBlock,
		"filter": (*parser).filterBlock, "with": (*parser).with, "block": (*parser).namedBlock, "print": (*parser).print,
		"generation": (*parser).generation,
		"break":      func(p *parser) doer { return p.leave("break") },
		"continue":   func(p *parser) doer { return p.leave("continue") },
	}
}

func (p *parser) filterBlock() doer {
	f := &filterBlock{filters: p.filters()}
	p.close()
	f.frame = p.within(func() { f.body = p.body("filter", "endfilter") })
	p.end("endfilter")
	return f
}

func (p *parser) generation() doer {
	p.close()
	s := &scoped{}
	s.frame = p.within(func() {
		s.body = p.apart(func() []statement { return p.body("generation", "endgeneration") })
	})
	p.end("endgeneration")
	return s
}

// apart parses a body that cannot leave the loops around it.
func (p *parser) apart(parse func() []statement) []statement {
	loops := p.loops
	p.loops = 0
	body := parse()
	p.loops = loops
	return body
}

func (p *parser) leave(word string) doer {
	if p.loops == 0 {
		fail(p.peek().line, "%s outside of a loop", word)
	}
	p.close()
	return &leave{word == "continue"}
}

// namedBlock parses a block that a template which extends this one could replace.
func (p *parser) namedBlock() doer {
	called := p.name()
	inside := p.keyword("scoped")
	p.keyword("required")
	p.close()
	s := &scoped{root: !inside}
	s.frame = p.within(func() {
		s.body = p.apart(func() []statement { return p.body("block", "endblock") })
	})
	p.need(name, "endblock")
	p.keyword(called)
	p.close()
	return s
}

func (p *parser) print() doer {
	s := &printing{}
	for p.peek().kind != blockEnd {
		if len(s.of) > 0 {
			p.need(operator, ",")
		}
		s.of = append(s.of, p.expression())
	}
	p.close()
	return s
}

func (p *parser) with() doer {
	w := &with{}
	for p.peek().kind != blockEnd && !p.is(operator, ":") {
		if len(w.to) > 0 {
			p.need(operator, ",")
		}
		w.to = append(w.to, p.target(false))
		p.need(operator, "=")
		w.of = append(w.of, p.expression())
	}
	p.close()
	var names []string
	for _, t := range w.to {
		names = append(names, targets(t)...)
	}
	w.frame = p.within(func() { w.body = p.body("with", "endwith") }, names...)
	p.end("endwith")
	return w
}

func (p *parser) branch() doer {
	b := &branch{}
	for {
		b.conds = append(b.conds, p.tuple())
		p.close()
		p.frame.branches++
		b.bodies = append(b.bodies, p.body("if", "elif", "else", "endif"))
		p.frame.branches--
		if !p.keyword("elif") {
			break
		}
	}
	if p.keyword("else") {
		p.close()
		p.frame.branches++
		b.other = p.body("if", "endif")
		p.frame.branches--
	}
	p.end("endif")
	return b
}

func (p *parser) loop() doer {
	l := &loop{to: p.target(false)}
	p.need(name, "in")
	l.over = p.source()
	names := append(targets(l.to), "loop")
	if p.keyword("if") {
		p.within(func() { l.cond = p.expression() }, names...)
	}
	l.recursive = p.keyword("recursive")
	p.close()
	p.loops++
	l.frame = p.within(func() { l.body = p.body("for", "else", "endfor") }, names...)
	p.loops--
	l.otherFrame = &frame{}
	if p.keyword("else") {
		p.close()
		l.otherFrame = p.within(func() { l.other = p.body("for", "endfor") })
	}
	p.end("endfor")
	return l
}

// target parses what is assigned to: names, or several with commas between them, with or without
// parentheses. Attributes are those of namespaces.
func (p *parser) target(attributes bool) target {
	all := toAll{p.one(attributes)}
	several := false
	for p.op(",") {
		several = true
		if p.is(operator, "=") || p.is(name, "in") || p.is(operator, ")") || p.is(blockEnd, "%}") {
			break
		}
		all = append(all, p.one(attributes))
	}
	if several {
		return all
	}
	return all[0]
}

func (p *parser) one(attributes bool) (t target) {
	if p.op("(") {
		p.nested(func() { t = p.target(attributes) })
		p.need(operator, ")")
		return t
	}
	called := p.name()
	if attributes && p.op(".") {
		return &toAttribute{called, p.name()}
	}
	return toName(called)
}

func (p *parser) set() doer {
	to := p.target(true)
	if p.op("=") {
		s := &set{to, p.tuple()}
		p.frame.store(to)
		p.close()
		return s
	}
	s := &setBlock{to: to}
	p.frame.store(to)
	if p.op("|") {
		s.filters = p.filters()
	}
	p.close()
	s.frame = p.within(func() { s.body = p.body("set", "endset") })
	p.end("endset")
	return s
}

func (p *parser) macro() doer {
	m := &macro{name: p.name()}
	p.frame.store(toName(m.name))
	m.frame = p.within(func() {
		p.parameters(m)
		p.close()
		p.finish(m, "macro")
	})
	return m
}

// finish parses the body and the end of a macro, and notes which of the names that only macros have it
// reads.
func (p *parser) finish(m *macro, word string) {
	outer := p.named
	p.named = map[string]bool{}
	m.body = p.apart(func() []statement { return p.body(word, "end"+word) })
	p.end("end" + word)
	has := func(name string) bool { return p.named[name] && !slices.Contains(m.names, name) }
	m.varargs, m.kwargs, m.caller = has("varargs"), has("kwargs"), has("caller")
	for name := range p.named {
		outer[name] = true
	}
	p.named = outer
}

// parameters parses the parameters of a macro.
func (p *parser) parameters(m *macro) {
	p.need(operator, "(")
	for !p.op(")") {
		if len(m.names) > 0 {
			p.need(operator, ",")
		}
		m.names = append(m.names, p.name())
		p.frame.seen[m.names[len(m.names)-1]] = true
		if p.op("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.unexpected("a default, as the parameter before has one")
		}
	}
}

func (p *parser) callBlock() doer {
	c := &callBlock{caller: &macro{name: "caller"}}
	f := p.within(func() {
		if p.is(operator, "(") {
			p.parameters(c.caller)
		}
	})
	c.caller.frame = f
	of, ok := p.expression().(*call)
	if !ok {
		p.unexpected("a call before")
	}
	c.call = of
	p.close()
	p.frame = f
	p.finish(c.caller, "call")
	p.frame = f.outer
	return c
}

// filters parses a filter without the | before it, and all that follow it.
func (p *parser) filters() []filter {
	var filters []filter
	for {
		f := filter{name: p.filterName()}
		if p.op("(") {
			f.args = p.args()
		}
		filters = append(filters, f)
		if !p.op("|") {
			return filters
		}
	}
}

// filterName parses the name of a filter. One that does not exist matters when it is reached: templates
// ask first whether there is what they call.
func (p *parser) filterName() string {
	s := p.name()
	for p.op(".") {
		s += "." + p.name()
	}
	return s
}
