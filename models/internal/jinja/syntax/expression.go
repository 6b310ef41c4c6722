package syntax

import (
	"slices"
	"strconv"
)

// tuple parses an expression, or several with commas between them.
func (p *parser) tuple() Node { return p.tupleOf(p.expression) }

// source is tuple for what a loop goes over, where "if" has another meaning.
func (p *parser) source() Node { return p.tupleOf(p.or) }

func (p *parser) tupleOf(parse func() Node) Node {
	first := parse()
	if !p.is(operator, ",") {
		return first
	}
	items := []Node{first}
	for p.op(",") {
		if t := p.peek(); t.kind == printEnd || t.kind == blockEnd || t.text == ")" {
			break
		}
		items = append(items, parse())
	}
	return &List{items, true}
}

func (p *parser) expression() (n Node) {
	p.nested(func() {
		n = p.or()
		for p.keyword("if") {
			c := &Choice{Cond: p.or(), Yes: n}
			if p.keyword("else") {
				c.No = p.expression()
			}
			n = c
		}
	})
	return n
}

func (p *parser) or() Node {
	left := p.and()
	for p.keyword("or") {
		left = &Logic{left, p.and(), true}
	}
	return left
}

func (p *parser) and() Node {
	left := p.not()
	for p.keyword("and") {
		left = &Logic{left, p.not(), false}
	}
	return left
}

func (p *parser) not() (n Node) {
	if !p.keyword("not") {
		return p.comparison()
	}
	p.nested(func() { n = &Not{p.not()} })
	return n
}

func (p *parser) comparison() Node {
	c := &Chain{First: p.sum()}
	for {
		op := p.comparator()
		if op == "" {
			break
		}
		c.Ops = append(c.Ops, op)
		c.Rest = append(c.Rest, p.sum())
	}
	if len(c.Ops) == 0 {
		return c.First
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

func (p *parser) sum() Node     { return p.binary(p.joined, "+", "-") }
func (p *parser) joined() Node  { return p.binary(p.product, "~") }
func (p *parser) product() Node { return p.binary(p.power, "*", "//", "/", "%") }
func (p *parser) power() Node   { return p.binary(func() Node { return p.unary(true) }, "**") }

func (p *parser) binary(parse func() Node, ops ...string) Node {
	left := parse()
	for p.peek().kind == operator && slices.Contains(ops, p.peek().text) {
		op := p.next().text
		left = &Binary{op, left, parse()}
	}
	return left
}

// unary parses a sign or a primary, what follows it directly, and filters and tests.
func (p *parser) unary(filters bool) (n Node) {
	switch {
	case p.is(operator, "-"), p.is(operator, "+"):
		negative := p.next().text == "-"
		p.nested(func() { n = &Sign{p.unary(false), negative} })
	default:
		n = p.primary()
	}
	n = p.postfix(n)
	if filters {
		n = p.filtered(n)
	}
	return n
}

func (p *parser) postfix(n Node) Node {
	for {
		switch {
		case p.op("."):
			if p.peek().kind == integer {
				n = &Item{n, p.primary()}
			} else if p.peek().kind == name {
				n = &Attribute{n, p.next().text}
			} else {
				p.unexpected("a name")
			}
		case p.op("["):
			n = p.subscript(n)
		case p.op("("):
			n = &Call{n, p.args()}
		default:
			return n
		}
	}
}

// subscript parses what is between [ and ].
func (p *parser) subscript(of Node) Node {
	var parts [3]Node
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
		return &Slice{of, parts[0], parts[1], parts[2]}
	}
	if parts[0] == nil {
		p.unexpected("an index before")
	}
	return &Item{of, parts[0]}
}

// args parses arguments after (.
func (p *parser) args() (a Args) {
	for first := true; !p.op(")"); first = false {
		if !first {
			p.need(operator, ",")
			if p.op(")") {
				break
			}
		}
		switch {
		case a.Others != nil:
			p.unexpected(`")", as ** comes last`)
		case p.op("**"):
			a.Others = p.expression()
			continue
		case a.Rest == nil && p.op("*"):
			a.Rest = p.expression()
			continue
		case p.peek().kind == name && p.tokens[1].kind == operator && p.tokens[1].text == "=":
			s := p.name()
			if slices.Contains(a.Names, s) {
				p.unexpected("no second argument " + s)
			}
			p.next()
			a.Names, a.Named = append(a.Names, s), append(a.Named, p.expression())
			continue
		}
		if len(a.Names) > 0 || a.Rest != nil {
			p.unexpected("an argument with a name")
		}
		a.Positional = append(a.Positional, p.expression())
	}
	return a
}

func (p *parser) filtered(n Node) Node {
	for {
		switch {
		case p.op("|"):
			f := &Filter{Of: n, Name: p.filterName()}
			if p.op("(") {
				f.Args = p.args()
			}
			n = f
		case p.keyword("is"):
			n = p.test(n)
		case p.op("("):
			n = &Call{n, p.args()}
		default:
			return n
		}
	}
}

func (p *parser) test(of Node) Node {
	negative := p.keyword("not")
	t := p.next()
	if t.kind != name {
		fail(t.line, "got %q, want the name of a test", t.text)
	}
	n := &Test{Of: of, Name: t.text}
	for p.op(".") {
		n.Name += "." + p.name()
	}
	if p.op("(") {
		n.Args = p.args()
	} else if p.argFollows() {
		n.Args.Positional = []Node{p.postfix(p.primary())}
	}
	if negative {
		return &Not{n}
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

func (p *parser) primary() Node {
	t := p.peek()
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			p.next()
			return &Constant{v}
		}
		s := p.name()
		if s == "varargs" || s == "kwargs" || s == "caller" {
			p.named[s] = true
		}
		p.frame.seen[s] = true
		return &Variable{s}
	case text:
		s := ""
		for p.peek().kind == text {
			s += p.next().text
		}
		return &Constant{s}
	case integer, float:
		return p.number()
	}
	switch {
	case p.op("("):
		return p.parenthesis()
	case p.op("["):
		return &List{Items: p.items("]")}
	case p.op("{"):
		return p.dict()
	}
	p.unexpected("an expression")
	return nil
}

func (p *parser) number() Node {
	t := p.next()
	if t.kind == integer {
		n, err := strconv.ParseInt(t.text, base(t.text), 64)
		if err != nil {
			unexpected(t.line, t.text, "an integer of 64 bits")
		}
		return &Constant{n}
	}
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		unexpected(t.line, t.text, "a float")
	}
	return &Constant{f}
}

// base returns the base of an integer: its prefix's, or 10.
func base(s string) int {
	if len(s) > 1 && s[1] > '9' {
		return 0
	}
	return 10
}

// parenthesis parses an expression or a tuple after (.
func (p *parser) parenthesis() (n Node) {
	if p.op(")") {
		return &List{Tuple: true}
	}
	n = p.tuple()
	p.need(operator, ")")
	return n
}

// items parses expressions up to a bracket.
func (p *parser) items(close string) (items []Node) {
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

func (p *parser) dict() Node {
	d := &Dict{}
	for !p.op("}") {
		if len(d.Keys) > 0 {
			p.need(operator, ",")
			if p.op("}") {
				break
			}
		}
		d.Keys = append(d.Keys, p.expression())
		p.need(operator, ":")
		d.Values = append(d.Values, p.expression())
	}
	return d
}
