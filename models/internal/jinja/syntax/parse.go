package syntax

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// A Template is a template, parsed.
type Template struct {
	Body  []Statement
	Frame *Frame
	Names map[string]bool // all that its tags have
}

// Parse parses a template. The error is a [*kernel.Error] of the kind [ErrSyntax].
func Parse(source string) (t *Template, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *kernel.Error:
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
	t = &Template{Names: names}
	t.Frame = p.within(func() { t.Body = p.body("") })
	p.finishFrames()
	return t, nil
}

// maxDepth is how deep blocks and expressions may lie within each other.
const maxDepth = 100

type parser struct {
	tokens []token
	depth  int             // of nesting
	loops  int             // around the current place
	named  map[string]bool // variables that were read, of those that macros may get
	frame  *Frame          // at the current place
	frames []*Frame        // of the template
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
	unexpected(t.line, fmt.Sprintf("%q", t.text), want)
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
	if p.depth > maxDepth {
		fail(p.peek().line, "blocks or expressions nested deeper than %d", maxDepth)
	}
	f()
	p.depth--
}

// body parses up to a block that begins with any of the words, whose name it leaves to the caller.
// Without words it parses to the end of the template.
func (p *parser) body(owner string, words ...string) (body []Statement) {
	p.nested(func() {
		for {
			t := p.next()
			switch t.kind {
			case end:
				if owner != "" {
					unexpected(t.line, t.text, fmt.Sprintf("the end of %q", owner))
				}
				return
			case data:
				body = append(body, Statement{t.line, &Output{t.text}})
			case printBegin:
				body = append(body, Statement{t.line, &Printing{[]Node{p.tuple()}}})
				p.need(printEnd, "}}")
			case blockBegin:
				if p.peek().kind == name && slices.Contains(words, p.peek().text) {
					return
				}
				body = append(body, Statement{t.line, p.block()})
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
func (p *parser) block() Doer {
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
		return &Missing{t.text}
	}
	unexpected(t.line, fmt.Sprintf("block %q", t.text), "if, for, set, macro, call, filter, with, block, print, break, continue, raw or generation")
	return nil
}

var blocks map[string]func(p *parser) Doer

func init() { // not where it is declared, as blocks have blocks within
	blocks = map[string]func(p *parser) Doer{
		"if": (*parser).branch, "for": (*parser).loop, "set": (*parser).set, "macro": (*parser).macro, "call": (*parser).callBlock,
		"filter": (*parser).filterBlock, "with": (*parser).with, "block": (*parser).namedBlock, "print": (*parser).print,
		"generation": (*parser).generation,
		"break":      func(p *parser) Doer { return p.leave("break") },
		"continue":   func(p *parser) Doer { return p.leave("continue") },
	}
}

func (p *parser) filterBlock() Doer {
	f := &FilterBlock{Filters: p.filters()}
	p.close()
	f.Frame = p.within(func() { f.Body = p.body("filter", "endfilter") })
	p.end("endfilter")
	return f
}

func (p *parser) generation() Doer {
	p.close()
	s := &Scoped{}
	s.Frame = p.within(func() {
		s.Body = p.apart(func() []Statement { return p.body("generation", "endgeneration") })
	})
	p.end("endgeneration")
	return s
}

// apart parses a body that cannot leave the loops around it.
func (p *parser) apart(parse func() []Statement) []Statement {
	loops := p.loops
	p.loops = 0
	body := parse()
	p.loops = loops
	return body
}

func (p *parser) leave(word string) Doer {
	if p.loops == 0 {
		fail(p.peek().line, "%s outside of a loop", word)
	}
	p.close()
	return &Leave{word == "continue"}
}

// namedBlock parses a block that a template which extends this one could replace.
func (p *parser) namedBlock() Doer {
	called := p.name()
	inside := p.keyword("scoped")
	p.keyword("required")
	p.close()
	s := &Scoped{Root: !inside}
	s.Frame = p.within(func() {
		s.Body = p.apart(func() []Statement { return p.body("block", "endblock") })
	})
	p.need(name, "endblock")
	p.keyword(called)
	p.close()
	return s
}

func (p *parser) print() Doer {
	s := &Printing{}
	for p.peek().kind != blockEnd {
		if len(s.Of) > 0 {
			p.need(operator, ",")
		}
		s.Of = append(s.Of, p.expression())
	}
	p.close()
	return s
}

func (p *parser) with() Doer {
	w := &With{}
	for p.peek().kind != blockEnd && !p.is(operator, ":") {
		if len(w.To) > 0 {
			p.need(operator, ",")
		}
		w.To = append(w.To, p.target(false))
		p.need(operator, "=")
		w.Of = append(w.Of, p.expression())
	}
	p.close()
	var names []string
	for _, t := range w.To {
		names = append(names, targets(t)...)
	}
	w.Frame = p.within(func() { w.Body = p.body("with", "endwith") }, names...)
	p.end("endwith")
	return w
}

func (p *parser) branch() Doer {
	b := &Branch{}
	for {
		b.Conds = append(b.Conds, p.tuple())
		p.close()
		p.frame.branches++
		b.Bodies = append(b.Bodies, p.body("if", "elif", "else", "endif"))
		p.frame.branches--
		if !p.keyword("elif") {
			break
		}
	}
	if p.keyword("else") {
		p.close()
		p.frame.branches++
		b.Other = p.body("if", "endif")
		p.frame.branches--
	}
	p.end("endif")
	return b
}

func (p *parser) loop() Doer {
	l := &Loop{To: p.target(false)}
	p.need(name, "in")
	l.Over = p.source()
	names := append(targets(l.To), "loop")
	if p.keyword("if") {
		p.within(func() { l.Cond = p.expression() }, names...)
	}
	l.Recursive = p.keyword("recursive")
	p.close()
	p.loops++
	l.Frame = p.within(func() { l.Body = p.body("for", "else", "endfor") }, names...)
	p.loops--
	l.OtherFrame = &Frame{}
	if p.keyword("else") {
		p.close()
		l.OtherFrame = p.within(func() { l.Other = p.body("for", "endfor") })
	}
	p.end("endfor")
	return l
}

// target parses what is assigned to: names, or several with commas between them, with or without
// parentheses. Attributes belong to namespaces.
func (p *parser) target(attributes bool) Target {
	all := ToAll{p.one(attributes)}
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

func (p *parser) one(attributes bool) (t Target) {
	if p.op("(") {
		p.nested(func() { t = p.target(attributes) })
		p.need(operator, ")")
		return t
	}
	called := p.name()
	if attributes && p.op(".") {
		return &ToAttribute{called, p.name()}
	}
	return ToName(called)
}

func (p *parser) set() Doer {
	to := p.target(true)
	if p.op("=") {
		s := &Set{to, p.tuple()}
		p.frame.store(to)
		p.close()
		return s
	}
	s := &SetBlock{To: to}
	p.frame.store(to)
	if p.op("|") {
		s.Filters = p.filters()
	}
	p.close()
	s.Frame = p.within(func() { s.Body = p.body("set", "endset") })
	p.end("endset")
	return s
}

func (p *parser) macro() Doer {
	m := &Macro{Name: p.name()}
	p.frame.store(ToName(m.Name))
	m.Frame = p.within(func() {
		p.parameters(m)
		p.close()
		p.finish(m, "macro")
	})
	return m
}

// finish parses the body and the end of a macro, and notes which macro-only names it reads.
func (p *parser) finish(m *Macro, word string) {
	outer := p.named
	p.named = map[string]bool{}
	m.Body = p.apart(func() []Statement { return p.body(word, "end"+word) })
	p.end("end" + word)
	has := func(name string) bool { return p.named[name] && !slices.Contains(m.Names, name) }
	m.Varargs, m.Kwargs, m.Caller = has("varargs"), has("kwargs"), has("caller")
	for name := range p.named {
		outer[name] = true
	}
	p.named = outer
}

// parameters parses the parameters of a macro.
func (p *parser) parameters(m *Macro) {
	p.need(operator, "(")
	for !p.op(")") {
		if len(m.Names) > 0 {
			p.need(operator, ",")
		}
		m.Names = append(m.Names, p.name())
		p.frame.seen[m.Names[len(m.Names)-1]] = true
		if p.op("=") {
			m.Defaults = append(m.Defaults, p.expression())
		} else if len(m.Defaults) > 0 {
			p.unexpected("a default, as the parameter before has one")
		}
	}
}

func (p *parser) callBlock() Doer {
	c := &CallBlock{Caller: &Macro{Name: "caller"}}
	f := p.within(func() {
		if p.is(operator, "(") {
			p.parameters(c.Caller)
		}
	})
	c.Caller.Frame = f
	of, ok := p.expression().(*Call)
	if !ok {
		p.unexpected("a call before")
	}
	c.Call = of
	p.close()
	p.frame = f
	p.finish(c.Caller, "call")
	p.frame = f.outer
	return c
}

// filters parses a filter without the | before it, and all that follow it.
func (p *parser) filters() []Filter {
	var filters []Filter
	for {
		f := Filter{Name: p.filterName()}
		if p.op("(") {
			f.Args = p.args()
		}
		filters = append(filters, f)
		if !p.op("|") {
			return filters
		}
	}
}

// filterName parses the name of a filter. One that does not exist matters when it is reached:
// templates ask first whether there is what they call.
func (p *parser) filterName() string {
	s := p.name()
	for p.op(".") {
		s += "." + p.name()
	}
	return s
}
