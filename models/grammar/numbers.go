package grammar

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// numbers are numbers within bounds that are, or are not, multiples of some.
type numbers struct {
	bounds []bound
	whole  bool // without a point and an exponent
	broken bool // no integer
	of     []*big.Rat
	notOf  []*big.Rat
	only   []*value        // if not nil, of these
	except map[string]bool // none of these, by RatString
}

// A bound says how numbers compare with another one.
type bound struct {
	with    *big.Rat
	allowed [3]bool // below, equal, above
}

// and returns the numbers of both.
func (n numbers) and(m numbers) numbers {
	sum := numbers{
		bounds: slices.Concat(n.bounds, m.bounds), whole: n.whole || m.whole, broken: n.broken || m.broken,
		of: slices.Concat(n.of, m.of), notOf: slices.Concat(n.notOf, m.notOf), only: n.only, except: n.except,
	}
	if len(m.except) > 0 {
		sum.except = maps.Clone(m.except)
		maps.Copy(sum.except, n.except)
	}
	if m.only != nil {
		if sum.only == nil {
			sum.only = m.only
		} else {
			values := map[string]bool{}
			for _, x := range n.only {
				values[x.key()] = true
			}
			sum.only = slices.DeleteFunc(slices.Clone(m.only), func(x *value) bool { return !values[x.key()] })
		}
	}
	if sum.only != nil {
		sum.only = slices.DeleteFunc(slices.Clone(sum.only), func(x *value) bool { return sum.except[x.key()] || !sum.has(x.rational()) })
	}
	return sum
}

// has tells whether a number is one of those, but for only and except.
func (n numbers) has(x *big.Rat) bool {
	for _, b := range n.bounds {
		if !b.allowed[x.Cmp(b.with)+1] {
			return false
		}
	}
	multiple := func(of *big.Rat) bool { return new(big.Rat).Quo(x, of).IsInt() }
	return !(n.whole && !x.IsInt()) && !(n.broken && x.IsInt()) &&
		!slices.ContainsFunc(n.of, func(of *big.Rat) bool { return !multiple(of) }) && !slices.ContainsFunc(n.notOf, multiple)
}

// Digits of numbers, as in llama.cpp, so that a float64 has those without bounds.
const (
	freeDigits  = 16
	boundDigits = 18
)

// texts returns the numbers as texts. Only those of which the bounds say no more than the
// sign have exponents.
func (n numbers) texts() *dfa {
	whole, signs := freeDigits, len(n.of)+len(n.notOf)+len(n.except) == 0 && !n.broken
	if len(n.bounds)+len(n.of)+len(n.notOf) > mostExcept {
		panic(&LimitError{"bounds and multiples of one number", mostExcept})
	}
	for _, b := range n.bounds {
		signs = signs && b.with.Sign() == 0
	}
	fraction := freeDigits
	if len(n.bounds)+len(n.of) > 0 {
		whole = boundDigits
		for _, b := range n.bounds {
			before, behind := decimal(b.with)
			whole, fraction = max(whole, len(before)), max(fraction, len(behind))
		}
	}
	all := must(search(fmt.Sprintf(`^-?(0|[1-9][0-9]{0,%d})$`, min(whole, 1000)-1)))
	if !n.whole {
		exponent := ""
		if signs {
			exponent = `([eE][+-]?[0-9]{1,2})?`
		}
		all = must(search(fmt.Sprintf(`^-?(0|[1-9][0-9]{0,%d})(\.[0-9]{1,%d})?%s$`, min(whole, 1000)-1, min(fraction, 1000), exponent)))
	}
	for _, b := range n.bounds {
		all = all.and(compared(b))
	}
	if len(n.except) > mostExcept {
		panic(&LimitError{"numbers that a number must not be", mostExcept})
	}
	for _, text := range slices.Sorted(maps.Keys(n.except)) {
		x, _ := new(big.Rat).SetString(text) // as RatString wrote it
		all = all.and(compared(bound{x, [3]bool{true, false, true}}))
	}
	for _, of := range n.of {
		all = all.and(multiples(of))
	}
	for _, of := range n.notOf {
		all = all.and(multiples(of).not())
	}
	if n.broken {
		all = all.and(multiples(big.NewRat(1, 1)).not())
	}
	return all
}

// mostExcept is the most numbers that others must differ from.
const mostExcept = 1 << 6

func must(d *dfa, err error) *dfa {
	if err != nil {
		panic(err) // the expression is one of this package
	}
	return d
}

// decimal returns the digits before and behind the point, without a sign and without zeros
// at either end. The number is one of JSON, so that there are no more.
func decimal(x *big.Rat) (before, behind string) {
	digits, exact := x.FloatPrec()
	if !exact || digits > mostDigits {
		panic(&LimitError{"digits of a number", mostDigits})
	}
	before, behind, _ = strings.Cut(new(big.Rat).Abs(x).FloatString(digits), ".")
	if len(before) > 1000 {
		panic(&LimitError{"digits of a number", 1000})
	}
	return before, strings.TrimRight(behind, "0")
}

var numberAlphabet = newAlphabet([]rune{0, '+', ',', '-', '.', '/', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', 'E', 'F', 'e', 'f'}, func(r rune) string {
	if strings.ContainsRune("+-.0123456789Ee", r) {
		return string(r)
	}
	return ""
})

// compared returns the texts that are digits, with a sign and a point if they have one,
// and compare with a number so. An exponent behind them changes nothing. What is no number
// may be among them.
func compared(b bound) *dfa {
	before, behind := decimal(b.with)
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
		c, sign := magnitude(s), b.with.Sign()
		switch {
		case sign == 0 && c == 0:
		case sign >= 0 && s.negative:
			c = -1
		case sign < 0 && !s.negative:
			c = 1
		case s.negative:
			c = -c
		}
		return b.allowed[c+1]
	})
}

func order[T cmp.Ordered](a, b T) int8 { return int8(cmp.Compare(a, b)) }

// mostRemainder is the most that digits of a multiple are counted by.
const mostRemainder = 1 << 14

// multiples returns the texts that are digits, with a sign and a point if they have one,
// and a multiple of a number. What is no number may be among them.
func multiples(of *big.Rat) *dfa {
	_, behind := decimal(of)
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(behind))), nil))
	m := new(big.Rat).Mul(of, scale).Num().Int64()
	if new(big.Rat).Mul(of, scale).Cmp(big.NewRat(mostRemainder, 1)) > 0 {
		panic(&LimitError{"remainders of multipleOf", mostRemainder})
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
