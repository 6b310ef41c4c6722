package grammar

import "github.com/attn-go/attn/models/grammar/internal/regular"

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the text of a grammar and of a schema.
const (
	mostText    = 1 << 20 // bytes
	mostNesting = 200     // of groups, and of schemas in a schema
)

// Parse returns the grammar of a text in llama.cpp's form of BNF, GBNF:
//
//	root  ::= item (", " item)*      # the rule that texts are of; a comment
//	item  ::= "a\n" | [a-z0-9_]{2,5} | [^"] | . | ""
//
// A rule is a name of letters, digits and hyphens, and what it stands for: alternatives of
// sequences of strings, classes of characters, "." for any character, names, and groups in
// parentheses, each with *, +, ?, {n}, {n,} or {n,m} behind it if it is repeated. Rules end with a
// line, which may be broken within parentheses and after ::= and |. Strings and classes have the
// escapes \n, \r, \t, \", \\, \[, \], \xHH, \uHHHH and \UHHHHHHHH, of which each is a character.
// Tokens, as in <[1]> or <think>, are an error.
//
// These are not llama.cpp's:
//
//	%json {"type": "integer"}     # the values of a JSON Schema, see [FromSchema]
//	%gbnf "root ::= \"a\""        # the texts of another grammar, whose rules are its own
//	%until("</a>", "</b>")        # any bytes up to the first of some strings, with it
//	%without("<a>", "<b>")        # any bytes that have none of some strings
//	%unless("{", "[")             # any bytes that begin with none of some strings
//
// As in llama.cpp a rule must not begin with itself. The error is a [*kernel.Error].
func Parse(text string) (*Grammar, error) {
	if len(text) > mostText {
		return nil, limitError("bytes of a grammar", mostText)
	}
	c := &compiler{}
	root, err := parseInto(c, text, 0)
	if err != nil {
		return nil, err
	}
	return newGrammar(Source{Text: text}, c.rules, root)
}

// parseInto adds the rules of a text to those that there are, and returns the number of its root.
func parseInto(c *compiler, text string, inside int) (root int, err error) {
	p := &parser{compiler: c, text: text, inside: inside, numbers: map[string]int{}, used: map[int]int{}}
	if !utf8.ValidString(text) {
		return 0, syntaxError(0, "bytes that are not UTF-8", "UTF-8")
	}
	if err := p.parse(); err != nil {
		return 0, err
	}
	root, ok := p.numbers["root"]
	if !ok {
		return 0, syntaxError(0, "no rule root", "root ::= ...")
	}
	return root, nil
}

// A parser reads the text of a grammar.
type parser struct {
	*compiler // has the rules
	text      string
	at        int
	nesting   int
	inside    int            // so many other grammars
	numbers   map[string]int // of rules, by name
	used      map[int]int    // where a rule was first used
}

// fail returns an error about the place where the parser is.
func (p *parser) fail(want string) error {
	got := "the end"
	if p.at < len(p.text) {
		got = fmt.Sprintf("%.20q", p.text[p.at:])
	}
	return p.wrong(p.at, got, want)
}

func (p *parser) wrong(at int, got, want string) error {
	return syntaxError(1+strings.Count(p.text[:at], "\n"), got, want)
}

// space skips spaces and comments, and ends of lines if they are no end.
func (p *parser) space(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

// take takes a text if it follows.
func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.text[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

// name takes a name, which may be empty.
func (p *parser) name() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-') {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

// number returns the number of a rule.
func (p *parser) number(name string) int {
	n, ok := p.numbers[name]
	if !ok {
		n = len(p.rules)
		p.numbers[name] = n
		p.rules, p.used[n] = append(p.rules, rule{name: name}), p.at
	}
	return n
}

func (p *parser) parse() error {
	p.space(true)
	for p.at < len(p.text) {
		from := p.at
		name := p.name()
		if name == "" {
			return p.fail("the name of a rule")
		}
		p.space(false)
		if !p.take("::=") {
			return p.fail("::= after the name of a rule")
		}
		p.space(true)
		e, err := p.choice()
		if err != nil {
			return err
		}
		if p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
			return p.fail("a string, a class, a name, a group or the end of the line")
		}
		n := p.number(name)
		if p.rules[n].is != nil {
			return p.wrong(from, fmt.Sprintf("rule %q again", name), "each rule once")
		}
		p.rules[n].is = e
		p.space(true)
	}
	for i, r := range p.rules {
		if at, mine := p.used[i]; mine && r.is == nil {
			return p.wrong(at, fmt.Sprintf("%q, which no rule explains", r.name), "the name of a rule")
		}
	}
	return nil
}

// choice takes alternatives. In a group, lines do not end it.
func (p *parser) choice() (expr, error) {
	var all choice
	for {
		e, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, e); !p.take("|") {
			break
		}
		p.space(true)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// sequence takes one alternative.
func (p *parser) sequence() (expr, error) {
	all := sequence{}
	for {
		e, err := p.item()
		if err != nil {
			return nil, err
		}
		if e == nil {
			return all, nil
		}
		p.space(p.nesting > 0)
		for n := 1; p.at < len(p.text) && strings.IndexByte("*+?{", p.text[p.at]) >= 0; n++ {
			if n > mostNesting { // each is an expression around the one before
				return nil, limitError("repetitions of one item within each other", mostNesting)
			}
			if e, err = p.repeat(e); err != nil {
				return nil, err
			}
			p.space(p.nesting > 0)
		}
		all = append(all, e)
	}
}

// item takes what can be repeated, or nothing, when it is nil.
func (p *parser) item() (expr, error) {
	switch {
	case p.take(`"`):
		return p.literal()
	case p.take("["):
		return p.class()
	case p.take("."):
		return regular.AnyChar, nil
	case p.take("("):
		return p.group()
	case p.take("%"):
		return p.further()
	}
	if name := p.name(); name != "" {
		return ref(p.number(name)), nil
	}
	return nil, nil
}

func (p *parser) group() (expr, error) {
	if p.nesting++; p.nesting > mostNesting {
		return nil, limitError("groups within each other", mostNesting)
	}
	p.space(true)
	e, err := p.choice()
	if err != nil {
		return nil, err
	}
	p.nesting--
	if !p.take(")") {
		return nil, p.fail(")")
	}
	return e, nil
}

func (p *parser) literal() (expr, error) {
	var text []byte
	for !p.take(`"`) {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		text = utf8.AppendRune(text, r)
	}
	return literal(text), nil
}

func (p *parser) class() (expr, error) {
	not := p.take("^")
	var list []regular.Span
	for !p.take("]") {
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if strings.HasPrefix(p.text[p.at:], "-") && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.fail("a range that ascends")
		}
		list = append(list, regular.Span{Lo: lo, Hi: hi})
	}
	c := regular.Spans(list...)
	if not {
		c = c.Not()
	}
	return c, nil
}

// escapes are the characters after a backslash that stand for one.
var escapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '[': '[', ']': ']'}

// digitsOf are the characters after a backslash that so many hexadecimal digits follow.
var digitsOf = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// char takes a character of a string or a class.
func (p *parser) char() (rune, error) {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	if n == 0 || r == '\n' {
		return 0, p.fail("the end of a string or a class")
	}
	if r != '\\' {
		p.at += n
		return r, nil
	}
	if p.at+1 == len(p.text) {
		return 0, p.fail("an escape")
	}
	c := p.text[p.at+1]
	if r, ok := escapes[c]; ok {
		p.at += 2
		return r, nil
	}
	digits, ok := digitsOf[c]
	if !ok || p.at+2+digits > len(p.text) {
		return 0, p.fail(`one of \n \r \t \" \\ \[ \] \xHH \uHHHH \UHHHHHHHH`)
	}
	x, err := strconv.ParseUint(p.text[p.at+2:][:digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(x)) || x > utf8.MaxRune {
		return 0, p.fail("the number of a character")
	}
	p.at += 2 + digits
	return rune(x), nil
}

// repeat takes how often something is repeated.
func (p *parser) repeat(e expr) (expr, error) {
	switch {
	case p.take("*"):
		return repeat{e, 0, -1}, nil
	case p.take("+"):
		return repeat{e, 1, -1}, nil
	case p.take("?"):
		return optional(e), nil
	}
	p.at++
	p.space(p.nesting > 0)
	least, err := p.count()
	if err != nil {
		return nil, err
	}
	most := least
	p.space(p.nesting > 0)
	if p.take(",") {
		p.space(p.nesting > 0)
		most = -1
		if !strings.HasPrefix(p.text[p.at:], "}") {
			if most, err = p.count(); err != nil {
				return nil, err
			}
			p.space(p.nesting > 0)
		}
	}
	if !p.take("}") || most >= 0 && most < least {
		return nil, p.fail("{n}, {n,} or {n,m}")
	}
	return repeat{e, least, most}, nil
}

// count takes a number.
func (p *parser) count() (int, error) {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if p.at == from {
		return 0, p.fail("a number")
	}
	if err != nil || n > mostPositions {
		return 0, limitError("repetitions", mostPositions)
	}
	return n, nil
}
