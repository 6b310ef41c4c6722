package expr

import "math"

// quiet is the NaN that every float operation makes.
const (
	quiet   = 0x7fc00000
	quiet64 = 0x7ff8000000000000 // of binary64
)

// evalOne computes a node from the values of up to three arguments.
func evalOne(n *Node, a, b, c uint64) uint64 {
	var out [1]uint64
	compute(n, out[:], [][]uint64{{a}, {b}, {c}}[:max(len(n.Args), 0)])
	return out[0]
}

// compute sets out to the values of n, from its arguments' values.
func compute(n *Node, out []uint64, in [][]uint64) {
	m := mask(n.Width)
	switch n.Op {
	case Const:
		for i := range out {
			out[i] = n.Val
		}
	case Concat:
		clear(out)
		at := 0
		for k, a := range in {
			for i, x := range a[:len(out)] {
				out[i] |= x << at
			}
			at += n.Args[k].Width
		}
	case Extract:
		for i, x := range in[0][:len(out)] {
			out[i] = x >> n.Val & m
		}
	case Sext:
		w := n.Args[0].Width
		for i, x := range in[0][:len(out)] {
			out[i] = uint64(signed(x, w)) & m
		}
	case Sum:
		for i := range out {
			out[i] = n.Val
		}
		for k, a := range in {
			c := n.Coefs[k]
			for i, x := range a[:len(out)] {
				out[i] += c * x
			}
		}
		for i := range out {
			out[i] &= m
		}
	case Not:
		for i, x := range in[0][:len(out)] {
			out[i] = ^x & m
		}
	case Select:
		y, z := in[1][:len(out)], in[2][:len(out)]
		for i, c := range in[0][:len(out)] {
			if c != 0 {
				out[i] = y[i]
			} else {
				out[i] = z[i]
			}
		}
	case FFma:
		y, z := in[1][:len(out)], in[2][:len(out)]
		for i, x := range in[0][:len(out)] {
			out[i] = bitsOf(fma(float(x), float(y[i]), float(z[i])))
		}
	case Fma64:
		for i, x := range in[0][:len(out)] {
			out[i] = bits64(math.FMA(double(x), double(in[1][i]), double(in[2][i])))
		}
	case FSqrt, FRound, SToF, UToF, FToS, FToSat, HToF, FToH, Widen, Sqrt64, Narrow64:
		w := n.Args[0].Width
		for i, x := range in[0][:len(out)] {
			out[i] = unary(n.Op, x, w)
		}
	default:
		binary(n, out, in[0][:len(out)], in[1][:len(out)])
	}
}

func binary(n *Node, out, x, y []uint64) {
	m, w := mask(n.Width), n.Args[0].Width
	switch n.Op {
	case Mul:
		for i := range out {
			out[i] = x[i] * y[i] & m
		}
	case And:
		for i := range out {
			out[i] = x[i] & y[i]
		}
	case Or:
		for i := range out {
			out[i] = x[i] | y[i]
		}
	case Xor:
		for i := range out {
			out[i] = x[i] ^ y[i]
		}
	case Eq:
		for i := range out {
			out[i] = bit(x[i] == y[i])
		}
	case Lt:
		for i := range out {
			out[i] = bit(signed(x[i], w) < signed(y[i], w))
		}
	case UMax:
		for i := range out {
			out[i] = max(x[i], y[i])
		}
	case UMin:
		for i := range out {
			out[i] = min(x[i], y[i])
		}
	case Ult:
		for i := range out {
			out[i] = bit(x[i] < y[i])
		}
	case FAdd:
		for i := range out {
			out[i] = bitsOf(float(x[i]) + float(y[i]))
		}
	case FMul:
		for i := range out {
			out[i] = bitsOf(float(x[i]) * float(y[i]))
		}
	case FDiv:
		for i := range out {
			out[i] = bitsOf(float(x[i]) / float(y[i]))
		}
	case FLt:
		for i := range out {
			out[i] = bit(float(x[i]) < float(y[i]))
		}
	case FLe:
		for i := range out {
			out[i] = bit(float(x[i]) <= float(y[i]))
		}
	case FEq:
		wide := n.Args[0].Width == 64
		for i := range out {
			if out[i] = bit(float(x[i]) == float(y[i])); wide {
				out[i] = bit(double(x[i]) == double(y[i]))
			}
		}
	default:
		for i := range out {
			out[i] = rare(n.Op, x[i], y[i], w)
		}
	}
}

// rare computes the other operations of two arguments, of w bits each.
func rare(op Op, x, y uint64, w int) uint64 {
	switch op {
	case Shl:
		if y >= uint64(w) {
			return 0
		}
		return x << y & mask(w)
	case Shr:
		if y >= uint64(w) {
			return 0
		}
		return x >> y
	case Sar:
		return uint64(signed(x, w)>>min(y, uint64(w-1))) & mask(w)
	case FMax:
		return bitsOf(max(float(x), float(y)))
	case FMin:
		return bitsOf(min(float(x), float(y)))
	case FScale:
		return scale(uint32(x), float(y))
	case Add64:
		return bits64(double(x) + double(y))
	case Mul64:
		return bits64(double(x) * double(y))
	case Div64:
		return bits64(double(x) / double(y))
	}
	panic("expr: no such operation: " + op.String())
}

// scale is x·2^floor(y). Of a quiet NaN an infinite power makes what it makes of 1.
func scale(bits uint32, y float32) uint64 {
	x, n := math.Float32frombits(bits), math.Floor(float64(y))
	if x != x && bits&(1<<22) != 0 && math.IsInf(n, 0) {
		x = 1
	}
	switch {
	case x != x || n != n:
		return quiet
	case math.IsInf(n, 1):
		if x == 0 {
			return quiet
		}
		return bitsOf(float32(math.Copysign(math.Inf(1), float64(x))))
	case math.IsInf(n, -1):
		if math.IsInf(float64(x), 0) {
			return quiet
		}
		return bitsOf(float32(math.Copysign(0, float64(x))))
	}
	return bitsOf(float32(math.Ldexp(float64(x), int(max(min(n, 500), -500)))))
}

func double(x uint64) float64 { return math.Float64frombits(x) }

// bits64 returns the bits of a binary64, the same for every NaN.
func bits64(x float64) uint64 {
	if x != x {
		return quiet64
	}
	return math.Float64bits(x)
}

func unary(op Op, x uint64, w int) uint64 {
	switch op {
	case FSqrt:
		return bitsOf(float32(math.Sqrt(float64(float(x)))))
	case FRound:
		return bitsOf(float32(math.RoundToEven(float64(float(x)))))
	case SToF:
		return bitsOf(float32(signed(x, w)))
	case UToF:
		return bitsOf(float32(x))
	case FToS, FToSat:
		return toInt(op, float(x))
	case HToF:
		return fromHalf(uint16(x))
	case FToH:
		return toHalf(uint32(x))
	case Widen:
		return bits64(float64(float(x)))
	case Sqrt64:
		return bits64(math.Sqrt(double(x)))
	case Narrow64:
		return bitsOf(float32(double(x)))
	}
	panic("expr: no such operation: " + op.String())
}

func toInt(op Op, x float32) uint64 {
	r := math.RoundToEven(float64(x))
	switch {
	case r >= -1<<31 && r < 1<<31:
		return uint64(uint32(int32(r)))
	case op == FToS:
		return 1 << 31
	case r != r:
		return 0
	case r < 0:
		return 1 << 31
	}
	return 1<<31 - 1
}

// fromHalf widens a binary16.
func fromHalf(h uint16) uint64 {
	sign, exp, frac := uint64(h>>15)<<31, int(h>>10&31), uint64(h&1023)
	switch exp {
	case 31:
		if frac != 0 {
			return sign | 0x7fc00000 | frac<<13
		}
		return sign | 0x7f800000
	case 0:
		return sign | bitsOf(float32(math.Ldexp(float64(frac), -24)))
	}
	return sign | uint64(exp+112)<<23 | frac<<13
}

// toHalf rounds to a binary16, ties to even.
func toHalf(b uint32) uint64 {
	sign, x := uint64(b>>16&0x8000), math.Abs(float64(math.Float32frombits(b)))
	switch {
	case x != x:
		return sign | 0x7e00 | uint64(b>>13&0x1ff)
	case x == 0:
		return sign
	case x >= 65520:
		return sign | 0x7c00
	}
	_, e := math.Frexp(x)
	ulp := max(e-11, -24)
	n := uint64(math.RoundToEven(math.Ldexp(x, -ulp))) // at most 2^11
	if ulp == -24 {
		return sign | n
	}
	return sign | (uint64(ulp+24)<<10 + n)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func float(x uint64) float32 { return math.Float32frombits(uint32(x)) }

func bitsOf(x float32) uint64 {
	if x != x {
		return quiet
	}
	return uint64(math.Float32bits(x))
}

// fma rounds x·y+z once: the sum in binary64 is rounded to odd where it is not exact, which the
// second rounding does not see.
func fma(x, y, z float32) float32 {
	p, a := float64(x)*float64(y), float64(z)
	s := p + a
	b := math.Float64bits(s)
	const lowBits, halfway, least = 1<<29 - 1, 1 << 28, (1023 - 126) << 52
	if b&lowBits != halfway && b<<1-1 >= least<<1-1 {
		return float32(s)
	}
	t := s - p
	err := (p - (s - t)) + (a - t)
	if err == 0 || err != err {
		return float32(s)
	}
	if b&1 == 0 {
		if (err > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}

// SameFloat reports whether two binary32 are the same to the bit, or both a NaN.
func SameFloat(x, y uint64) bool {
	return x == y || uint32(x)<<1 > 0x7f800000<<1 && uint32(y)<<1 > 0x7f800000<<1
}
