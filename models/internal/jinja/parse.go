package jinja

import (
	"fmt"
	"slices"
)

// Template is a template, parsed. It does not change and is safe for concurrent use.
type Template struct {
	body  []statement
	names map[string]bool // that its tags have
}

// Names tells whether a name stands in a tag of the template. Without that it cannot read a variable
// of that name.
func (t *Template) Names(s string) bool { return t.names[s] }

// Parse parses a template. An error is a *SyntaxError.
func Parse(source string) (t *Template, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *SyntaxError:
			t, err = nil, e
		default:
			panic(e)
		}
	}()
	p := &parser{tokens: lex(source)}
	names := map[string]bool{}
	for _, t := range p.tokens {
		if t.kind == name {
			names[t.text] = true
		}
	}
	return &Template{p.body(""), names}, nil
}

type parser struct {
	tokens []token
	depth  int // of nesting
	loops  int // around the current place
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
	panic(&SyntaxError{t.line, fmt.Sprintf("%q", t.text), want})
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
	if p.depth > maxNesting {
		fail(p.peek().line, "blocks or expressions nested deeper than %d", maxNesting)
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
					panic(&SyntaxError{t.line, t.text, fmt.Sprintf("the end of %q", owner)})
				}
				return
			case data:
				body = append(body, statement{t.line, &output{Inside(t.text)}})
			case printBegin:
				body = append(body, statement{t.line, &printing{p.tuple()}})
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

// close parses the rest of a block.
func (p *parser) close() { p.need(blockEnd, "%}") }

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
	switch t.text {
	case "if":
		return p.branch()
	case "for":
		return p.loop()
	case "set":
		return p.set()
	case "macro":
		return p.macro()
	case "filter":
		filters := p.filters()
		p.close()
		body := p.body("filter", "endfilter")
		p.end("endfilter")
		return &filterBlock{filters, body}
	case "generation":
		p.close()
		body := p.body("generation", "endgeneration")
		p.end("endgeneration")
		return &group{body}
	case "break", "continue":
		if p.loops == 0 {
			fail(t.line, "%s outside of a loop", t.text)
		}
		p.close()
		return &leave{t.text == "continue"}
	}
	panic(&SyntaxError{t.line, fmt.Sprintf("block %q", t.text), "if, for, set, macro, filter, break, continue, raw or generation"})
}

func (p *parser) branch() doer {
	b := &branch{}
	for {
		b.conds = append(b.conds, p.tuple())
		p.close()
		b.bodies = append(b.bodies, p.body("if", "elif", "else", "endif"))
		if !p.keyword("elif") {
			break
		}
	}
	if p.keyword("else") {
		p.close()
		b.other = p.body("if", "endif")
	}
	p.end("endif")
	return b
}

func (p *parser) loop() doer {
	l := &loop{names: p.names()}
	p.need(name, "in")
	l.over = p.source()
	if p.keyword("if") {
		l.cond = p.expression()
	}
	p.close()
	p.loops++
	l.body = p.body("for", "else", "endfor")
	p.loops--
	if p.keyword("else") {
		p.close()
		l.other = p.body("for", "endfor")
	}
	p.end("endfor")
	return l
}

// names parses what is assigned to, with or without parentheses.
func (p *parser) names() []string {
	round := p.op("(")
	names := []string{p.name()}
	for p.op(",") {
		names = append(names, p.name())
	}
	if round {
		p.need(operator, ")")
	}
	return names
}

func (p *parser) set() doer {
	names := p.names()
	if len(names) == 1 && p.op(".") {
		field := p.name()
		p.need(operator, "=")
		s := &setAttribute{names[0], field, p.tuple()}
		p.close()
		return s
	}
	if p.op("=") {
		s := &set{names, p.tuple()}
		p.close()
		return s
	}
	if len(names) > 1 {
		p.unexpected(`"="`)
	}
	s := &setBlock{name: names[0]}
	if p.is(operator, "|") {
		p.next()
		s.filters = p.filters()
	}
	p.close()
	s.body = p.body("set", "endset")
	p.end("endset")
	return s
}

func (p *parser) macro() doer {
	m := &macro{name: p.name()}
	p.need(operator, "(")
	for !p.op(")") {
		if len(m.names) > 0 {
			p.need(operator, ",")
		}
		m.names = append(m.names, p.name())
		if p.op("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.unexpected("a default, as the parameter before has one")
		}
	}
	p.close()
	loops := p.loops
	p.loops = 0
	m.body = p.body("macro", "endmacro")
	p.loops = loops
	p.end("endmacro")
	return m
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

func (p *parser) filterName() string {
	t := p.peek()
	s := p.name()
	if _, ok := filters[s]; !ok {
		fail(t.line, "filter %q, which is not known", s)
	}
	return s
}
