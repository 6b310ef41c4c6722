package jinja

import (
	"math"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// calculation is the operation of an operator for numbers.
func calculation(op string) operation {
	return func(r *runner, v value, a args) value { return r.calculate(op, v, a.positional[0]) }
}

// calculate calculates with two numbers.
func (r *runner) calculate(op string, a, b value) value {
	x, okX := whole(a)
	y, okY := whole(b)
	if okX && okY {
		return r.integers(op, x, y)
	}
	f, okF := number(a)
	g, okG := number(b)
	if !okF || !okG {
		r.fail("%s %s %s", typeName(a), op, typeName(b))
	}
	return r.floats(op, f, g)
}

// remainder is also for strings, which it formats.
func remainder(r *runner, v value, a args) value {
	if s, ok := v.(Str); ok {
		return r.percent(s, a.positional[0])
	}
	return r.calculate("%", v, a.positional[0])
}

// integers calculates with integers, which must not overflow.
func (r *runner) integers(op string, x, y int64) value {
	var z int64
	ok := true
	switch op {
	case "/":
		if y == 0 {
			r.fail("division by zero")
		}
		return python.Divide(x, y)
	case "+":
		z = x + y
		ok = (z > x) == (y > 0)
	case "-":
		z = x - y
		ok = (z < x) == (y > 0)
	case "*":
		z, ok = multiply(x, y)
	case "//", "%":
		if y == 0 {
			r.fail("division by zero")
		}
		if x == math.MinInt64 && y == -1 {
			ok = false
			break
		}
		z = x / y
		rest := x % y
		if rest != 0 && (rest < 0) != (y < 0) { // rounded down, as Python does
			z--
			rest += y
		}
		if op == "%" {
			z = rest
		}
	case "**":
		if y < 0 {
			return r.floats(op, float64(x), float64(y))
		}
		z, ok = power(x, y)
	}
	if !ok {
		r.fail("an integer of more than 64 bits")
	}
	return z
}

func multiply(x, y int64) (z int64, ok bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	z = x * y
	return z, z/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64)
}

func power(x, y int64) (z int64, ok bool) {
	switch {
	case y == 0 || x == 1:
		return 1, true
	case x == 0:
		return 0, true
	case x == -1:
		return 1 - 2*(y%2), true
	case y > 63:
		return 0, false
	}
	z, ok = 1, true
	for range y {
		if z, ok = multiply(z, x); !ok {
			break
		}
	}
	return z, ok
}

func (r *runner) floats(op string, x, y float64) value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return r.power(x, y)
	}
	if y == 0 {
		r.fail("division by zero")
	}
	switch op {
	case "//":
		div, _ := python.DivMod(x, y)
		return div
	case "%":
		_, mod := python.DivMod(x, y)
		return mod
	}
	return x / y
}

// power is ** of floats, which has neither infinities of finite numbers nor complex numbers.
func (r *runner) power(x, y float64) value {
	switch {
	case x == 0 && y < 0:
		r.fail("division by zero")
	case x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0):
		r.fail("a complex number")
	}
	z := math.Pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail("a float that is too large")
	}
	return z
}
