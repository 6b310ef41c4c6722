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
