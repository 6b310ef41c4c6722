package rope_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/rope"
)

// A bigAngle computes sines and cosines to hundreds of bits, by other means than
// Rope: in radians, and with nothing but a reduction by π and Taylor's series.
type bigAngle struct{ pi *big.Float }

const bigBits = 600

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(bigBits).SetFloat64(x) }

// newBigAngle computes π by Machin's formula.
func newBigAngle() bigAngle {
	arctan := func(inverse int64) *big.Float {
		sum, power := bigFloat(0), bigFloat(0).Quo(bigFloat(1), bigFloat(float64(inverse)))
		square := bigFloat(float64(inverse * inverse))
		for k := range 500 {
			term := bigFloat(0).Quo(power, bigFloat(float64(2*k+1)))
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, square)
		}
		return sum
	}
	a, b := arctan(5), arctan(239)
	pi := a.Mul(a, bigFloat(16))
	return bigAngle{pi.Sub(pi, b.Mul(b, bigFloat(4)))}
}

// cosSin returns cos(x) and sin(x).
func (a bigAngle) cosSin(x *big.Float) (cos, sin *big.Float) {
	full := bigFloat(0).Add(a.pi, a.pi)
	whole, _ := bigFloat(0).Quo(x, full).Int(nil)
	x = bigFloat(0).Sub(x, full.Mul(full, new(big.Float).SetInt(whole)))
	cos, sin = bigFloat(0), bigFloat(0)
	term := bigFloat(1)
	for k := range 120 {
		switch k % 4 {
		case 0:
			cos.Add(cos, term)
		case 1:
			sin.Add(sin, term)
		case 2:
			cos.Sub(cos, term)
		case 3:
			sin.Sub(sin, term)
		}
		term = bigFloat(0).Quo(bigFloat(0).Mul(term, x), bigFloat(float64(k+1)))
	}
	return cos, sin
}

// ulps returns the distance of got from want in units of the last place of a float32.
func ulps(got float32, want *big.Float) float64 {
	w, _ := want.Float32()
	_, exp := math.Frexp(float64(w))
	d := bigFloat(float64(got))
	d.Sub(d, want)
	diff, _ := d.SetMantExp(d, 24-max(exp, -125)).Float64()
	return math.Abs(diff)
}

func mustRope(t testing.TB, c rope.Config) *rope.Rope {
	t.Helper()
	r, err := rope.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ropePositions are small, large and extreme ones.
func ropePositions(t *testing.T) []int {
	list := []int{0, 1, 2, 3, 5, 100, 511, 512, 4095, 131071, 1<<20 + 7, 1<<31 - 1, -1, -2, -1000, -1 << 31}
	r := rng(5)
	for range 60 {
		list = append(list, int(r.next()>>33)>>uint(r.intn(31)))
	}
	if quick() {
		return list[:30]
	}
	return list
}

// TestRopeAngles compares cosines and sines with those of exact angles: frequencies
// that are powers of ten, a thousandth of one, or float64.
func TestRopeAngles(t *testing.T) {
	a := newBigAngle()
	worst := 0.0
	check := func(c rope.Config, frequency func(i int) *big.Float) {
		rope := mustRope(t, c)
		cos, sin := make([]float32, c.Dims/2), make([]float32, c.Dims/2)
		for _, p := range ropePositions(t) {
			if err := rope.CosSin(p, cos, sin); err != nil {
				t.Fatal(err)
			}
			for i := range cos {
				wantCos, wantSin := a.cosSin(bigFloat(0).Mul(bigFloat(float64(p)), frequency(i)))
				for _, x := range []struct {
					got  float32
					want *big.Float
				}{{cos[i], wantCos}, {sin[i], wantSin}} {
					e := ulps(x.got, x.want)
					worst = max(worst, e)
					if e > 0.5001 {
						t.Errorf("%+v position %d pair %d: %v, want %s: %.3f ulp", c, p, i, x.got, x.want.Text('g', 12), e)
					}
				}
			}
		}
	}
	tenth := func(i int) *big.Float {
		f := bigFloat(1)
		for range i {
			f.Quo(f, bigFloat(10))
		}
		return f
	}
	check(rope.Config{Dims: 8}, tenth)
	check(rope.Config{Dims: 16, Base: 1e8}, tenth)
	check(rope.Config{Dims: 8, Scaling: 1000}, func(i int) *big.Float { return tenth(i + 3) })
	frequencies := []float64{0, 1, -0.75, 3.5, 1e-6, math.Pi, 0x1p63, 0x1p-64, 2 * math.Pi, 1e4 / 3}
	check(rope.Config{Dims: 20, Frequencies: frequencies}, func(i int) *big.Float { return bigFloat(frequencies[i]) })
	t.Logf("largest error %.7f ulp", worst)
}

// TestRopeFrequencies compares the frequencies of other bases and sizes with float64.
func TestRopeFrequencies(t *testing.T) {
	for _, base := range []float64{1, 1.5, 10000, 500000, 1e6, 0x1p64} {
		for _, dims := range []int{2, 6, 64, 80, 128, 256} {
			rope := mustRope(t, rope.Config{Dims: dims, Base: base})
			for i, x := range rope.turns {
				got := (math.Ldexp(float64(x.hi), -64) + math.Ldexp(float64(x.lo), -128)) * 2 * math.Pi
				want := math.Pow(base, -2*float64(i)/float64(dims))
				if math.Abs(got/want-1) > 1e-13 {
					t.Errorf("base %v dims %d pair %d: %v radians, want %v", base, dims, i, got, want)
				}
			}
		}
	}
}

func TestTurnTimes(t *testing.T) {
	r := rng(9)
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	wide := func(x turn) *big.Int {
		n := new(big.Int).Lsh(new(big.Int).SetUint64(x.hi), 64)
		return n.Or(n, new(big.Int).SetUint64(x.lo))
	}
	for i := range 1000 {
		x, n := turn{r.next(), r.next()}, int(r.next())>>uint(i%60)
		want := new(big.Int).Mul(wide(x), big.NewInt(int64(n)))
		want.Mod(want, modulus)
		if got := wide(x.times(n)); got.Cmp(want) != 0 {
			t.Fatalf("%x times %d is %x, want %x", wide(x), n, got, want)
		}
	}
}

// TestRopeGolden pins the bits of cosines and sines on every architecture.
func TestRopeGolden(t *testing.T) {
	for name, x := range map[string]struct {
		config rope.Config
		want   string
	}{
		"bytes model": {rope.Config{Dims: 32, Base: 10000}, "af6ac4106971bacaa18f737a05266de399bf2e44e99bceabd49136251dc958e0"},
		"llama 3":     {rope.Config{Dims: 128, Base: 500000}, "9df8fae18ab7daafd740e54927c518bf4d7ce8877c2b5f44bc60667577e238b2"},
		"stretched":   {rope.Config{Dims: 80, Base: 1e6, Scaling: 3.7}, "821c63a64f843372c2e65f3a867ad2e53e960223ceeb1389b8fa4e4736abc552"},
		"frequencies": {rope.Config{Dims: 6, Frequencies: []float64{1, -0.3, 1e-5}}, "fd3a59b2de20a917c0f1ffce0158caf7ff9bd32ed8f4bb09a7856fae474b9517"},
	} {
		h := sha256.New()
		rope := mustRope(t, x.config)
		row := make([]float32, rope.Dims())
		for p := range 2000 {
			if p >= 1000 {
				p *= -1000003
			}
			rope.compute(p, row)
			for _, y := range row {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
			}
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != x.want {
			t.Errorf("%s: sha256 %s, want %s", name, got, x.want)
		}
	}
}

// TestRopeApply turns rows of every layout and compares them with the definition.
func TestRopeApply(t *testing.T) {
	r := rng(3)
	for _, pairs := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
		for lay := range layouts {
			for _, dims := range []int{2, 6, 10} {
				for _, perBatch := range []bool{false, true} {
					c := attnCase{b: 3, h: 2, lq: 4, layout: lay}
					x := c.tensor(3, 2, 4, 10, canary)
					eachRow(&x, func(_, _, _ int, row []float32) { r.fill(row) })
					positions := []int{7, 0, 1 << 30, -3}
					if perBatch {
						positions = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
					}
					rope := mustRope(t, rope.Config{Dims: dims, Pairing: pairs, Positions: 6})
					want := c.tensor(3, 2, 4, 10, canary)
					eachRow(&want, func(b, h, l int, row []float32) {
						p := positions[l]
						if perBatch {
							p = positions[4*b+l]
						}
						copy(row, ropeRow(t, rope, rowOf(&x, b, h, l), p, pairs))
					})
					if err := rope.Apply(x, positions); err != nil {
						t.Fatal(err)
					}
					checkGaps(t, &x)
					same(t, fmt.Sprintf("pairs %d layout %d dims %d", pairs, lay, dims), &x, &want)
				}
			}
		}
	}
}

// ropeRow is the definition of Apply for one row.
func ropeRow(t *testing.T, rope *rope.Rope, row []float32, position int, pairs rope.Pairing) []float32 {
	n := rope.Dims() / 2
	cos, sin := make([]float32, n), make([]float32, n)
	if err := rope.CosSin(position, cos, sin); err != nil {
		t.Fatal(err)
	}
	y := append([]float32(nil), row...)
	for i := range n {
		a, b := i, i+n
		if pairs == rope.Interleaved {
			a, b = 2*i, 2*i+1
		}
		ac, bs, bc, as := mul32(row[a], cos[i]), mul32(row[b], sin[i]), mul32(row[b], cos[i]), mul32(row[a], sin[i])
		y[a], y[b] = sum32(ac, -bs), sum32(bc, as)
	}
	return y
}

// sum32 adds two numbers that have been rounded.
//
//go:noinline
func sum32(x, y float32) float32 { return x + y }

// mul32 multiplies two numbers, and rounds.
//
//go:noinline
func mul32(x, y float32) float32 { return x * y }

// TestRopeNaN: NaN and Inf give the canonical NaN, in their pair alone.
func TestRopeNaN(t *testing.T) {
	rope := mustRope(t, rope.Config{Dims: 6})
	row := []float32{math.Float32frombits(0xffc01234), 1, inf32, 2, 3, -inf32}
	if err := rope.Apply(kernel.BHLD(row, 1, 1, 1, 6), []int{1}); err != nil {
		t.Fatal(err)
	}
	nan := uint32(0x7fc00000)
	for i, want := range map[int]uint32{0: nan, 3: nan, 2: 0x7f800000, 5: nan} {
		if got := math.Float32bits(row[i]); got != want {
			t.Errorf("number %d is %08x, want %08x", i, got, want)
		}
	}
	if row[1] != row[1] || row[4] != row[4] {
		t.Errorf("a pair of finite numbers became %v, %v", row[1], row[4])
	}
}

func TestRopeErrors(t *testing.T) {
	for _, x := range []struct {
		config    rope.Config
		arg, want string
	}{
		{rope.Config{}, "RopeConfig.Dims", "even"},
		{rope.Config{Dims: 7}, "RopeConfig.Dims", "even"},
		{rope.Config{Dims: -2}, "RopeConfig.Dims", "even"},
		{rope.Config{Dims: 4, Base: 0.5}, "RopeConfig.Base", "from 1"},
		{rope.Config{Dims: 4, Base: math.NaN()}, "RopeConfig.Base", "from 1"},
		{rope.Config{Dims: 4, Base: math.Inf(1)}, "RopeConfig.Base", "from 1"},
		{rope.Config{Dims: 4, Scaling: -1}, "RopeConfig.Stretch", "2^-32"},
		{rope.Config{Dims: 4, Scaling: math.NaN()}, "RopeConfig.Stretch", "2^-32"},
		{rope.Config{Dims: 4, Pairing: 2}, "RopeConfig.Pairs", "Halves"},
		{rope.Config{Dims: 4, Positions: -1}, "RopeConfig.Positions", "from 0"},
		{rope.Config{Dims: 4, Positions: math.MaxInt}, "RopeConfig.Positions", "from 0"},
		{rope.Config{Dims: math.MaxInt - 1}, "RopeConfig.Dims", "even"},
		{rope.Config{Dims: 4, Frequencies: []float64{}}, "RopeConfig.Frequencies", "one per pair"},
		{rope.Config{Dims: 4, Frequencies: []float64{1, math.NaN()}}, "RopeConfig.Frequencies", "2^-64"},
		{rope.Config{Dims: 4, Frequencies: []float64{1e-30, 1}}, "RopeConfig.Frequencies", "2^-64"},
	} {
		_, err := rope.New(x.config)
		wantArgument(t, fmt.Sprintf("%+v", x.config), err, x.arg, x.want)
	}
	rope := mustRope(t, rope.Config{Dims: 4})
	data := filled(100, canary)
	for _, x := range []struct {
		what      string
		x         kernel.Tensor
		positions []int
		arg, want string
	}{
		{"zero Tensor", kernel.Tensor{}, nil, "x", "head size"},
		{"short", kernel.BHLD(data[:23], 1, 2, 3, 4), []int{1, 2, 3}, "x", "24 elements"},
		{"f16", kernel.BHLD(make([]kernel.F16, 24), 1, 2, 3, 4), []int{1, 2, 3}, "x", "float32"},
		{"narrow", kernel.BHLD(data, 1, 2, 3, 3), []int{1, 2, 3}, "x", "Dims"},
		{"overlapping", kernel.Strided(data, [4]int{1, 2, 3, 4}, [3]int{0, 12, 3}), []int{1, 2, 3}, "x", "overlap"},
		{"too few positions", kernel.BHLD(data, 2, 2, 3, 4), []int{1, 2}, "positions", "3, one per row, or 6"},
		{"too many positions", kernel.BHLD(data, 2, 2, 3, 4), make([]int, 7), "positions", "3, one per row, or 6"},
	} {
		wantArgument(t, x.what, rope.Apply(x.x, x.positions), x.arg, x.want)
	}
	for _, y := range data {
		if y != canary {
			t.Fatal("x was written to")
		}
	}
	wantArgument(t, "cos", rope.CosSin(1, make([]float32, 1), make([]float32, 2)), "cos", "2, one per pair")
	wantArgument(t, "sin", rope.CosSin(1, make([]float32, 2), make([]float32, 3)), "sin", "2, one per pair")
}

// wantArgument fails unless err is an ArgumentError about arg that says want.
func wantArgument(t *testing.T, what string, err error, arg, want string) {
	t.Helper()
	var e *kernel.ArgumentError
	if !errors.As(err, &e) || e.Arg != arg || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want an ArgumentError about %s that says %q", what, err, arg, want)
	}
}

func TestRopeAllocs(t *testing.T) {
	rope := mustRope(t, rope.Config{Dims: 64, Positions: 3})
	x, positions := kernel.BHLD(make([]float32, 2*5*64), 1, 2, 5, 64), []int{0, 1, 2, 3, 4}
	apply := func() {
		if err := rope.Apply(x, positions); err != nil {
			t.Fatal(err)
		}
	}
	apply()
	if n := testing.AllocsPerRun(20, apply); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRopeConcurrent uses one Rope from many goroutines.
func TestRopeConcurrent(t *testing.T) {
	rope := mustRope(t, rope.Config{Dims: 16, Positions: 10})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for p := range repeats(60) {
				row := filled(16, 1.5)
				want := ropeRow(t, rope, row, p, rope.RotateHalf)
				if err := rope.Apply(kernel.BHLD(row, 1, 1, 1, 16), []int{p}); err != nil {
					t.Error(err)
				}
				for i := range row {
					if row[i] != want[i] {
						t.Errorf("position %d: number %d is %v, want %v", p, i, row[i], want[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRope turns a token of 40 heads of 128 numbers.
func BenchmarkRope(b *testing.B) {
	for _, pairs := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
		for _, positions := range []int{0, 4096} {
			b.Run(fmt.Sprintf("pairs=%d/positions=%d", pairs, positions), func(b *testing.B) {
				rope := mustRope(b, rope.Config{Dims: 128, Pairing: pairs, Positions: positions})
				x := kernel.BHLD(random(40*128), 1, 40, 1, 128)
				at := []int{3000}
				for b.Loop() {
					if err := rope.Apply(x, at); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
