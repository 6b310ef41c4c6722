package jinja

import "math"

func (n *binary) eval(r *runner) value {
	a, b := r.eval(n.left), r.eval(n.right)
	if n.op == "~" {
		return r.made(concat(r.show(a), r.show(b)))
	}
	if v, ok := r.sequences(n.op, a, b); ok {
		return v
	}
	x, okX := whole(a)
	y, okY := whole(b)
	if okX && okY && n.op != "/" {
		return r.integers(n.op, x, y)
	}
	f, okF := number(a)
	g, okG := number(b)
	if !okF || !okG {
		r.fail("%s %s %s", typeName(a), n.op, typeName(b))
	}
	return r.floats(n.op, f, g)
}

// sequences returns the sum of two strings or lists, or a multiple of one.
func (r *runner) sequences(op string, a, b value) (value, bool) {
	if op == "*" {
		if n, ok := whole(a); ok {
			return r.repeat(b, n)
		}
		n, ok := whole(b)
		if !ok {
			return nil, false
		}
		return r.repeat(a, n)
	}
	if op != "+" {
		return nil, false
	}
	switch x := a.(type) {
	case Str:
		if y, ok := b.(Str); ok {
			r.spend(x.len() + y.len() + partCost*(len(x)+len(y)))
			return concat(x, y), true
		}
	case *List:
		if y, ok := b.(*List); ok && x.tuple == y.tuple {
			r.spend(partCost * (len(x.items) + len(y.items)))
			return &List{append(x.items[:len(x.items):len(x.items)], y.items...), x.tuple}, true
		}
	}
	return nil, false
}

// repeat returns a string or list n times. The work is counted before it is done.
func (r *runner) repeat(v value, n int64) (value, bool) {
	n = max(n, 0)
	switch v := v.(type) {
	case Str:
		r.spendTimes(v.len()+partCost*len(v), n)
		all := make([]Str, n)
		for i := range all {
			all[i] = v
		}
		return concat(all...), true
	case *List:
		r.spendTimes(partCost*len(v.items), n)
		l := &List{tuple: v.tuple}
		for range n {
			l.items = append(l.items, v.items...)
		}
		return l, true
	}
	return nil, false
}

// spendTimes counts work that is done n times.
func (r *runner) spendTimes(work int, n int64) {
	if n > int64(r.left) {
		r.spend(r.left + 1)
	}
	if n > 0 && work+1 > r.left/int(n) {
		r.spend(r.left + 1)
	}
	r.spend((work + 1) * int(n))
}

// integers calculates with integers, which must not overflow.
func (r *runner) integers(op string, x, y int64) value {
	var z int64
	ok := true
	switch op {
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
		return math.Pow(x, y)
	}
	if y == 0 {
		r.fail("division by zero")
	}
	switch op {
	case "//":
		return math.Floor(x / y)
	case "%":
		return x - float64(math.Floor(x/y)*y)
	}
	return x / y
}
