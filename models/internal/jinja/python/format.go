package python

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Spec says how a value is formatted, as in format(value, spec).
type Spec struct {
	Fill      rune // 0 if it is not said
	Align     byte // <, >, ^, = or 0
	Sign      byte // -, +, space or 0
	Positive  bool // z: -0 is 0
	Alternate bool // #
	Width     int
	Group     byte // , or _ or 0
	Precision int  // -1 if it is not said
	Type      byte // 0 if it is not said
	Digits    int  // least digits of an integer, of % formats
}

// Most is the largest width or precision.
const Most = 1<<31 - 1

// ParseSpec parses a format specification.
func ParseSpec(s string) (p Spec, err error) {
	all := s
	p.Precision = -1
	if first, n := utf8.DecodeRuneInString(s); n < len(s) && strings.IndexByte("<>^=", s[n]) >= 0 {
		p.Fill, p.Align, s = first, s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		p.Align, s = s[0], s[1:]
	}
	one := func(of string) (c byte) {
		if s != "" && strings.IndexByte(of, s[0]) >= 0 {
			c, s = s[0], s[1:]
		}
		return c
	}
	p.Sign = one("-+ ")
	p.Positive = one("z") != 0
	p.Alternate = one("#") != 0
	if one("0") != 0 {
		if p.Fill == 0 {
			p.Fill = '0'
		}
		if p.Align == 0 {
			p.Align = '0' // = for numbers, < for strings
		}
	}
	if p.Width, s, err = number(s); err != nil {
		return p, err
	}
	p.Group = one(",_")
	if one(".") != 0 {
		if s == "" || s[0] < '0' || s[0] > '9' {
			return p, fmt.Errorf("the format %.40q lacks its precision", all)
		}
		if p.Precision, s, err = number(s); err != nil {
			return p, err
		}
	}
	p.Type = one("bcdeEfFgGnosxX%")
	if s != "" {
		return p, fmt.Errorf("the format %.40q", all)
	}
	return p, nil
}

// number takes an integer from the beginning of s, 0 if there is none.
func number(s string) (n int, rest string, err error) {
	for s != "" && '0' <= s[0] && s[0] <= '9' {
		if n = 10*n + int(s[0]-'0'); n > Most {
			return 0, s, fmt.Errorf("a format with more than %d characters", Most)
		}
		s = s[1:]
	}
	return n, s, nil
}

// CheckText reports what cannot be said of a string.
func (p *Spec) CheckText() error {
	if p.Align == '=' || p.Sign != 0 || p.Group != 0 || p.Alternate || p.Positive || p.Type != 0 && p.Type != 's' {
		return fmt.Errorf("a string with the format of a number")
	}
	return nil
}

// Padding returns what stands before and after a text of n characters, which are aligned at the
// side by default: < or >.
func (p *Spec) Padding(n int, side byte) (left, right string) {
	if n >= p.Width {
		return "", ""
	}
	fill := p.Fill
	if fill == 0 {
		fill = ' '
	}
	if strings.IndexByte("<>^", p.Align) >= 0 && p.Align != 0 {
		side = p.Align
	}
	n = p.Width - n
	switch side {
	case '<':
		return "", strings.Repeat(string(fill), n)
	case '^':
		return strings.Repeat(string(fill), n/2), strings.Repeat(string(fill), n-n/2)
	}
	return strings.Repeat(string(fill), n), ""
}

// Int formats an integer.
func (p *Spec) Int(n int64) (string, error) {
	if strings.IndexByte("eEfFgG%", p.Type) >= 0 && p.Type != 0 {
		return p.Float(float64(n))
	}
	if p.Precision >= 0 || p.Positive || p.Type == 's' {
		return "", fmt.Errorf("an integer with a precision, with z or with s")
	}
	abs := uint64(n)
	if n < 0 {
		abs = -abs
	}
	digits, prefix := "", ""
	switch p.Type {
	case 'c':
		if n < 0 || n > utf8.MaxRune || p.Sign != 0 || p.Alternate {
			return "", fmt.Errorf("the character %d", n)
		}
		left, right := p.Padding(1, '<')
		return left + string(rune(n)) + right, nil
	case 'b':
		digits, prefix = strconv.FormatUint(abs, 2), "0b"
	case 'o':
		digits, prefix = strconv.FormatUint(abs, 8), "0o"
	case 'x', 'X':
		digits, prefix = strconv.FormatUint(abs, 16), "0x"
	default:
		digits = strconv.FormatUint(abs, 10)
	}
	if p.Type == 'X' {
		digits, prefix = strings.ToUpper(digits), "0X"
	}
	if !p.Alternate {
		prefix = ""
	}
	if len(digits) < p.Digits {
		digits = strings.Repeat("0", p.Digits-len(digits)) + digits
	}
	every := 3
	if prefix != "" || strings.IndexByte("boxX", p.Type) >= 0 && p.Type != 0 {
		if every = 4; p.Group == ',' {
			return "", fmt.Errorf("a comma with the type %c", p.Type)
		}
	}
	return p.join(p.sign(n < 0)+prefix, digits, "", every), nil
}

// sign returns the sign of a number.
func (p *Spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.Sign == '+' || p.Sign == ' ':
		return string(p.Sign)
	}
	return ""
}

// join puts a number together: its sign and prefix, the digits before the point, which are grouped,
// and what follows.
func (p *Spec) join(head, digits, tail string, every int) string {
	zeros := p.Fill == '0' && (p.Align == '=' || p.Align == '0')
	if p.Group != 0 {
		least := 0
		if zeros {
			least = p.Width - utf8.RuneCountInString(head) - len(tail)
		}
		digits = group(digits, p.Group, every, least)
	}
	n := len(head) + len(digits) + len(tail)
	if (p.Align == '=' || zeros) && n < p.Width {
		fill := p.Fill
		if fill == 0 {
			fill = ' '
		}
		return head + strings.Repeat(string(fill), p.Width-n) + digits + tail
	}
	left, right := p.Padding(n, '>')
	return left + head + digits + tail + right
}

// group puts separators between digits, with as many zeros before them as the width takes.
func group(digits string, sep byte, every, width int) string {
	var b []byte // from the last digit on
	for i := 0; i < len(digits) || len(b) < width; i++ {
		if i > 0 && i%every == 0 {
			b = append(b, sep)
		}
		if i < len(digits) {
			b = append(b, digits[len(digits)-1-i])
		} else {
			b = append(b, '0')
		}
	}
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// Float formats a float.
func (p *Spec) Float(f float64) (string, error) {
	if strings.IndexByte("bcdosxX", p.Type) >= 0 && p.Type != 0 {
		return "", fmt.Errorf("a float with the type %c", p.Type)
	}
	tail := ""
	kind := p.Type
	if kind == '%' {
		f, kind, tail = f*100, 'f', "%"
	}
	negative := math.Signbit(f) && f == f
	var s string
	switch {
	case math.IsInf(f, 0):
		s = "inf"
	case f != f:
		s = "nan"
	default:
		s = p.digits(math.Abs(f), kind)
		if p.Positive && strings.Trim(s, "0.e+-") == "" {
			negative = false
		}
	}
	if kind == 'E' || kind == 'F' || kind == 'G' {
		s = strings.ToUpper(s)
	}
	whole := len(s)
	if math.IsInf(f, 0) || f != f {
		return (&Spec{Fill: p.Fill, Align: p.Align, Width: p.Width}).join(p.sign(negative), s, tail, 3), nil
	}
	if at := strings.IndexAny(s, ".eE"); at >= 0 {
		whole = at
	}
	return p.join(p.sign(negative), s[:whole], s[whole:]+tail, 3), nil
}

// digits writes a float that is not negative, without padding.
func (p *Spec) digits(f float64, kind byte) string {
	precision := p.Precision
	if precision < 0 && kind == 0 {
		return FormatFloat(f)
	}
	if precision < 0 {
		precision = 6
	}
	switch kind {
	case 'f', 'F':
		return p.point(strconv.FormatFloat(f, 'f', precision, 64))
	case 'e', 'E':
		return p.point(strconv.FormatFloat(f, 'e', precision, 64))
	}
	precision = max(precision, 1)
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	exp, _ := strconv.Atoi(exponent)
	limit := precision
	if kind == 0 { // which always has a digit after the point
		limit--
	}
	if exp < -4 || exp >= limit {
		if !p.Alternate {
			mantissa = trimZeros(mantissa)
		}
		return p.point(mantissa + "e" + exponent)
	}
	s = strconv.FormatFloat(f, 'f', max(precision-1-exp, 0), 64)
	if !p.Alternate {
		s = trimZeros(s)
	}
	if kind == 0 && !strings.Contains(s, ".") {
		s += ".0"
	}
	return p.point(s)
}

// point makes sure that the alternate form has a point.
func (p *Spec) point(s string) string {
	if !p.Alternate || strings.Contains(s, ".") {
		return s
	}
	mantissa, exponent, found := strings.Cut(s, "e")
	if found {
		return mantissa + ".e" + exponent
	}
	return s + "."
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
