package grammar

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// numbers are numbers within bounds that are, or are not, multiples of some.
type numbers struct {
	bounds []regular.Bound
	whole  bool // without a point and an exponent
	broken bool // no integer
	of     []*big.Rat
	notOf  []*big.Rat
	only   []*value        // if not nil, of these
	except map[string]bool // none of these, by RatString
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

// has tells whether a number belongs to these, but for only and except.
func (n numbers) has(x *big.Rat) bool {
	for _, b := range n.bounds {
		if !b.Allowed[x.Cmp(b.With)+1] {
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

// texts returns the numbers as texts. Only numbers whose bounds say no more than the sign have
// exponents.
func (n numbers) texts() *regular.Texts {
	whole, signs := freeDigits, len(n.of)+len(n.notOf)+len(n.except) == 0 && !n.broken
	if len(n.bounds)+len(n.of)+len(n.notOf) > mostExcept {
		panic(limitError("bounds and multiples of one number", mostExcept))
	}
	for _, b := range n.bounds {
		signs = signs && b.With.Sign() == 0
	}
	fraction := freeDigits
	if len(n.bounds)+len(n.of) > 0 {
		whole = boundDigits
		for _, b := range n.bounds {
			before, behind := regular.Decimal(b.With)
			whole, fraction = max(whole, len(before)), max(fraction, len(behind))
		}
	}
	all := regular.MustSearch(fmt.Sprintf(`^-?(0|[1-9][0-9]{0,%d})$`, min(whole, 1000)-1))
	if !n.whole {
		exponent := ""
		if signs {
			exponent = `([eE][+-]?[0-9]{1,2})?`
		}
		all = regular.MustSearch(fmt.Sprintf(`^-?(0|[1-9][0-9]{0,%d})(\.[0-9]{1,%d})?%s$`, min(whole, 1000)-1, min(fraction, 1000), exponent))
	}
	for _, b := range n.bounds {
		all = all.And(regular.Compared(b))
	}
	if len(n.except) > mostExcept {
		panic(limitError("numbers that a number must not be", mostExcept))
	}
	for _, text := range slices.Sorted(maps.Keys(n.except)) {
		x, _ := new(big.Rat).SetString(text) // as RatString wrote it
		all = all.And(regular.Compared(regular.Bound{With: x, Allowed: [3]bool{true, false, true}}))
	}
	for _, of := range n.of {
		all = all.And(regular.Multiples(of))
	}
	for _, of := range n.notOf {
		all = all.And(regular.Multiples(of).Not())
	}
	if n.broken {
		all = all.And(regular.Multiples(big.NewRat(1, 1)).Not())
	}
	return all
}

// mostExcept is the most numbers that others must differ from.
const mostExcept = 1 << 6
