package lane

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/scalar"
)

// TestSubnormal executes the steps of the activations as on CPUs that take long for subnormal
// numbers. They have the results of package fallback, and a subnormal operand or result only where
// a subnormal function or slope is multiplied by another number.
func TestSubnormal(t *testing.T) {
	f, e := fallback.Activations(), fallback.Elementwise()
	one := func(f func(dst, src []float32)) func(dst, _, x []float32) {
		return func(dst, _, x []float32) { f(dst, x) }
	}
	two := func(f func(dst, gate, up []float32)) func(dst, _, x []float32) {
		return func(dst, _, x []float32) { f(dst, x, []float32{1.5}) }
	}
	both := func(f func(f, dx, dy, x []float32)) func(dst, dx, x []float32) {
		return func(dst, dx, x []float32) { f(dst, dx, []float32{1.5}, x) }
	}
	for _, c := range []struct {
		name string
		want func(dst, dx, x []float32)
		slow string
	}{
		{"Tanh", one(e.Tanh), ""}, {"SiLU", one(f.SiLU), ""}, {"GELU", one(f.GELU), ""}, {"GELUTanh", one(f.GELUTanh), ""},
		{"SwiGLU", two(f.SwiGLU), "-108.5 to -91.92, -2.314e-38 to 2.314e-38"}, {"GeGLU", two(f.GeGLU), "-14.33 to -13.16, -2.314e-38 to 2.314e-38"},
		{"GeGLUTanh", two(f.GeGLUTanh), "-10.77 to -10.11, -2.314e-38 to 2.314e-38"},
		{"SiLUBackward", both(f.SiLUBackward), "-108.5 to -87.42"}, {"GELUBackward", both(f.GELUBackward), "-14.33 to -12.96"},
		{"GELUTanhBackward", both(f.GELUTanhBackward), "-10.77 to -10"},
	} {
		k := Kernels[slices.IndexFunc(Kernels, func(k Kernel) bool { return k.Name == c.name })]
		for _, exp2 := range []Exp2Style{ByScaling, ByConversion} {
			p := Build(k, Traits{Exp2: exp2, Fused: true, Skips: true})
			var slow []float32
			for x := range numbersInOrder {
				m := evaluator{in: map[string]float32{"src": x, "x": x, "gate": x, "up": 1.5, "dy": 1.5}, out: map[string]float32{}}
				m.run(p)
				var dst, dx [1]float32
				c.want(dst[:], dx[:], []float32{x})
				for name, got := range m.out {
					want := dst[0]
					if name == "dx" {
						want = dx[0]
					}
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("%s: %s of %g is %g, want %g", c.name, name, x, got, want)
					}
				}
				if m.subnormal > 0 {
					slow = append(slow, x)
				}
			}
			if got := intervals(slow); got != c.slow {
				t.Errorf("%s has subnormal steps from %s, want %q", c.name, got, c.slow)
			}
		}
	}
}

// numbersInOrder are some numbers of every magnitude and both signs, more of them where the
// functions reach their limits.
func numbersInOrder(yield func(x float32) bool) {
	var magnitudes []float32
	for bits := uint32(0); bits <= 0x7f800000; {
		x := math.Float32frombits(bits)
		magnitudes = append(magnitudes, x)
		if bits += 1<<18 + 1; 8 <= x && x < 128 {
			bits -= 1<<18 - 1<<14
		}
	}
	for _, x := range slices.Backward(magnitudes) {
		if !yield(-x) {
			return
		}
	}
	for _, x := range magnitudes {
		if !yield(x) {
			return
		}
	}
}

// intervals writes numbers of numbersInOrder as intervals: from one to another number that are
// neighbours there, or nearly so.
func intervals(x []float32) string {
	var list []string
	for i := 0; i < len(x); {
		from := x[i]
		for i++; i < len(x) && (math.Abs(float64(x[i]-x[i-1])) < 0.05*math.Abs(float64(x[i])) || max(math.Abs(float64(x[i])), math.Abs(float64(x[i-1]))) < 0x1p-125); i++ {
		}
		list = append(list, fmt.Sprintf("%.4g to %.4g", from, x[i-1]))
	}
	return strings.Join(list, ", ")
}

func isSubnormal(x float32) bool { return x != 0 && math.Abs(float64(x)) < 0x1p-126 }

// An evaluator executes a program without rows, for a lane, and counts the operations with a
// subnormal operand or result. Sums count by their result: if it is normal they take no longer.
type evaluator struct {
	in, out   map[string]float32
	values    map[*Value]uint32
	subnormal int
}

func (m *evaluator) run(p *Program) {
	m.values = map[*Value]uint32{}
	nodes := slices.Concat(p.before, p.row, p.after)
	find := func(op Op, rare *Value) int {
		return slices.IndexFunc(nodes, func(n *Value) bool { return n.Op == op && n.Args[len(n.Args)-1] == rare })
	}
	less := func(n *Value) bool { return int32(m.bits(n.Args[1])) < int32(m.bits(n.Args[0])) }
	for i := 0; i < len(nodes); i++ {
		switch n := nodes[i]; n.Op {
		case Load:
			m.values[n] = math.Float32bits(m.in[n.Stream.Slice])
		case Var:
			m.values[n] = m.bits(n.Args[0])
		case Store:
			m.out[n.Stream.Slice] = m.float(n.Args[0])
		case Set:
			m.values[n.Args[0]] = m.bits(n.Args[1])
		case Rare:
			if !less(n) {
				i = find(Usual, n)
			} else if n.Bits == 0 {
				i = find(Whole, n)
			}
		case Short:
			if less(n) {
				i = find(Whole, n.Args[2])
			}
		case Whole:
			i = find(Done, n.Args[0])
		case Blank, Usual, Done:
		default:
			m.values[n] = m.result(n)
		}
	}
}

func (m *evaluator) bits(v *Value) uint32 {
	if v.Op == Const {
		return v.Bits
	}
	return m.values[v]
}

func (m *evaluator) float(v *Value) float32 { return math.Float32frombits(m.bits(v)) }

// result computes an operation.
func (m *evaluator) result(n *Value) uint32 {
	y, ok := m.ofFloats(n)
	if !ok {
		return m.ofBits(n)
	}
	operands := n.Op != Add && n.Op != Sub && slices.ContainsFunc(n.Args, func(a *Value) bool { return isSubnormal(m.float(a)) })
	if operands || isSubnormal(y) {
		m.subnormal++
	}
	return math.Float32bits(y)
}

// ofFloats computes an operation that may take long.
func (m *evaluator) ofFloats(n *Value) (y float32, ok bool) {
	x := func(i int) float32 { return m.float(n.Args[i]) }
	switch n.Op {
	case Add:
		return x(0) + x(1), true
	case Sub:
		return x(0) - x(1), true
	case Mul:
		return x(0) * x(1), true
	case Div:
		return x(0) / x(1), true
	case MulAdd:
		return scalar.FMA(x(0), x(1), x(2)), true
	case NegMulAdd:
		return scalar.FMA(-x(0), x(1), x(2)), true
	}
	return 0, false
}

// ofBits computes another operation.
func (m *evaluator) ofBits(n *Value) uint32 {
	a := make([]uint32, len(n.Args))
	for i, v := range n.Args {
		a[i] = m.bits(v)
	}
	x := func(i int) float32 { return math.Float32frombits(a[i]) }
	of := func(y float32) uint32 { return math.Float32bits(y) }
	switch n.Op {
	case AtLeast:
		if x(0) < x(1) {
			return a[1]
		}
		return a[0]
	case AtMost:
		if x(1) < x(0) {
			return a[1]
		}
		return a[0]
	case CopySign:
		return a[0] | a[1]&a[2]
	case And:
		return a[0] & a[1]
	case Or:
		return a[0] | a[1]
	case AddInt:
		return a[0] + a[1]
	case SubInt:
		return a[0] - a[1]
	case ShiftLeft:
		return a[0] << n.Bits
	case ShiftRight:
		return a[0] >> n.Bits
	case ToInt:
		return uint32(int32(math.RoundToEven(float64(x(0)))))
	case ToFloat:
		return of(float32(int32(a[0])))
	case Fraction:
		return of(x(0) - float32(math.RoundToEven(float64(x(0)))))
	case ScaleBy:
		if x(2) < x(3) {
			return 0
		}
		return of(float32(math.Ldexp(float64(x(0)), int(x(1)))))
	case Lookup:
		return n.Args[0].Words[a[1]&7]
	case Select:
		holds := map[Cond]bool{Less: x(0) < x(1), Equal: x(0) == x(1), Unordered: x(0) != x(0) || x(1) != x(1), LessInt: int32(a[0]) < int32(a[1])}[n.Cond]
		if holds {
			return a[2]
		}
		return a[3]
	}
	panic(fmt.Sprintf("operation %d", n.Op))
}
