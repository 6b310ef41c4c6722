package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is an expression.
type node struct {
	kind     kind
	chars    set     // one, ahead
	end      bool    // ahead: also where the text ends
	parts    []*node // concat, either, repeat
	min, max int     // repeat; max is -1 without a limit
	lazy     bool
	greedy   bool // possessive: never gives back
}

type kind uint8

const (
	concat kind = iota
	either
	repeat
	one   // a character
	ahead // looks at the next character
)

// maxRepeat bounds the numbers in braces, maxExpr the length of an expression and maxFold the
// classes in which case does not matter.
const (
	maxRepeat = 1000
	maxExpr   = 4096
	maxFold   = 16
)

// An unsupported is a panic about the part of an expression that this package cannot match.
type unsupported string

type parser struct {
	expr  string
	pos   int
	fold  bool
	folds int // how many classes have been folded
	depth int
}

// fail ends the parsing, which parse reports.
func (p *parser) fail(at int, format string, args ...any) {
	panic(unsupported(fmt.Sprintf(format, args...) + fmt.Sprint(" at byte ", at)))
}

func parse(expr string) *node {
	p := &parser{expr: expr}
	if !utf8.ValidString(expr) {
		p.fail(0, "bytes that are not UTF-8")
	}
	if len(expr) > maxExpr {
		p.fail(maxExpr, "an expression of more than %d bytes", maxExpr)
	}
	n := p.either()
	if p.pos < len(expr) {
		p.fail(p.pos, "a parenthesis that none opens")
	}
	return n
}

func (p *parser) more() bool { return p.pos < len(p.expr) }

// accept skips s if it comes next.
func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.expr[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) rune() rune {
	if !p.more() {
		p.fail(p.pos, "an end where a character should be")
	}
	r, n := utf8.DecodeRuneInString(p.expr[p.pos:])
	p.pos += n
	return r
}

func (p *parser) either() *node {
	if p.depth++; p.depth > 100 {
		p.fail(p.pos, "more than 100 groups within each other")
	}
	defer func() { p.depth-- }()
	n := &node{kind: either, parts: []*node{p.concat()}}
	for p.accept("|") {
		n.parts = append(n.parts, p.concat())
	}
	return n
}

func (p *parser) concat() *node {
	n := &node{kind: concat}
	for p.more() && p.expr[p.pos] != '|' && p.expr[p.pos] != ')' {
		n.parts = append(n.parts, p.repeated(p.atom()))
	}
	return n
}

// repeated parses what follows an expression and says how often it occurs.
func (p *parser) repeated(n *node) *node {
	for at := p.pos; ; at = p.pos {
		r := &node{kind: repeat, parts: []*node{n}}
		braces := false
		switch {
		case p.accept("*"):
			r.max = -1
		case p.accept("+"):
			r.min, r.max = 1, -1
		case p.accept("?"):
			r.max = 1
		case p.braces(r):
			braces = true
		default:
			return n
		}
		if n.kind == ahead {
			p.fail(at, "a repetition of what looks ahead")
		}
		switch {
		case p.accept("?"):
			r.lazy = true
		case !braces && p.accept("+"):
			if n.kind != one {
				p.fail(at, "a possessive repetition of more than one character")
			}
			r.greedy = true
		}
		n = r
	}
}

// braces parses {m}, {m,}, {m,n} and {,n}, which is {0,n} to Oniguruma. Others are text.
func (p *parser) braces(r *node) bool {
	rest := p.expr[p.pos:]
	end := strings.IndexByte(rest, '}')
	if end < 0 || rest[0] != '{' {
		return false
	}
	low, high, two := strings.Cut(rest[1:end], ",")
	if strings.Trim(low+high, "0123456789") != "" || low+high == "" {
		return false
	}
	r.min = number(low, 0)
	r.max = r.min
	if two {
		r.max = number(high, -1)
	}
	if r.min > maxRepeat || r.max > maxRepeat || r.max >= 0 && r.max < r.min {
		p.fail(p.pos, "a repetition %s beyond 0 to %d", rest[:end+1], maxRepeat)
	}
	p.pos += end + 1
	return true
}

// number returns the number that digits are, at most one above maxRepeat, or what it is if there
// are none.
func number(digits string, missing int) int {
	if digits == "" {
		return missing
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return maxRepeat + 1
	}
	return min(n, maxRepeat+1)
}

func (p *parser) atom() *node {
	at := p.pos
	switch c := p.rune(); c {
	case '(':
		return p.group(at)
	case '[':
		return &node{kind: one, chars: p.class()}
	case '.':
		return &node{kind: one, chars: set{{'\n', '\n'}}.not()}
	case '$':
		return &node{kind: ahead, chars: set{{'\n', '\n'}}, end: true}
	case '^':
		p.fail(at, "^, which looks back")
	case '*', '+', '?':
		p.fail(at, "a repetition of nothing")
	case '\\':
		if p.accept("z") {
			return &node{kind: ahead, end: true}
		}
		if p.accept("w") {
			return &node{kind: one, chars: p.fits(wordOutside())}
		}
		if p.accept("W") {
			return &node{kind: one, chars: p.fits(wordOutside().not())}
		}
		return &node{kind: one, chars: p.fits(p.escape(at))}
	default:
		return &node{kind: one, chars: p.fits(set{{c, c}})}
	}
	return nil
}

// fits folds a set if case does not matter.
func (p *parser) fits(s set) set {
	if !p.fold {
		return s
	}
	if len(s) != 1 || s[0][0] != s[0][1] {
		if p.folds++; p.folds > maxFold {
			p.fail(p.pos, "more than %d classes without case", maxFold)
		}
	}
	return s.folded()
}

func (p *parser) group(at int) *node {
	fold := p.fold
	defer func() { p.fold = fold }()
	switch {
	case p.accept("?="):
		return p.ahead(at, false)
	case p.accept("?!"):
		return p.ahead(at, true)
	case p.accept("?:"):
	case p.accept("?i:"):
		p.fold = true
	case p.accept("?i)"):
		p.fold = true
		return p.either() // up to the end of the group around it
	case p.accept("?"):
		p.fail(at, "a group of the kind (?%.1s", p.expr[p.pos:])
	}
	n := p.either()
	p.closed(at)
	return n
}

func (p *parser) closed(at int) {
	if !p.accept(")") {
		p.fail(at, "a parenthesis that none closes")
	}
}

// ahead parses what looks ahead, which must be one character.
func (p *parser) ahead(at int, not bool) *node {
	n := p.either()
	p.closed(at)
	var sets []set
	for _, alternative := range n.parts {
		if len(alternative.parts) != 1 || alternative.parts[0].kind != one {
			p.fail(at, "looking ahead at anything but one character")
		}
		sets = append(sets, alternative.parts[0].chars)
	}
	s := union(sets...)
	if not {
		s = s.not()
	}
	return &node{kind: ahead, chars: s, end: not}
}
