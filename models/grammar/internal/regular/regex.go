package regular

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Matching returns the texts in which a regular expression of ECMA-262 finds something. It
// is read by package regexp, after what is written otherwise there is put into its form. It
// panics with a [Limit].
func Matching(expression string) (*Texts, error) {
	t := &ecma{rest: expression}
	text, err := t.translate()
	if err != nil {
		return nil, err
	}
	d, err := search(text)
	if err != nil {
		return nil, err
	}
	for _, a := range t.aheads {
		x, err := Matching("^(?:" + a.expression + ")")
		if err != nil {
			return nil, err
		}
		if a.not {
			x = x.Not()
		}
		d = d.And(x)
	}
	return d, nil
}

// An ecma puts an expression of ECMA-262 into the form of package regexp.
type ecma struct {
	rest   string
	out    strings.Builder
	inside bool // of a class
	aheads []ahead
}

// An ahead is what must follow at the beginning, or must not.
type ahead struct {
	expression string
	not        bool
}

// Spaces of ECMA-262.
const (
	ecmaSpaces = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ecmaOthers = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
)

func (t *ecma) translate() (string, error) {
	if err := t.leading(); err != nil {
		return "", err
	}
	for t.rest != "" {
		c := t.rest[0]
		switch {
		case c == '\\':
			if err := t.escape(); err != nil {
				return "", err
			}
			continue
		case t.inside && c == '[':
			t.out.WriteString(`\`) // no name of a class in ECMA-262
		case t.inside && c == ']':
			t.inside = false
		case t.inside:
		case c == '[':
			if first := strings.TrimPrefix(t.rest[1:], "^"); strings.HasPrefix(first, "]") {
				return "", fmt.Errorf("[] or [^]")
			}
			t.inside = true
		case c == '.':
			t.rest = t.rest[1:]
			t.out.WriteString(`[^\n\r\x{2028}\x{2029}]`)
			continue
		case strings.HasPrefix(t.rest, "{,"):
			return "", fmt.Errorf("{, which is text to some readers, an error or {0, to others")
		case strings.HasPrefix(t.rest, "(?=") || strings.HasPrefix(t.rest, "(?!") || strings.HasPrefix(t.rest, "(?<=") || strings.HasPrefix(t.rest, "(?<!"):
			return "", fmt.Errorf("looking ahead or back other than behind ^ at the beginning")
		}
		t.out.WriteByte(c)
		t.rest = t.rest[1:]
	}
	return t.out.String(), nil
}

// leading takes what looks ahead behind ^ at the beginning.
func (t *ecma) leading() error {
	rest, ok := strings.CutPrefix(t.rest, "^")
	for ok && (strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!")) {
		end := groupEnd(rest)
		if end < 0 {
			return fmt.Errorf("a group without an end")
		}
		t.aheads = append(t.aheads, ahead{rest[3:end], rest[2] == '!'})
		rest = rest[end+1:]
	}
	if len(t.aheads) > 0 {
		if groupEnd("("+rest+"|)") <= len(rest) || splits(rest) {
			return fmt.Errorf("looking ahead in one of several alternatives")
		}
		t.rest = "^" + rest
	}
	return nil
}

// groupEnd returns where the group ends with which an expression begins, or -1.
func groupEnd(expression string) int {
	end := -1
	levels(expression, func(at, depth int) bool {
		if depth == 0 {
			end = at
		}
		return depth > 0
	})
	return end
}

// splits tells whether an expression is alternatives.
func splits(expression string) (yes bool) {
	levels(expression, func(at, depth int) bool {
		yes = yes || depth == 0 && expression[at] == '|'
		return !yes
	})
	return yes
}

// levels calls f with each byte of an expression that is no part of an escape or a class,
// and how many groups are open behind it, while it returns true.
func levels(expression string, f func(at, depth int) bool) {
	depth, inside := 0, false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\':
			i++
			continue
		case inside:
			inside = c != ']'
			continue
		case c == '[':
			inside = true
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if !f(i, depth) {
			return
		}
	}
}

// escape takes a backslash and what follows.
func (t *ecma) escape() error {
	if len(t.rest) == 1 {
		return fmt.Errorf(`\ at the end`)
	}
	c := t.rest[1]
	take := func(n int, text string) error {
		t.rest = t.rest[n:]
		t.out.WriteString(text)
		return nil
	}
	switch {
	case c == 's' || c == 'S':
		text := map[byte]string{'s': ecmaSpaces, 'S': ecmaOthers}[c]
		if !t.inside {
			text = "[" + text + "]"
		}
		return take(2, text)
	case c == 'u' || c == 'x':
		return t.code(c)
	case c == 'b' && t.inside:
		return take(2, `\x08`)
	case c == '0':
		return take(2, `\x00`)
	case c == 'c' && len(t.rest) > 2 && unicode.IsLetter(rune(t.rest[2])):
		return take(3, fmt.Sprintf(`\x%02x`, t.rest[2]%32))
	case c == 'p' || c == 'P':
		return t.property()
	case strings.IndexByte("dDwWbBnrtfv", c) >= 0:
		return take(2, t.rest[:2])
	case c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))):
		return fmt.Errorf(`\%c`, c)
	case c < 0x80:
		return take(2, t.rest[:2])
	}
	return take(1, "")
}

// code takes the number of a character.
func (t *ecma) code(kind byte) error {
	digits := map[byte]int{'x': 2, 'u': 4}[kind]
	from, to := 2, 2+digits
	if end := strings.IndexByte(t.rest, '}'); kind == 'u' && strings.HasPrefix(t.rest, `\u{`) && end > 0 {
		from, to = 3, end
	}
	if to > len(t.rest) {
		return fmt.Errorf(`\%c`, kind)
	}
	n, err := strconv.ParseUint(t.rest[from:to], 16, 32)
	if err != nil || n > unicode.MaxRune || n >= 0xD800 && n < 0xE000 {
		return fmt.Errorf("%s", t.rest[:to])
	}
	if from == 3 {
		to++
	}
	t.rest = t.rest[to:]
	fmt.Fprintf(&t.out, `\x{%x}`, n)
	return nil
}

// property takes \p{...}, of which package regexp has short names.
func (t *ecma) property() error {
	end := strings.IndexByte(t.rest, '}')
	if end < 4 || t.rest[2] != '{' {
		return fmt.Errorf(`\%c`, t.rest[1])
	}
	name := t.rest[3:end]
	for _, before := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		name = strings.TrimPrefix(name, before)
	}
	fmt.Fprintf(&t.out, `\%c{%s}`, t.rest[1], name)
	t.rest = t.rest[end+1:]
	return nil
}

// mostRanges is the most ranges of characters that one expression may have, which bounds
// the time for it.
const mostRanges = 1 << 17

// A search is a state of looking for an expression: what may be going on, and what was
// before.
type searching struct {
	at   string // instructions, as runes ascending
	prev rune   // of the same kind as the character before: -1, 'a', ' ', '\n'
	done bool
}

// search returns the texts in which an expression of package regexp finds something.
func search(expression string) (*Texts, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	a := alphabetOf(p)
	words := slices.ContainsFunc(p.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0
	})
	m := &matcher{Prog: p}
	return explore(a, searching{at: string(rune(p.Start)), prev: -1}, func(s searching, r rune) (searching, bool) {
		if s.done {
			return s, true
		}
		next := []rune{rune(p.Start)}
		for _, at := range m.closure(s, r) {
			switch i := &p.Inst[at]; i.Op {
			case syntax.InstMatch:
				return searching{done: true}, true
			default:
				if i.MatchRune(r) {
					next = append(next, rune(i.Out))
				}
			}
		}
		slices.Sort(next)
		prev := ' '
		switch {
		case words && r == '\n':
			prev = '\n'
		case words && syntax.IsWordChar(r):
			prev = 'a'
		}
		return searching{at: string(slices.Compact(next)), prev: prev}, true
	}, func(s searching) bool {
		return s.done || slices.ContainsFunc(m.closure(s, -1), func(at uint32) bool { return p.Inst[at].Op == syntax.InstMatch })
	}), nil
}

// MustSearch returns the texts in which an expression of package regexp finds something. It
// panics if the expression has faults, or with a [Limit].
func MustSearch(expression string) *Texts {
	d, err := search(expression)
	if err != nil {
		panic(err)
	}
	return d
}

// A matcher finds what instructions lead to.
type matcher struct {
	*syntax.Prog
	work  int
	seen  []int // by instruction: the closure that has it
	count int
	list  []uint32
}

// mostSteps is the most instructions that are visited for one expression.
const mostSteps = 1 << 24

// closure returns the instructions that match or read a character, before r. They are gone
// with the next call.
func (m *matcher) closure(s searching, r rune) []uint32 {
	if m.seen == nil {
		m.seen = make([]int, len(m.Inst))
	}
	m.list, m.count = m.list[:0], m.count+1
	context := syntax.EmptyOpContext(s.prev, r)
	for _, at := range s.at {
		m.visit(uint32(at), context)
	}
	return m.list
}

func (m *matcher) visit(at uint32, context syntax.EmptyOp) {
	if m.work++; m.work > mostSteps {
		panic(&Limit{"steps to read an expression", mostSteps})
	}
	if m.seen[at] == m.count {
		return
	}
	m.seen[at] = m.count
	switch i := &m.Inst[at]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		m.visit(i.Out, context)
		m.visit(i.Arg, context)
	case syntax.InstCapture, syntax.InstNop:
		m.visit(i.Out, context)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(i.Arg)&^context == 0 {
			m.visit(i.Out, context)
		}
	case syntax.InstFail:
	default:
		m.list = append(m.list, at)
	}
}

// alphabetOf returns the classes of characters that no instruction tells apart.
func alphabetOf(p *syntax.Prog) alphabet {
	cuts := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	sets := map[string]*syntax.Inst{}
	for i := range p.Inst {
		x := &p.Inst[i]
		if x.Op != syntax.InstRune && x.Op != syntax.InstRune1 {
			continue
		}
		key := strconv.Itoa(int(x.Arg)) + string(x.Rune)
		if sets[key] != nil {
			continue
		}
		sets[key] = x
		for k, r := range x.Rune {
			if len(x.Rune) > 1 && k%2 == 1 {
				r++
			}
			cuts = append(cuts, r)
			if len(x.Rune) == 1 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					cuts = append(cuts, f, f+1)
				}
				cuts = append(cuts, r+1)
			}
		}
		if len(cuts)*len(sets) > mostRanges*8 {
			panic(&Limit{"ranges of characters in an expression", mostRanges})
		}
	}
	list := make([]*syntax.Inst, 0, len(sets))
	for _, x := range sets {
		list = append(list, x)
	}
	return newAlphabet(cuts, func(r rune) string {
		key := make([]byte, len(list)+1)
		key[0] = '0'
		if syntax.IsWordChar(r) {
			key[0] = '1'
		}
		if r == '\n' {
			key[0] = '2'
		}
		for i, x := range list {
			if x.MatchRune(r) {
				key[i+1] = 1
			}
		}
		return string(key)
	})
}
