package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// kind is the kind of a token.
type kind uint8

const (
	data       kind = iota // text between tags
	blockBegin             // {%
	blockEnd
	printBegin // {{
	printEnd
	name
	text // a string literal, without quotes and escapes
	integer
	float
	operator
	end // of the template
)

type token struct {
	kind kind
	text string
	line int
}

// lexer splits a template into tokens, with trim_blocks and lstrip_blocks: the newline after a
// block and white space before it on its line are dropped.
type lexer struct {
	rest   string
	line   int
	fresh  bool // nothing of the current line has been seen
	tokens []token
}

func lex(source string) []token {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	l := &lexer{rest: strings.TrimSuffix(source, "\n"), line: 1, fresh: true}
	for l.rest != "" {
		l.next()
	}
	l.add(end, "the end of the template")
	return l.tokens
}

func (l *lexer) add(k kind, s string) { l.tokens = append(l.tokens, token{k, s, l.line}) }

// skip moves on by n bytes.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.rest[:n], "\n")
	if n > 0 {
		l.fresh = l.rest[n-1] == '\n'
	}
	l.rest = l.rest[n:]
}

// next takes the text up to a tag, and the tag.
func (l *lexer) next() {
	at := tag(l.rest)
	if at < 0 {
		l.add(data, l.rest)
		l.skip(len(l.rest))
		return
	}
	before := l.rest[:at]
	open := l.rest[at : at+2]
	sign := byte(0)
	if at+2 < len(l.rest) && (l.rest[at+2] == '-' || l.rest[at+2] == '+') {
		sign = l.rest[at+2]
	}
	switch {
	case sign == '-':
		before = strings.TrimRightFunc(before, python.IsSpace)
	case sign == 0 && open != "{{":
		before = l.stripLine(before)
	}
	if before != "" {
		l.add(data, before)
	}
	length := at + 2
	if sign != 0 {
		length++
	}
	l.skip(length)
	switch open {
	case "{#":
		l.comment()
	case "{%":
		if !l.raw() {
			l.code(blockBegin, blockEnd, "%}")
		}
	default:
		l.code(printBegin, printEnd, "}}")
	}
}

// tag returns where the first tag begins, or -1.
func tag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return -1
}

// stripLine drops the white space before a tag that is the first on its line.
func (l *lexer) stripLine(before string) string {
	start := strings.LastIndexByte(before, '\n') + 1
	if (start > 0 || l.fresh) && strings.TrimFunc(before[start:], python.IsSpace) == "" {
		return before[:start]
	}
	return before
}

func (l *lexer) comment() {
	n := strings.Index(l.rest, "#}")
	if n < 0 {
		fail(l.line, "a comment that does not end")
	}
	sign := byte(0)
	if n > 0 {
		sign = l.rest[n-1]
	}
	l.skip(n + 2)
	l.trim(sign, true)
}

// trim drops what a tag drops after itself. sign is what stands before its end.
func (l *lexer) trim(sign byte, block bool) {
	switch {
	case sign == '-':
		l.skip(len(l.rest) - len(strings.TrimLeftFunc(l.rest, python.IsSpace)))
	case block && sign != '+' && strings.HasPrefix(l.rest, "\n"):
		l.skip(1)
	}
}

// raw takes {% raw %} to {% endraw %} as data, if the block is that.
func (l *lexer) raw() bool {
	inside, sign, ok := bare(l.rest, "raw")
	if !ok {
		return false
	}
	l.skip(inside)
	l.trim(sign, false)
	for at := 0; ; at += 2 {
		n := strings.Index(l.rest[at:], "{%")
		if n < 0 {
			fail(l.line, "a raw block that does not end")
		}
		at += n
		before, tail := l.rest[:at], l.rest[at+2:]
		switch {
		case strings.HasPrefix(tail, "-"):
			before, tail = strings.TrimRightFunc(before, python.IsSpace), tail[1:]
		case strings.HasPrefix(tail, "+"):
			tail = tail[1:]
		default:
			before = l.stripLine(before)
		}
		length, sign, ok := bare(tail, "endraw")
		if !ok {
			continue
		}
		l.add(data, before)
		l.skip(len(l.rest) - len(tail) + length)
		l.trim(sign, true)
		return true
	}
}

// bare returns the length of what follows {% in a block that consists of a word, and the sign
// before its end.
func bare(s, word string) (length int, sign byte, ok bool) {
	inside, _, found := strings.Cut(s, "%}")
	if !found {
		return 0, 0, false
	}
	length = len(inside) + 2
	if inside != "" && (inside[len(inside)-1] == '-' || inside[len(inside)-1] == '+') {
		sign = inside[len(inside)-1]
		inside = inside[:len(inside)-1]
	}
	return length, sign, strings.TrimFunc(inside, python.IsSpace) == word
}

// code takes the tokens of a tag.
func (l *lexer) code(begin, stop kind, close string) {
	l.add(begin, "the beginning of a tag")
	for depth := 0; ; {
		l.skip(len(l.rest) - len(strings.TrimLeftFunc(l.rest, python.IsSpace)))
		if l.rest == "" {
			fail(l.line, "a tag that does not end")
		}
		if depth == 0 {
			if n, sign := closes(l.rest, close); n > 0 {
				l.add(stop, close)
				l.skip(n)
				l.trim(sign, stop == blockEnd)
				return
			}
		}
		switch l.rest[0] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		l.token()
	}
}

// closes returns the length of the end of a tag, with the sign before it.
func closes(s, close string) (n int, sign byte) {
	if strings.HasPrefix(s, close) {
		return len(close), 0
	}
	if (s[0] == '-' || s[0] == '+' && close == "%}") && strings.HasPrefix(s[1:], close) {
		return len(close) + 1, s[0]
	}
	return 0, 0
}

// token takes one token of a tag.
func (l *lexer) token() {
	c := l.rest[0]
	switch {
	case c == '"' || c == '\'':
		l.text(c)
	case '0' <= c && c <= '9':
		l.number()
	case isName(rune(c), true) || c >= utf8.RuneSelf:
		l.name()
	default:
		l.operator()
	}
}

func (l *lexer) name() {
	n := 0
	for i, r := range l.rest {
		if !isName(r, i == 0) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	if n == 0 {
		r, _ := utf8.DecodeRuneInString(l.rest)
		fail(l.line, "the character %q", r)
	}
	l.add(name, l.rest[:n])
	l.skip(n)
}

func isName(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || !first && unicode.IsDigit(r)
}

// number takes an integer or a float, digits of which may be grouped by _. Behind a point it is the
// index of an item, and never a float.
func (l *lexer) number() {
	if n := prefixed(l.rest); n > 0 {
		l.add(integer, strings.ReplaceAll(l.rest[:n], "_", ""))
		l.skip(n)
		return
	}
	n, k := digits(l.rest), integer
	if last := l.tokens[len(l.tokens)-1]; last.kind == operator && last.text == "." {
		l.add(k, l.rest[:n])
		l.skip(n)
		return
	}
	if n+1 < len(l.rest) && l.rest[n] == '.' && digits(l.rest[n+1:]) > 0 {
		n, k = n+1+digits(l.rest[n+1:]), float
	}
	if e := exponent(l.rest[n:]); e > 0 {
		n, k = n+e, float
	}
	l.add(k, strings.ReplaceAll(l.rest[:n], "_", ""))
	l.skip(n)
}

// prefixed returns the length of an integer to the base of a prefix, or 0.
func prefixed(s string) int {
	if len(s) < 3 || s[0] != '0' || strings.IndexByte("bBoOxX", s[1]) < 0 {
		return 0
	}
	n := 2
	for n < len(s) && (s[n] == '_' || '0' <= s[n] && s[n] <= '9' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'f') {
		n++
	}
	return n
}

func digits(s string) int {
	n := 0
	for n < len(s) && ('0' <= s[n] && s[n] <= '9' || s[n] == '_' && n > 0) {
		n++
	}
	return n
}

func exponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	d := digits(s[n:])
	if d == 0 {
		return 0
	}
	return n + d
}

var operators = [...]string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "[", "]", "(", ")", "{", "}", "<", ">", "=", ".", ":", "|", ","}

func (l *lexer) operator() {
	for _, op := range operators {
		if strings.HasPrefix(l.rest, op) {
			l.add(operator, op)
			l.skip(len(op))
			return
		}
	}
	fail(l.line, "the character %q", l.rest[0])
}
