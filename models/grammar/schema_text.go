package grammar

import (
	"fmt"
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

// plainChar are the characters of a JSON string that need no escape.
var plainChar = chars("\"\\").not().and(class{{0x20, unicode.MaxRune}})

// escaped are the others: all characters but the surrogates, of which there are none in UTF-8.
var escaped = plainChar.not()

// mostRanges is the most ranges of characters that expressions may have, which bounds the time for them.
const mostRanges = 1 << 17

// formats are expressions of values of format. Days are those of every year.
var formats = map[string]string{
	"date":      "^" + datePattern + "$",
	"time":      "^" + timePattern + "$",
	"date-time": "^" + datePattern + "T" + timePattern + "$",
	"uuid":      "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
}

const (
	datePattern = `[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))`
	timePattern = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
)

// string returns what a string takes.
func (s *schema) string(v *value, path *place, _ int) (expr, error) {
	least, err := count(v, path, "minLength", 0)
	if err != nil {
		return nil, err
	}
	most, err := count(v, path, "maxLength", -1)
	if err != nil {
		return nil, err
	}
	if most >= 0 && most < least {
		return nil, fault(path, "maxLength below minLength", "a string that can be")
	}
	pattern, format := v.field("pattern"), v.field("format")
	switch {
	case pattern == nil && format == nil:
		return sequence{literal(`"`), repeat{s.char(), least, most}, literal(`"`)}, nil
	case pattern != nil && format != nil || least > 0 || most >= 0:
		return nil, fault(path, "several of pattern, format, and a length", "one of them")
	case format != nil:
		expression, ok := formats[format.text]
		if !ok {
			return nil, fault(join(path, "format"), short(format), "date, time, date-time or uuid")
		}
		return s.pattern(expression, join(path, "format"))
	case pattern.kind != "string":
		return nil, fault(join(path, "pattern"), short(pattern), "a string")
	}
	return s.pattern(pattern.text, join(path, "pattern"))
}

// char is a character of a string, or an escape of one. Halves of surrogate pairs are left out: two of
// them would be one character.
func (s *schema) char() expr {
	return s.rule("char", func() expr {
		hex := spans(span{'0', '9'}, span{'a', 'f'}, span{'A', 'F'})
		first := hex.and(chars("dD").not())
		code := choice{
			sequence{first, repeat{hex, 3, 3}},
			sequence{chars("dD"), class{{'0', '7'}}, repeat{hex, 2, 2}},
		}
		return choice{plainChar, sequence{literal(`\`), choice{chars(`"\/bfnrt`), sequence{literal("u"), code}}}}
	})
}

// pattern returns strings that a regular expression finds something in.
func (s *schema) pattern(expression string, path *place) (expr, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fault(path, err.Error(), "a regular expression as package regexp has them")
	}
	p := &pattern{s: s, path: path}
	e, err := p.whole(re, true, true)
	if err != nil {
		return nil, err
	}
	return sequence{literal(`"`), e, literal(`"`)}, nil
}

// A pattern makes expressions of JSON of those of package regexp.
type pattern struct {
	s    *schema
	path *place
}

// whole returns an expression with any characters around it, where it is not bound to an end of the text. before
// and after say whether there may be any.
func (p *pattern) whole(re *syntax.Regexp, before, after bool) (expr, error) {
	switch re.Op {
	case syntax.OpCapture:
		return p.whole(re.Sub[0], before, after)
	case syntax.OpAlternate:
		var all choice
		for _, sub := range re.Sub {
			e, err := p.whole(sub, before, after)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		return all, nil
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	for len(list) > 0 && list[0].Op == syntax.OpBeginText {
		list, before = list[1:], false
	}
	for len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText {
		list, after = list[:len(list)-1], false
	}
	if len(list) == 1 && (list[0].Op == syntax.OpCapture || list[0].Op == syntax.OpAlternate) {
		return p.whole(list[0], before, after)
	}
	all := sequence{}
	if before {
		all = append(all, repeat{p.s.char(), 0, -1})
	}
	for _, sub := range list {
		e, err := p.convert(sub)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if after {
		all = append(all, repeat{p.s.char(), 0, -1})
	}
	return all, nil
}

// convert returns an expression that is not bound to an end.
func (p *pattern) convert(re *syntax.Regexp) (expr, error) {
	if p.s.ranges += 1 + len(re.Rune)/2; p.s.ranges > mostRanges {
		return nil, &LimitError{"ranges of characters in expressions", mostRanges}
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return literal(""), nil
	case syntax.OpNoMatch:
		return choice{}, nil
	case syntax.OpLiteral:
		all := sequence{}
		for _, r := range re.Rune {
			c := class{{r, r}}
			if re.Flags&syntax.FoldCase != 0 {
				for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
					c = append(c, span{other, other})
				}
			}
			all = append(all, p.class(spans(c...)))
		}
		return all, nil
	case syntax.OpCharClass:
		var c class
		for i := 0; i < len(re.Rune); i += 2 {
			c = append(c, span{re.Rune[i], re.Rune[i+1]})
		}
		return p.class(spans(c...)), nil
	case syntax.OpAnyChar:
		return p.class(anyChar), nil
	case syntax.OpAnyCharNotNL:
		return p.class(chars("\n\r\u2028\u2029").not()), nil
	case syntax.OpCapture:
		return p.convert(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		e, err := p.convert(re.Sub[0])
		counts := map[syntax.Op][2]int{syntax.OpStar: {0, -1}, syntax.OpPlus: {1, -1}, syntax.OpQuest: {0, 1}, syntax.OpRepeat: {re.Min, re.Max}}[re.Op]
		return repeat{e, counts[0], counts[1]}, err
	case syntax.OpConcat, syntax.OpAlternate:
		var all []expr
		for _, sub := range re.Sub {
			e, err := p.convert(sub)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		if re.Op == syntax.OpConcat {
			return sequence(all), nil
		}
		return choice(all), nil
	}
	return nil, fault(p.path, fmt.Sprintf("%.40q", re), "no ends of words or lines, and ends of the text only at the ends of the expression")
}

// class returns the characters of a class as JSON strings have them: as they are, or with a
// backslash.
func (p *pattern) class(c class) expr {
	all := choice{c.and(plainChar)}
	for _, s := range c.and(escaped) {
		for r := s.lo; r <= s.hi; r++ {
			text := quote(string(r))
			all = append(all, literal(text[1:len(text)-1]))
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// The most digits of an integer with bounds.
const mostDigits = 18

// number returns what a number takes.
func (s *schema) number(v *value, path *place, _ int) (expr, error) {
	var sign expr = optional(literal("-"))
	for _, key := range bounds {
		switch x := v.field(key); {
		case x == nil:
		case key == "minimum" && x.is("0"):
			sign = literal("")
		default:
			return nil, fault(join(path, key), short(x)+" for numbers", `type "integer", or minimum 0`)
		}
	}
	digit := class{{'0', '9'}}
	return sequence{sign, s.whole(),
		optional(sequence{literal("."), repeat{digit, 1, 16}}),
		optional(sequence{chars("eE"), optional(chars("+-")), repeat{digit, 1, 2}}),
	}, nil
}

// whole is an integer without a sign.
func (s *schema) whole() expr {
	return s.rule("integer", func() expr {
		return choice{literal("0"), sequence{class{{'1', '9'}}, repeat{class{{'0', '9'}}, 0, 15}}}
	})
}

// integer returns what an integer takes.
func (s *schema) integer(v *value, path *place, _ int) (expr, error) {
	limit := int64(math.Pow10(mostDigits)) - 1
	lo, hi, given := -limit, limit, false
	for _, key := range bounds {
		x := v.field(key)
		if x == nil {
			continue
		}
		given = true
		n, whole, ok := floor(x.text)
		if x.kind != "number" || !ok {
			return nil, fault(join(path, key), short(x), fmt.Sprintf("a number of up to %d digits", mostDigits))
		}
		switch low := key == "minimum" || key == "exclusiveMinimum"; {
		case low && (!whole || key == "exclusiveMinimum"):
			lo = max(lo, n+1)
		case low:
			lo = max(lo, n)
		case whole && key == "exclusiveMaximum":
			hi = min(hi, n-1)
		default:
			hi = min(hi, n)
		}
	}
	if !given {
		return sequence{optional(literal("-")), s.whole()}, nil
	}
	if lo > hi {
		return nil, fault(path, "bounds without an integer between them", "an integer that can be")
	}
	all := choice{}
	if lo < 0 {
		all = append(all, sequence{literal("-"), integers(max(1, -hi), -lo)})
	}
	if hi >= 0 {
		all = append(all, integers(max(0, lo), hi))
	}
	return all, nil
}

// floor returns the largest integer that is not above a number of JSON, and whether it is the number. ok is
// false for one of more than mostDigits digits before the point.
func floor(text string) (n int64, whole, ok bool) {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	before, behind, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+behind, "0")
	point := len(before) - (len(before) + len(behind) - len(digits)) // of so many digits before it
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return 0, true, true
	}
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || max(e, -e) > 2*mostText { // more than the mantissa can make up for
			e = 2 * mostText
			if exponent[0] == '-' {
				e = -e
			}
		}
		point += e
	}
	if point > mostDigits {
		return 0, false, false
	}
	if whole = len(digits) <= point; whole {
		digits += strings.Repeat("0", point-len(digits))
	}
	n, _ = strconv.ParseInt("0"+digits[:max(0, point)], 10, 64) // which fits
	switch {
	case negative && !whole:
		n = -n - 1
	case negative:
		n = -n
	}
	return n, whole, true
}

// integers returns the integers from lo to hi, of which lo is not below 0.
func integers(lo, hi int64) expr {
	var all choice
	for lo <= hi {
		text := strconv.FormatInt(lo, 10)
		last := min(hi, int64(math.Pow10(len(text)))-1) // of as many digits
		all = append(all, digits(text, strconv.FormatInt(last, 10)))
		lo = last + 1
	}
	return all
}

// digits returns the numbers from lo to hi, both of as many digits.
func digits(lo, hi string) expr {
	n := len(lo) - 1
	if n < 0 {
		return literal("")
	}
	if lo[0] == hi[0] {
		return sequence{literal(lo[:1]), digits(lo[1:], hi[1:])}
	}
	var all choice
	from, to := lo[0], hi[0]
	if lo[1:] != strings.Repeat("0", n) {
		all = append(all, sequence{literal(lo[:1]), digits(lo[1:], strings.Repeat("9", n))})
		from++
	}
	if hi[1:] != strings.Repeat("9", n) {
		all = append(all, sequence{literal(hi[:1]), digits(strings.Repeat("0", n), hi[1:])})
		to--
	}
	if from <= to {
		all = append(all, sequence{class{{rune(from), rune(to)}}, repeat{class{{'0', '9'}}, n, n}})
	}
	return all
}
