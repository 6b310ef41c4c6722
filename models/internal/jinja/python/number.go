package python

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// FormatFloat writes a float as repr does.
func FormatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f != f:
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// ErrRange says that an integer has more than 64 bits.
var ErrRange = errors.New("an integer of more than 64 bits")

// ParseInt reads an integer as int does: with white space around it, _ between digits, and digits
// of any script. Bases are 2 to 36, or 0 for the base of a prefix, which a base of 2, 8 or 16 also
// takes. ok is false for what is no integer. The error is [ErrRange].
func ParseInt(s string, base int) (n int64, ok bool, err error) {
	s = ascii(s)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' {
		prefixes := map[byte]int{'b': 2, 'o': 8, 'x': 16}
		if of := prefixes[s[1]|0x20]; of != 0 && (base == 0 || base == of) {
			s, base = strings.TrimPrefix(s[2:], "_"), of
		}
	}
	if base == 0 {
		if base = 10; len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return 0, false, nil
		}
	}
	digits, ok := grouped(s)
	if !ok || digits[0] == '-' || digits[0] == '+' {
		return 0, false, nil
	}
	if negative {
		digits = "-" + digits
	}
	n, err = strconv.ParseInt(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, true, ErrRange
	}
	return n, err == nil, nil
}

// ParseFloat reads a number as float does.
func ParseFloat(s string) (f float64, ok bool) {
	s, ok = grouped(ascii(s))
	if !ok || strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// ascii drops the white space around a number and writes its digits in ASCII.
func ascii(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 0x80 && unicode.Is(unicode.Nd, c) {
			return '0' + rune(decimal(c))
		}
		return c
	}, strings.TrimFunc(s, IsSpace))
}

// decimal returns the value of a digit of category Nd, which come in tens.
func decimal(c rune) int {
	n := 0
	for n < 9 && unicode.Is(unicode.Nd, c-1) {
		c--
		n++
	}
	return n
}

// grouped drops the _ between digits.
func grouped(s string) (string, bool) {
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return "", false
	}
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '_' && !(isAlnum(s[i-1]) && isAlnum(s[i+1])) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

func isAlnum(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// Round rounds to so many digits after the point, or before it if that is negative: to the nearest
// number, of two to the even one.
func Round(f float64, digits int) float64 {
	switch {
	case f == 0 || f != f || math.IsInf(f, 0) || digits > 400:
		return f
	case digits >= 0:
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return f
	case digits < -310:
		return f * 0
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil))
	n := roundRat(new(big.Rat).Quo(new(big.Rat).SetFloat64(f), unit))
	rounded, _ := new(big.Rat).Mul(new(big.Rat).SetInt(n), unit).Float64()
	return math.Copysign(rounded, f)
}

// RoundInt is Round for an integer.
func RoundInt(n int64, digits int) (int64, error) {
	if digits >= 0 {
		return n, nil
	}
	if digits < -19 {
		return 0, nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	r := new(big.Int).Mul(roundRat(new(big.Rat).SetFrac(big.NewInt(n), unit)), unit)
	if !r.IsInt64() {
		return 0, ErrRange
	}
	return r.Int64(), nil
}

// roundRat rounds to the nearest integer, of two to the even one.
func roundRat(x *big.Rat) *big.Int {
	twice := new(big.Int).Lsh(x.Num(), 1) // floor(x + 1/2), with ties apart
	twice.Add(twice, x.Denom())
	den := new(big.Int).Lsh(x.Denom(), 1)
	n, rest := new(big.Int).DivMod(twice, den, new(big.Int))
	if rest.Sign() == 0 && n.Bit(0) == 1 {
		n.Sub(n, big.NewInt(1))
	}
	return n
}

// DivMod returns x // y and x % y. y is not 0.
func DivMod(x, y float64) (div, mod float64) {
	mod = math.Mod(x, y)
	div = (x - mod) / y
	switch {
	case mod == 0:
		mod = math.Copysign(0, y)
	case (y < 0) != (mod < 0):
		mod += y
		div--
	}
	if div == 0 {
		return math.Copysign(0, x/y), mod
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return floor, mod
}

// Divide returns x / y of integers, rounded once. y is not 0.
func Divide(x, y int64) float64 {
	f, _ := new(big.Rat).SetFrac64(x, y).Float64()
	return f
}

// Compare returns the order of an integer and a float, which is no NaN, without rounding either.
func Compare(n int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := int64(f)
	switch {
	case n != whole && n < whole, n == whole && f > float64(whole):
		return -1
	case n != whole, f < float64(whole):
		return 1
	}
	return 0
}
