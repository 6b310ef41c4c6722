package rope

import (
	"math"
	"math/big"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// The frequencies of many bases and sizes are those that float64 computes.
func TestFrequencies(t *testing.T) {
	for _, base := range []float64{1, 1.5, 10000, 500000, 1e6, 0x1p64} {
		for _, dims := range []int{2, 6, 64, 80, 128, 256} {
			r, err := New(Config{Dims: dims, Base: base})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range r.frequencies {
				got := (math.Ldexp(float64(x.hi), -64) + math.Ldexp(float64(x.lo), -128)) * 2 * math.Pi
				want := math.Pow(base, -2*float64(i)/float64(dims))
				if math.Abs(got/want-1) > 1e-13 {
					t.Errorf("base %v dims %d pair %d: %v radians, want %v", base, dims, i, got, want)
				}
			}
		}
	}
}

// All 128 bits of a frequency are right. Here they are powers of ten radians, which need
// neither a logarithm nor an exponential, and π is computed in another way.
func TestFrequencyBits(t *testing.T) {
	const precision = 600
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	// The algorithm of Gauss and Legendre.
	a, b, s, p := f(1), f(0).Sqrt(f(0.5)), f(0.25), f(1)
	for range 10 {
		mean := f(0).Mul(f(0).Add(a, b), f(0.5))
		b.Sqrt(b.Mul(a, b))
		d := f(0).Sub(a, mean)
		s.Sub(s, d.Mul(d, d).Mul(d, p))
		a, p = mean, p.Mul(p, f(2))
	}
	turn := f(0).Quo(a.Mul(a, a), f(0).Mul(s, f(0.5))) // 2π = 2·a²/s
	for _, c := range []Config{{Dims: 8, Base: 1e4}, {Dims: 32, Base: 1e16}} {
		r, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		tenth := f(1)
		for i, x := range r.frequencies {
			want := f(0).Quo(tenth, turn)
			n, _ := want.Add(want.SetMantExp(want, 128), f(0.5)).Int(nil)
			if got := x.integer(); got.Cmp(n) != 0 {
				t.Errorf("base %v, pair %d: %x, want %x", c.Base, i, got, n)
			}
			tenth.Quo(tenth, f(10))
		}
	}
}

// integer returns an angle in units of 2^-128 turns.
func (t angle) integer() *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(t.hi), 64)
	return n.Or(n, new(big.Int).SetUint64(t.lo))
}

// A product with a position is exact, but for whole turns.
func TestAngleTimes(t *testing.T) {
	r := testutil.Rand(9)
	turn := new(big.Int).Lsh(big.NewInt(1), 128)
	for i := range 1000 {
		x, n := angle{r.Uint64(), r.Uint64()}, int(r.Uint64())>>uint(i%60)
		want := new(big.Int).Mul(x.integer(), big.NewInt(int64(n)))
		want.Mod(want, turn)
		if got := x.times(n).integer(); got.Cmp(want) != 0 {
			t.Fatalf("%x times %d is %x, want %x", x.integer(), n, got, want)
		}
	}
}
