package regular

import (
	"cmp"
	"math/big"
	"strings"
)

// A Bound says how numbers compare with another one.
type Bound struct {
	With    *big.Rat
	Allowed [3]bool // whether numbers may be below, equal, above
}

// MostDigits is the most digits behind the point of a number that Decimal takes.
const MostDigits = 1 << 12

// Decimal returns the digits before and behind the point, without a sign and without zeros at
// either end. A JSON number has no more than these. It panics with a [Limit].
func Decimal(x *big.Rat) (before, behind string) {
	digits, exact := x.FloatPrec()
	if !exact || digits > MostDigits {
		panic(&Limit{"digits of a number", MostDigits})
	}
	before, behind, _ = strings.Cut(new(big.Rat).Abs(x).FloatString(digits), ".")
	if len(before) > 1000 {
		panic(&Limit{"digits of a number", 1000})
	}
	return before, strings.TrimRight(behind, "0")
}

var numberAlphabet = newAlphabet([]rune{0, '+', ',', '-', '.', '/', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', 'E', 'F', 'e', 'f'}, func(r rune) string {
	if strings.ContainsRune("+-.0123456789Ee", r) {
		return string(r)
	}
	return ""
})

// Compared returns the texts that are digits, with a sign and a point if they have one,
// and compare with a number so. An exponent behind them changes nothing. What is no number
// may be among them. It panics with a [Limit].
func Compared(b Bound) *Texts {
	before, behind := Decimal(b.With)
	type state struct {
		negative bool
		phase    int8
		n        int  // digits before the point, at most one more than before has, or as many behind it as behind has
		c        int8 // how they compare with as many of the other's
	}
	const integer, fraction, exponent = 0, 1, 2
	// settled compares what is before the point.
	settled := func(s state) int8 {
		if s.n != len(before) {
			return order(s.n, len(before))
		}
		return s.c
	}
	magnitude := func(s state) int8 {
		c, more := s.c, s.n < len(behind)
		if s.phase == integer {
			c, more = settled(s), behind != ""
		}
		if c == 0 && more && s.phase != exponent {
			return -1
		}
		return c
	}
	return explore(numberAlphabet, state{}, func(s state, r rune) (state, bool) {
		switch {
		case s.phase == exponent:
		case r == '-':
			s.negative = true
		case r == '.':
			s.phase, s.c, s.n = fraction, settled(s), 0
		case r == 'e' || r == 'E':
			s.phase, s.c, s.n = exponent, magnitude(s), 0
		case r < '0' || r > '9':
			return s, false
		case s.phase == integer:
			if s.n < len(before) && s.c == 0 {
				s.c = order(r, rune(before[s.n]))
			}
			s.n = min(s.n+1, len(before)+1)
		case s.c != 0:
		case s.n < len(behind):
			s.c = order(r, rune(behind[s.n]))
			s.n++
		default:
			s.c = order(r, '0')
		}
		if s.phase == fraction && s.c != 0 {
			s.n = 0
		}
		return s, true
	}, func(s state) bool {
		c, sign := magnitude(s), b.With.Sign()
		switch {
		case sign == 0 && c == 0:
		case sign >= 0 && s.negative:
			c = -1
		case sign < 0 && !s.negative:
			c = 1
		case s.negative:
			c = -c
		}
		return b.Allowed[c+1]
	})
}

func order[T cmp.Ordered](a, b T) int8 { return int8(cmp.Compare(a, b)) }

// mostRemainder is the most that digits of a multiple are counted by.
const mostRemainder = 1 << 14

// Multiples returns the texts that are digits, with a sign and a point if they have one,
// and a multiple of a number. What is no number may be among them. It panics
// with a [Limit].
func Multiples(of *big.Rat) *Texts {
	_, behind := Decimal(of)
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(behind))), nil))
	m := new(big.Rat).Mul(of, scale).Num().Int64()
	if new(big.Rat).Mul(of, scale).Cmp(big.NewRat(mostRemainder, 1)) > 0 {
		panic(&Limit{"remainders of multipleOf", mostRemainder})
	}
	type state struct {
		r        int64
		fraction bool
		n        int // digits behind the point, of those that count
	}
	rest := func(s state) int64 {
		for ; s.n < len(behind); s.n++ {
			s.r = s.r * 10 % m
		}
		return s.r
	}
	return explore(numberAlphabet, state{}, func(s state, r rune) (state, bool) {
		switch {
		case r == '-':
		case r == '.':
			s.fraction = true
		case r >= '0' && r <= '9' && s.fraction && s.n == len(behind):
			if r != '0' {
				s.r = -1 // whatever follows, it is none
			}
		case r >= '0' && r <= '9':
			s.r = (s.r*10 + int64(r-'0')) % m
			if s.fraction {
				s.n++
			}
		default:
			return s, false
		}
		return s, s.r >= 0
	}, func(s state) bool { return rest(s) == 0 })
}
