package scalar

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigFMA is the fma by definition: exact, then rounded once.
func bigFMA(x, y, z float32) float32 {
	if e := float64(x)*float64(y) + float64(z); math.IsInf(e, 0) || e != e {
		return float32(e) // an operand is Inf or NaN; float64 has no other way to get there
	}
	const exact = 700 // bits: from 2^257 down to 2^-298
	p := new(big.Float).SetPrec(exact).Mul(exactly(x), exactly(y))
	r, _ := p.Add(p, exactly(z)).Float32()
	return r
}

func exactly(x float32) *big.Float { return new(big.Float).SetFloat64(float64(x)) }

// same tells whether x and y have the same bits or are both NaN.
func same(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

func checkFMA(t *testing.T, x, y, z float32) {
	t.Helper()
	want := bigFMA(x, y, z)
	for _, f := range []struct {
		name string
		fma  func(x, y, z float32) float32
	}{{"FMA", FMA}, {"fmaEmulated", fmaEmulated}, {"fmaSlow", fmaSlow}} {
		if got := f.fma(x, y, z); !same(got, want) {
			t.Fatalf("%s(%x, %x, %x) = %x, want %x", f.name, x, y, z, got, want)
		}
	}
}

// rounds is how many random cases a test tries.
func rounds() int {
	if testing.Short() {
		return 5_000
	}
	return 100_000
}

// random returns a float32 of random sign and mantissa whose exponent is e.
func random(r *rand.Rand, e int) float32 {
	x := float32(math.Ldexp(float64(1<<23|r.Uint32N(1<<23)), e-23))
	if r.Uint32N(2) == 0 {
		return -x
	}
	return x
}

// between returns a random integer from [lo, hi].
func between(r *rand.Rand, lo, hi int) int { return lo + r.IntN(hi-lo+1) }

func TestFMARandomBits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range rounds() {
		checkFMA(t, math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()))
	}
}

// Summands of like size, where every bit of both matters.
func TestFMANear(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range rounds() {
		ex, ey := between(r, -20, 20), between(r, -20, 20)
		checkFMA(t, random(r, ex), random(r, ey), random(r, ex+ey+between(r, -60, 60)))
	}
}

// Few bits in each operand: exact ties, which go to even.
func TestFMAExactTies(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range rounds() {
		x, y := float32(r.IntN(1<<13)), float32(r.IntN(1<<13)-1<<12)
		checkFMA(t, x, y, float32(r.IntN(1<<24)*4))
	}
}

// A product just below or above half an ulp of z: the sum in float64 is a tie,
// and the true sum is not.
func TestFMAHiddenTies(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	var below, above int
	for range 20 * rounds() {
		x := random(r, 0)
		y := float32(1 / float64(x)) // x·y is near 1
		z := random(r, 24)           // half an ulp of z is 1
		p := float64(x) * float64(y)
		if p == 1 || !rare64(float64(z)+p) {
			continue
		}
		if p < 1 {
			below++
		} else {
			above++
		}
		e := between(r, -60, 60)
		x, z = float32(math.Ldexp(float64(x), e)), float32(math.Ldexp(float64(z), e))
		checkFMA(t, x, y, z)
	}
	if below < 1000 || above < 1000 {
		t.Errorf("tried only %d cases below and %d above a tie", below, above)
	}
}

// A product that is a tie by itself, and a z too small for float64 to see.
func TestFMATieOfProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	ties := 0
	for range rounds() {
		x, y := float32(r.Uint32N(1<<13)|1), float32(r.Uint32N(1<<13)|1<<12|1)
		if !rare64(float64(x) * float64(y)) {
			continue
		}
		ties++
		for _, z := range []float32{random(r, between(r, -126, -30)), math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0} {
			checkFMA(t, x, y, z)
			checkFMA(t, x, -y, z)
		}
	}
	if ties < rounds()/10 {
		t.Errorf("tried only %d ties", ties)
	}
}

func TestFMASubnormal(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	for range rounds() {
		e := between(r, -100, -40)
		x, y := random(r, e), random(r, between(r, -153, -124)-e)
		z := math.Float32frombits(r.Uint32N(1<<24) | r.Uint32N(2)<<31)
		checkFMA(t, x, y, z)
		checkFMA(t, x, y, 0)
		checkFMA(t, z, random(r, between(r, -3, 3)), x*y)
	}
}

// A sum that loses its leading bits, or all of them.
func TestFMACancellation(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	for range rounds() {
		x, y := random(r, between(r, -70, 60)), random(r, between(r, -70, 60))
		z := -float32(x * y)
		checkFMA(t, x, y, z)
		checkFMA(t, x, y, math.Nextafter32(z, 0))
		checkFMA(t, x, random(r, 0), -x)
	}
}

func TestFMAOverflow(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for range rounds() {
		e := between(r, 0, 127)
		checkFMA(t, random(r, e), random(r, between(r, 125, 128)-e), random(r, between(r, 100, 127)))
		// around 2^128 - half an ulp, above which numbers round to Inf
		checkFMA(t, float32(math.Ldexp(1, e)), float32(math.Ldexp(1, 103-e)), math.MaxFloat32)
		checkFMA(t, random(r, e), float32(math.Ldexp(1, 103-e)), math.MaxFloat32)
	}
}

func TestFMASpecial(t *testing.T) {
	values := []float32{
		0, 1, 1.5, 2, 3, 1 << 12, 1<<12 + 1, 1 << 23, 1<<24 - 1, 0x1p24, 1 - 0x1p-24, 1 + 0x1p-23,
		0x1p-63, 0x1p-64, 0x1p-75, 0x1p-126, 0x1p-127, 0x1p-148, 0x1p-149, 0x1.fffffcp-127,
		0x1p64, 0x1p63, 0x1p103, 0x1p104, 0x1p127, math.MaxFloat32, inf, nan,
	}
	for _, x := range values {
		values = append(values, -x)
	}
	for _, x := range values {
		for _, y := range values {
			for _, z := range values {
				checkFMA(t, x, y, z)
			}
		}
	}
}

// muladd and rare, inlined as the fast loops have them.
func TestFMAParts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for range rounds() {
		x, y, z := random(r, between(r, -70, 3)), random(r, between(r, -70, 3)), random(r, between(r, -126, 3))
		s := MulAdd(x, y, z)
		if got, want := float32(s), fmaEmulated(x, y, z); !Rare(s) && !same(got, want) {
			t.Fatalf("MulAdd(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

// FMA inlined, where the compiler sees what its operands are and may choose
// another instruction: operands in memory, negated, constant, equal, converted,
// products themselves, shared by two, results that are negated or multiplied.
// Everything is compared with the emulation, which is not inlined.
func TestFMAOperands(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 10))
	n := rounds()
	x, y, z, u := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for _, s := range [][]float32{x, y, z, u} {
		fill(r, s)
	}
	for i := range n {
		switch i % 8 {
		case 0: // the rounding of x·y is all there is
			z[i] = -mul(x[i], y[i])
		case 1, 2: // x·y is exact, and the sum 0: its sign tells negated forms apart
			x[i], y[i] = float32(r.IntN(1<<12)-1<<11), float32(r.IntN(1<<12)-1<<11)
			z[i] = mul(x[i], y[i])
			if i%8 == 2 {
				z[i] = -z[i]
			}
		case 3:
			x[i], z[i] = 0, negZero
		}
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(z[i]) * (1 + 0x1p-30)
	}

	got := make([]float32, n)
	check := func(what string, want func(i int) float32) {
		t.Helper()
		for i := range got {
			if w := want(i); !same(got[i], w) {
				t.Errorf("%s of %x, %x, %x, %x = %x, want %x", what, x[i], y[i], z[i], u[i], got[i], w)
				return
			}
		}
	}

	for i := range got {
		got[i] = FMA(x[i], y[i], z[i])
	}
	check("FMA(x, y, z)", func(i int) float32 { return emulated(x[i], y[i], z[i]) })
	for i := range got {
		got[i] = x[i]
		got[i] = FMA(y[i], got[i], z[i])
	}
	check("FMA(y, x, z)", func(i int) float32 { return emulated(x[i], y[i], z[i]) })
	copy(got, z)
	for i := range got {
		got[i] = FMA(x[i], y[i], got[i])
	}
	check("FMA in place", func(i int) float32 { return emulated(x[i], y[i], z[i]) })
	for i := range got {
		got[i] = FMA(x[i], x[i], z[i])
	}
	check("FMA(x, x, z)", func(i int) float32 { return emulated(x[i], x[i], z[i]) })
	for i := range got {
		got[i] = FMA(x[i], y[i], x[i])
	}
	check("FMA(x, y, x)", func(i int) float32 { return emulated(x[i], y[i], x[i]) })

	// Negated: instructions that subtract or negate get the sign of a sum of 0
	// wrong unless they are the right ones.
	for i := range got {
		got[i] = FMA(-x[i], y[i], z[i])
	}
	check("FMA(-x, y, z)", func(i int) float32 { return emulated(neg(x[i]), y[i], z[i]) })
	for i := range got {
		got[i] = FMA(x[i], y[i], -z[i])
	}
	check("FMA(x, y, -z)", func(i int) float32 { return emulated(x[i], y[i], neg(z[i])) })
	for i := range got {
		got[i] = FMA(-x[i], y[i], -z[i])
	}
	check("FMA(-x, y, -z)", func(i int) float32 { return emulated(neg(x[i]), y[i], neg(z[i])) })
	for i := range got {
		got[i] = -FMA(x[i], y[i], z[i])
	}
	check("-FMA(x, y, z)", func(i int) float32 { return neg(emulated(x[i], y[i], z[i])) })
	for i := range got {
		got[i] = -FMA(x[i], -y[i], z[i])
	}
	check("-FMA(x, -y, z)", func(i int) float32 { return neg(emulated(x[i], neg(y[i]), z[i])) })

	// Products beside the one to fuse.
	for i := range got {
		got[i] = FMA(x[i], y[i], float32(z[i]*u[i]))
	}
	check("FMA(x, y, z·u)", func(i int) float32 { return emulated(x[i], y[i], mul(z[i], u[i])) })
	for i := range got {
		got[i] = FMA(x[i], y[i], -float32(x[i]*y[i]))
	}
	check("FMA(x, y, -x·y)", func(i int) float32 { return emulated(x[i], y[i], neg(mul(x[i], y[i]))) })
	for i := range got {
		got[i] = FMA(float32(z[i]*u[i]), y[i], x[i])
	}
	check("FMA(z·u, y, x)", func(i int) float32 { return emulated(mul(z[i], u[i]), y[i], x[i]) })
	for i := range got {
		got[i] = FMA(x[i], y[i], z[i]) + FMA(x[i], y[i], u[i])
	}
	check("FMA(x, y, z) + FMA(x, y, u)", func(i int) float32 {
		return emulated(x[i], y[i], z[i]) + emulated(x[i], y[i], u[i])
	})
	for i := range got {
		got[i] = float32(FMA(x[i], y[i], z[i])*u[i]) + float32(x[i]*y[i])
	}
	check("FMA(x, y, z)·u + x·y, not fused", func(i int) float32 {
		return mul(emulated(x[i], y[i], z[i]), u[i]) + mul(x[i], y[i])
	})
	for i := range got {
		got[i] = FMA(FMA(x[i], y[i], z[i]), y[i], u[i])
	}
	check("FMA(FMA(x, y, z), y, u)", func(i int) float32 {
		return emulated(emulated(x[i], y[i], z[i]), y[i], u[i])
	})

	// Constants.
	for i := range got {
		got[i] = FMA(x[i], 0.7, z[i])
	}
	check("FMA(x, 0.7, z)", func(i int) float32 { return emulated(x[i], 0.7, z[i]) })
	for i := range got {
		got[i] = FMA(x[i], y[i], 0.7)
	}
	check("FMA(x, y, 0.7)", func(i int) float32 { return emulated(x[i], y[i], 0.7) })
	for i := range got {
		got[i] = FMA(0.7, x[i], 0.3)
	}
	check("FMA(0.7, x, 0.3)", func(i int) float32 { return emulated(0.7, x[i], 0.3) })
	for i := range got {
		got[i] = FMA(x[i], y[i], 0)
	}
	check("FMA(x, y, 0)", func(i int) float32 { return emulated(x[i], y[i], 0) })
	for i := range got {
		got[i] = FMA(x[i], 2, z[i]) + FMA(x[i], 1, u[i]) + FMA(x[i], -1, z[i])
	}
	check("FMA(x, 2, z) + FMA(x, 1, u) + FMA(x, -1, z)", func(i int) float32 {
		return emulated(x[i], 2, z[i]) + emulated(x[i], 1, u[i]) + emulated(x[i], -1, z[i])
	})

	// Conversions, where registers may hold more bits than a float32 has.
	for i := range got {
		got[i] = FMA(x[i], float32(v[i]), u[i])
	}
	check("FMA(x, float32(v), u)", func(i int) float32 { return emulated(x[i], narrow(v[i]), u[i]) })
	for i := range got {
		got[i] = FMA(x[i], y[i], float32(v[i]))
	}
	check("FMA(x, y, float32(v))", func(i int) float32 { return emulated(x[i], y[i], narrow(v[i])) })
	for i := range got {
		got[i] = float32(float64(FMA(x[i], y[i], z[i])) * v[i])
	}
	check("float64(FMA(x, y, z))·v", func(i int) float32 {
		return narrow(float64(emulated(x[i], y[i], z[i])) * v[i])
	})
	for i := range got {
		got[i] = FMA(float32(i-n/2), y[i], float32(i%1000))
	}
	check("FMA(float32(i), y, float32(i))", func(i int) float32 {
		return emulated(float32(i-n/2), y[i], float32(i%1000))
	})

	// A chain, whose sum stays in a register, and more of them than registers.
	for i := 0; i < n; i += 100 {
		var acc [40]float32
		end := min(i+100, n)
		for j := i; j < end; j++ {
			for a := range acc {
				acc[a] = FMA(x[j], u[(j+a)%n], acc[a])
			}
		}
		sum := float32(0)
		for j := i; j < end; j++ {
			sum = FMA(x[j], u[j], sum)
		}
		for a := range acc {
			want := float32(0)
			for j := i; j < end; j++ {
				want = emulated(x[j], u[(j+a)%n], want)
			}
			if !same(acc[a], want) || a == 0 && !same(sum, want) {
				t.Fatalf("a chain from %d, %d: %x and %x, want %x", i, a, acc[a], sum, want)
			}
		}
	}
}

// TestFMAOnce: x·y + z with both products rounded is something else, in two
// of five cases of random operands: that the tests above find it is no luck.
func TestFMAOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 11))
	n, twice := rounds(), 0
	for range n {
		x, y := random(r, 0), random(r, 0)
		z := random(r, 0)
		once := FMA(x, y, z)
		if !same(once, bigFMA(x, y, z)) {
			t.Fatalf("FMA(%x, %x, %x) = %x, want %x", x, y, z, once, bigFMA(x, y, z))
		}
		if !same(once, mul(x, y)+z) {
			twice++
		}
	}
	if twice < n/10 {
		t.Errorf("rounding twice differs in %d of %d cases only", twice, n)
	}
	t.Logf("rounding twice differs in %.0f%% of the cases", 100*float64(twice)/float64(n))
}

// The functions below are steps that no compiler can merge with their
// neighbours.

//go:noinline
func emulated(x, y, z float32) float32 { return fmaEmulated(x, y, z) }

//go:noinline
func neg(x float32) float32 { return -x }

//go:noinline
func narrow(x float64) float32 { return float32(x) }

//go:noinline
func mul(x, y float32) float32 { return x * y }
