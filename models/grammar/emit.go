package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// plainChar are the characters of a JSON string that need no escape.
var plainChar = regular.Chars("\"\\").Not().And(regular.Class{{Lo: 0x20, Hi: unicode.MaxRune}})

// escaped are the others.
var escaped = plainChar.Not()

// quoted are texts within a JSON string, with escapes only where there must be one.
type quoted struct{ of *regular.Texts }

// compile makes the rules of a schema and returns the first one.
func (c *compiler) compile(root *value) (start ref, err error) {
	defer limited(&err)
	c.add(noValue, &place{name: "#"}, "")
	n := c.node(root, false)
	if n == nil {
		return c.any(), nil
	}
	if err := c.reach(n); err != nil {
		return 0, err
	}
	c.settle()
	if !n.live {
		return 0, fault(c.sites[n.blame()].at, "a schema that no value satisfies", "one that a value can satisfy")
	}
	e := &emitter{compiler: c, done: map[*shape]expr{}, strings: map[*regular.Texts]ref{}}
	start = e.of(n)
	for len(e.queue) > 0 {
		n := e.queue[0]
		e.queue = e.queue[1:]
		all := e.choice(n.shapes)
		c.rules[n.rule].is = all
	}
	return start, nil
}

// An emitter makes rules of nodes that are live.
type emitter struct {
	*compiler
	queue   []*domain
	done    map[*shape]expr
	strings map[*regular.Texts]ref
}

// add adds a rule.
func (c *compiler) addRule(name string, e expr) ref {
	c.rules = append(c.rules, rule{name, e})
	return ref(len(c.rules) - 1)
}

// of returns the rule of a node.
func (e *emitter) of(n *domain) ref {
	if n == nil {
		return e.any()
	}
	if !n.asked {
		n.asked = true
		n.rule = e.addRule("values", nil)
		e.queue = append(e.queue, n)
	}
	return n.rule
}

// choice returns the texts of shapes.
func (e *emitter) choice(list []*shape) expr {
	var all choice
	for _, s := range list {
		if s.live() {
			all = append(all, e.shape(s))
		}
	}
	return all
}

// shape returns the texts of a shape, once.
func (e *emitter) shape(s *shape) expr {
	if x := e.done[s]; x != nil {
		return x
	}
	x := e.texts(s)
	x = e.addRule("a value", x)
	e.done[s] = x
	return x
}

func (e *emitter) texts(s *shape) expr {
	switch s.kind {
	case isNumber:
		if s.numbers.only != nil {
			var all choice
			for _, x := range s.numbers.only {
				all = append(all, literal(x.text))
			}
			return all
		}
		return s.plan.texts
	case isString:
		if s.texts != nil {
			return e.quoted(s.plan.texts)
		}
		return e.rule(fmt.Sprintf("a string of %d to %d", s.least, s.most), func() expr {
			return sequence{literal(`"`), e.length(s.least, s.most), literal(`"`)}
		})
	case isArray:
		return e.array(s)
	case isObject:
		return e.object(s)
	}
	return literal(constantTexts[s.kind])
}

// quoted returns the strings of texts, once.
func (e *emitter) quoted(d *regular.Texts) ref {
	r, ok := e.strings[d]
	if !ok {
		r = e.addRule("a string", sequence{literal(`"`), quoted{d}, literal(`"`)})
		e.strings[d] = r
	}
	return r
}

// length returns so many characters of a string.
func (e *emitter) length(least, most int) expr {
	var char expr = e.char()
	if max(least, most) <= mostInline {
		char = inline{choice{plainChar, anyEscape}}
	}
	if most < 0 {
		return sequence{e.exactly(char, least), anyText{}}
	}
	return sequence{e.exactly(char, least), e.upTo(char, most-least)}
}

// mostInline is up to how many characters are positions of their own, and no calls of a rule: so
// what may follow within a string is known from the tops of stacks.
const mostInline = 1 << 5

// inline is an expression that is repeated as it is, and not by a rule.
type inline struct{ of expr }

// block is how many parts are a rule of their own where there are many.
const block = 1 << 10

// blocks returns a rule of many parts.
func (e *emitter) blocks(of expr) ref {
	return e.rule(fmt.Sprintf("%d of rule %v", block, of), func() expr { return repeat{of, block, block} })
}

func (e *emitter) exactly(of expr, n int) expr {
	if n <= 2*block {
		return repeat{of, n, n}
	}
	return sequence{e.exactly(e.blocks(of), n/block), repeat{of, n % block, n % block}}
}

func (e *emitter) upTo(of expr, n int) expr {
	if n <= 2*block {
		return repeat{of, 0, n}
	}
	many := e.blocks(of)
	return choice{
		sequence{e.upTo(many, n/block-1), repeat{of, 0, block - 1}},
		sequence{e.exactly(many, n/block), repeat{of, 0, n % block}},
	}
}

func (e *emitter) object(s *shape) expr {
	if len(s.every)+len(s.required)+len(s.some) == 0 && s.least == 0 && s.most < 0 {
		return e.anyObject()
	}
	o := newObject(s)
	x := &container{layout: o, comma: e.comma(), shut: e.literal("}"), close: e.close("}")}
	x.rules = []ref{x.comma, x.shut, x.close}
	for i := range o.slots {
		m := &o.slots[i]
		value := sequence{e.colon(), e.of(m.value)}
		switch {
		case m.bit >= 0:
			m.rule = e.addRule("a member", append(sequence{literal(quote(m.name))}, value...))
		case o.compare:
			m.rule, m.then = e.quoted(m.keys), e.addRule("its value", value)
			x.rules = append(x.rules, m.then)
		default:
			m.rule = e.addRule("a member", append(sequence{e.quoted(m.keys)}, value...))
		}
		x.rules = append(x.rules, m.rule)
	}
	return sequence{literal("{"), e.space(), e.addRule("members", x)}
}

func (e *emitter) array(s *shape) expr {
	if len(s.prefix)+len(s.counts) == 0 && s.rest == nil && !s.unique && s.least == 0 && s.most < 0 {
		return e.anyArray()
	}
	a := newArray(s)
	x := &container{layout: a, comma: e.comma(), shut: e.literal("]"), close: e.close("]")}
	x.rules = []ref{x.comma, x.shut, x.close}
	for _, list := range a.items {
		for i := range list {
			switch m := &list[i]; {
			case m.text != "":
				m.rule = e.literal(m.text)
			case m.shapes != nil:
				m.rule = e.addRule("an item", e.choice(m.shapes))
			default:
				m.rule = e.of(m.value)
			}
			x.rules = append(x.rules, list[i].rule)
		}
	}
	return sequence{literal("["), e.space(), e.addRule("items", x)}
}

// rule returns a rule of every schema, which it makes the first time.
func (c *compiler) rule(name string, makeIt func() expr) ref {
	r, ok := c.common[name]
	if !ok {
		r = c.addRule(name, nil)
		c.common[name] = r
		is := makeIt()
		c.rules[r].is = is
	}
	return r
}

func (c *compiler) literal(text string) ref {
	return c.rule(text, func() expr { return literal(text) })
}

// space is what may be between the parts of arrays and objects.
func (c *compiler) space() ref {
	return c.rule("space", func() expr {
		return choice{literal(""), literal(" "), sequence{repeat{literal("\n"), 1, 2}, repeat{regular.Chars(" \t"), 0, 20}}}
	})
}

// comma is what separates them.
func (c *compiler) comma() ref {
	return c.rule("comma", func() expr { return sequence{c.space(), literal(","), c.space()} })
}

func (c *compiler) colon() ref {
	return c.rule("colon", func() expr { return sequence{c.space(), literal(":"), c.space()} })
}

// close ends an array or an object behind its last part.
func (c *compiler) close(bracket string) ref {
	return c.rule("the end "+bracket, func() expr { return sequence{c.space(), literal(bracket)} })
}

// anyText are all texts within a JSON string, with all escapes.
type anyText struct{}

// anyEscape is a backslash and what follows. Halves of surrogate pairs are none, as they
// are no characters.
var anyEscape = func() expr {
	hex := regular.Chars("0123456789abcdefABCDEF")
	first := hex.And(regular.Chars("dD").Not())
	code := choice{
		sequence{first, repeat{hex, 3, 3}},
		sequence{regular.Chars("dD"), regular.Chars("01234567"), repeat{hex, 2, 2}},
		sequence{regular.Chars("dD"), regular.Chars("89abAB"), repeat{hex, 2, 2}, literal(`\u`), regular.Chars("dD"), regular.Chars("cdefCDEF"), repeat{hex, 2, 2}},
	}
	return sequence{literal(`\`), choice{regular.Chars(`"\/bfnrt`), sequence{literal("u"), code}}}
}()

// char is a character of a string, or an escape of one.
func (c *compiler) char() ref {
	return c.rule("char", func() expr { return choice{plainChar, anyEscape} })
}

func (c *compiler) anyString() ref {
	return c.rule("string", func() expr { return sequence{literal(`"`), anyText{}, literal(`"`)} })
}

func (c *compiler) anyArray() ref {
	return c.rule("array", func() expr {
		return sequence{literal("["), c.space(), optional(sequence{c.any(), repeat{sequence{c.comma(), c.any()}, 0, -1}, c.space()}), literal("]")}
	})
}

func (c *compiler) anyObject() ref {
	return c.rule("object", func() expr {
		member := c.rule("member", func() expr { return sequence{c.anyString(), c.colon(), c.any()} })
		return sequence{literal("{"), c.space(), optional(sequence{member, repeat{sequence{c.comma(), member}, 0, -1}, c.space()}), literal("}")}
	})
}

// any is any value.
func (c *compiler) any() ref {
	return c.rule("value", func() expr {
		return choice{literal("null"), literal("true"), literal("false"), numbers{}.texts(), c.anyString(), c.anyArray(), c.anyObject()}
	})
}

// canonical returns one text of all that say the same value of JSON.
func canonical(text string) string {
	v, err := readJSON([]byte(text))
	if err != nil {
		return text // it is not complete, and so no other's
	}
	return v.canonical()
}

func (v *value) canonical() string {
	switch v.kind {
	case "number":
		return v.key()
	case "array":
		var list []string
		for _, x := range v.list {
			list = append(list, x.canonical())
		}
		return "[" + strings.Join(list, ",") + "]"
	case "object":
		keys := slices.Sorted(slices.Values(v.keys))
		for i, key := range keys {
			name, _ := json.Marshal(key) // there is no error of a string
			keys[i] = string(name) + ":" + v.fields[key].canonical()
		}
		return "{" + strings.Join(keys, ",") + "}"
	}
	return v.write()
}
