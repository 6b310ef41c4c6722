package jinja

import (
	"slices"
	"strconv"
)

// tuple parses an expression, or several with commas between them.
func (p *parser) tuple() node { return p.tupleOf(p.expression) }

// source is tuple for what a loop goes over, where "if" has another meaning.
func (p *parser) source() node { return p.tupleOf(p.or) }

func (p *parser) tupleOf(parse func() node) node {
	first := parse()
	if !p.is(operator, ",") {
		return first
	}
	items := []node{first}
	for p.op(",") {
		if t := p.peek(); t.kind == printEnd || t.kind == blockEnd || t.text == ")" {
			break
		}
		items = append(items, parse())
	}
	return &listNode{items, true}
}

func (p *parser) expression() (n node) {
	p.nested(func() {
		n = p.or()
		for p.keyword("if") {
			c := &choice{cond: p.or(), yes: n}
			if p.keyword("else") {
				c.no = p.expression()
			}
			n = c
		}
	})
	return n
}

func (p *parser) or() node {
	left := p.and()
	for p.keyword("or") {
		left = &logic{left, p.and(), true}
	}
	return left
}

func (p *parser) and() node {
	left := p.not()
	for p.keyword("and") {
		left = &logic{left, p.not(), false}
	}
	return left
}

func (p *parser) not() (n node) {
	if !p.keyword("not") {
		return p.comparison()
	}
	p.nested(func() { n = &not{p.not()} })
	return n
}

func (p *parser) comparison() node {
	c := &chain{first: p.sum()}
	for {
		op := p.comparator()
		if op == "" {
			break
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
	if len(c.ops) == 0 {
		return c.first
	}
	return c
}

// comparator takes an operator that compares, if one follows.
func (p *parser) comparator() string {
	t := p.peek()
	switch {
	case t.kind == operator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
		return p.next().text
	case p.keyword("in"):
		return "in"
	case p.is(name, "not") && p.tokens[1].kind == name && p.tokens[1].text == "in":
		p.next()
		p.next()
		return "not in"
	}
	return ""
}

func (p *parser) sum() node     { return p.binary(p.joined, "+", "-") }
func (p *parser) joined() node  { return p.binary(p.product, "~") }
func (p *parser) product() node { return p.binary(p.power, "*", "//", "/", "%") }
func (p *parser) power() node   { return p.binary(func() node { return p.unary(true) }, "**") }

func (p *parser) binary(parse func() node, ops ...string) node {
	left := parse()
	for p.peek().kind == operator && slices.Contains(ops, p.peek().text) {
		op := p.next().text
		left = &binary{op, left, parse()}
	}
	return left
}

// unary parses a sign or a primary, what follows it directly, and filters and tests.
func (p *parser) unary(filters bool) (n node) {
	switch {
	case p.is(operator, "-"), p.is(operator, "+"):
		negative := p.next().text == "-"
		p.nested(func() { n = &sign{p.unary(false), negative} })
	default:
		n = p.primary()
	}
	n = p.postfix(n)
	if filters {
		n = p.filtered(n)
	}
	return n
}

func (p *parser) postfix(n node) node {
	for {
		switch {
		case p.op("."):
			if p.peek().kind == integer {
				n = &item{n, p.primary()}
			} else if p.peek().kind == name {
				n = &attribute{n, p.next().text}
			} else {
				p.unexpected("a name")
			}
		case p.op("["):
			n = p.subscript(n)
		case p.op("("):
			n = &call{n, p.args()}
		default:
			return n
		}
	}
}

// subscript parses what is between [ and ].
func (p *parser) subscript(of node) node {
	var parts [3]node
	colons := 0
	for !p.op("]") {
		switch {
		case p.op(":"):
			if colons++; colons > 2 {
				p.unexpected(`"]"`)
			}
		case parts[colons] == nil:
			parts[colons] = p.tuple()
		default:
			p.unexpected(`"]"`)
		}
	}
	if colons > 0 {
		return &slice{of, parts[0], parts[1], parts[2]}
	}
	if parts[0] == nil {
		p.unexpected("an index before")
	}
	return &item{of, parts[0]}
}

// args parses arguments after (.
func (p *parser) args() (a argNodes) {
	for first := true; !p.op(")"); first = false {
		if !first {
			p.need(operator, ",")
			if p.op(")") {
				break
			}
		}
		switch {
		case a.others != nil:
			p.unexpected(`")", as ** comes last`)
		case p.op("**"):
			a.others = p.expression()
			continue
		case a.rest == nil && p.op("*"):
			a.rest = p.expression()
			continue
		case p.peek().kind == name && p.tokens[1].kind == operator && p.tokens[1].text == "=":
			s := p.name()
			if slices.Contains(a.names, s) {
				p.unexpected("no second argument " + s)
			}
			p.next()
			a.names, a.named = append(a.names, s), append(a.named, p.expression())
			continue
		}
		if len(a.names) > 0 || a.rest != nil {
			p.unexpected("an argument with a name")
		}
		a.positional = append(a.positional, p.expression())
	}
	return a
}

func (p *parser) filtered(n node) node {
	for {
		switch {
		case p.op("|"):
			f := &filter{of: n, name: p.filterName()}
			if p.op("(") {
				f.args = p.args()
			}
			n = f
		case p.keyword("is"):
			n = p.test(n)
		case p.op("("):
			n = &call{n, p.args()}
		default:
			return n
		}
	}
}

func (p *parser) test(of node) node {
	negative := p.keyword("not")
	t := p.next()
	if t.kind != name {
		fail(t.line, "got %q, want the name of a test", t.text)
	}
	n := &test{of: of, name: t.text}
	for p.op(".") {
		n.name += "." + p.name()
	}
	if p.op("(") {
		n.args = p.args()
	} else if p.argFollows() {
		n.args.positional = []node{p.postfix(p.primary())}
	}
	if negative {
		return &not{n}
	}
	return n
}

// argFollows returns whether a test's argument follows without parentheses.
func (p *parser) argFollows() bool {
	t := p.peek()
	switch t.kind {
	case name:
		return !slices.Contains([]string{"else", "or", "and", "is", "if", "in", "not"}, t.text)
	case text, integer, float:
		return true
	}
	return t.kind == operator && (t.text == "[" || t.text == "{")
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

func (p *parser) primary() node {
	t := p.peek()
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			p.next()
			return &constant{v}
		}
		s := p.name()
		if s == "varargs" || s == "kwargs" || s == "caller" {
			p.named[s] = true
		}
		p.frame.seen[s] = true
		return &variable{s}
	case text:
		s := ""
		for p.peek().kind == text {
			s += p.next().text
		}
		return &constant{s}
	case integer, float:
		return p.number()
	}
	switch {
	case p.op("("):
		return p.parenthesis()
	case p.op("["):
		return &listNode{items: p.items("]")}
	case p.op("{"):
		return p.dict()
	}
	p.unexpected("an expression")
	return nil
}

func (p *parser) number() node {
	t := p.next()
	if t.kind == integer {
		n, err := strconv.ParseInt(t.text, base(t.text), 64)
		if err != nil {
			panic(&syntaxError{t.line, t.text, "an integer of 64 bits"})
		}
		return &constant{n}
	}
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		panic(&syntaxError{t.line, t.text, "a float"})
	}
	return &constant{f}
}

// base returns the base of an integer: that of its prefix, or 10.
func base(s string) int {
	if len(s) > 1 && s[1] > '9' {
		return 0
	}
	return 10
}

// parenthesis parses an expression or a tuple after (.
func (p *parser) parenthesis() (n node) {
	if p.op(")") {
		return &listNode{tuple: true}
	}
	n = p.tuple()
	p.need(operator, ")")
	return n
}

// items parses expressions up to a bracket.
func (p *parser) items(close string) (items []node) {
	for !p.op(close) {
		if len(items) > 0 {
			p.need(operator, ",")
			if p.op(close) {
				break
			}
		}
		items = append(items, p.expression())
	}
	return items
}

func (p *parser) dict() node {
	d := &dictNode{}
	for !p.op("}") {
		if len(d.keys) > 0 {
			p.need(operator, ",")
			if p.op("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.need(operator, ":")
		d.values = append(d.values, p.expression())
	}
	return d
}
