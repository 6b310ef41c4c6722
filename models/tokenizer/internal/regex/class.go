package regex

import (
	"strconv"
	"strings"
)

// class parses a class in brackets, the first of which is behind.
func (p *parser) class() set {
	at := p.pos - 1
	if p.depth++; p.depth > 100 {
		p.fail(at, "more than 100 groups within each other")
	}
	defer func() { p.depth-- }()
	not := p.accept("^")
	var parts []set
	var all []set // what && stands between
	for first := true; ; first = false {
		from := p.pos
		switch {
		case !p.more():
			p.fail(at, "a bracket that none closes")
		case p.accept("&&"):
			all = append(all, union(parts...))
			parts = nil
			continue
		case !first && p.accept("]"):
			s := union(parts...)
			for _, t := range all {
				s = s.and(t)
			}
			if not {
				s = s.not()
			}
			return s
		case strings.HasPrefix(p.expr[p.pos:], "[:"):
			p.fail(from, "a class of the kind [:")
		case p.accept("["):
			parts = append(parts, p.class())
			continue
		}
		parts = append(parts, p.fits(p.member(from)))
	}
}

// member parses a character, a range or an escape of a class.
func (p *parser) member(at int) set {
	low := p.one(at)
	if len(low) != 1 || low[0][0] != low[0][1] || !strings.HasPrefix(p.expr[p.pos:], "-") || strings.HasPrefix(p.expr[p.pos:], "-]") {
		return low
	}
	p.pos++
	high := p.one(p.pos)
	if len(high) != 1 || high[0][0] != high[0][1] || high[0][0] < low[0][0] {
		p.fail(at, "a range that does not go from one character to a later one")
	}
	return set{{low[0][0], high[0][0]}}
}

func (p *parser) one(at int) set {
	c := p.rune()
	if c == '\\' {
		return p.escape(at)
	}
	return set{{c, c}}
}

// escape parses what follows a backslash.
func (p *parser) escape(at int) set {
	switch c := p.rune(); c {
	case 's':
		return space()
	case 'S':
		return space().not()
	case 'd':
		return digit()
	case 'D':
		return digit().not()
	case 'w':
		return word()
	case 'W':
		return word().not()
	case 'p', 'P':
		return p.property(at, c == 'P')
	case 'x', 'u':
		return p.number(at, c)
	default:
		if i := strings.IndexRune("nrtfva", c); i >= 0 {
			r := rune("\n\r\t\f\v\a"[i])
			return set{{r, r}}
		}
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			p.fail(at, "\\%c", c)
		}
		return set{{c, c}}
	}
}

func (p *parser) property(at int, not bool) set {
	end := strings.IndexByte(p.expr[p.pos:], '}')
	if end < 0 || !p.accept("{") {
		p.fail(at, "a property without braces")
	}
	name := p.expr[p.pos : p.pos+end-1]
	p.pos += end
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, not = rest, !not
	}
	s, ok := property(name)
	if !ok {
		p.fail(at, "the unknown property %q", name)
	}
	if not {
		return s.not()
	}
	return s
}

// number parses \xHH, \x{H...} and \uHHHH.
func (p *parser) number(at int, c rune) set {
	rest := p.expr[p.pos:]
	digits := rest[:min(len(rest), 2)]
	if c == 'u' {
		digits = rest[:min(len(rest), 4)]
	}
	skip := len(digits)
	if end := strings.IndexByte(rest, '}'); c == 'x' && end > 0 && rest[0] == '{' {
		digits, skip = rest[1:end], end+1
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > lastRune {
		p.fail(at, "\\%c without the number of a character", c)
	}
	p.pos += skip
	return set{{rune(n), rune(n)}}
}
