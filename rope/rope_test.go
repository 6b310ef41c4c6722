package rope_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
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

func mustNew(t testing.TB, c rope.Config) *rope.Rope {
	t.Helper()
	r, err := rope.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// somePositions are small, large and extreme ones.
func somePositions() []int {
	list := []int{0, 1, 2, 3, 5, 100, 511, 512, 4095, 131071, 1<<20 + 7, 1<<31 - 1, -1, -2, -1000, -1 << 31}
	r := testutil.Rand(5)
	for range 60 {
		list = append(list, int(r.Uint64()>>33)>>uint(r.IntN(31)))
	}
	if testutil.Quick() {
		return list[:30]
	}
	return list
}

// Cosines and sines are exact angles': of frequencies that are powers of ten, a thousandth of one,
// or float64.
func TestCosSin(t *testing.T) {
	a := newBigAngle()
	worst := 0.0
	check := func(c rope.Config, frequency func(i int) *big.Float) {
		r := mustNew(t, c)
		cos, sin := make([]float32, c.Dims/2), make([]float32, c.Dims/2)
		for _, p := range somePositions() {
			if err := r.CosSin(p, cos, sin); err != nil {
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
	check(rope.Config{Dims: 4, Frequencies: []float64{1, -0.3}, Scaling: 8}, func(i int) *big.Float { return bigFloat([]float64{1, -0.3}[i] / 8) })
	t.Logf("largest error %.7f ulp", worst)
}

// The bits of cosines and sines are the same on every architecture.
func TestGolden(t *testing.T) {
	for name, x := range map[string]struct {
		config rope.Config
		want   string
	}{
		"bytes model": {rope.Config{Dims: 32, Base: 10000}, "af6ac4106971bacaa18f737a05266de399bf2e44e99bceabd49136251dc958e0"},
		"llama 3":     {rope.Config{Dims: 128, Base: 500000}, "9df8fae18ab7daafd740e54927c518bf4d7ce8877c2b5f44bc60667577e238b2"},
		"scaled":      {rope.Config{Dims: 80, Base: 1e6, Scaling: 3.7}, "821c63a64f843372c2e65f3a867ad2e53e960223ceeb1389b8fa4e4736abc552"},
		"frequencies": {rope.Config{Dims: 6, Frequencies: []float64{1, -0.3, 1e-5}}, "fd3a59b2de20a917c0f1ffce0158caf7ff9bd32ed8f4bb09a7856fae474b9517"},
	} {
		h := sha256.New()
		r := mustNew(t, x.config)
		n := r.Dims() / 2
		row := make([]float32, 2*n) // cosines, sines
		for p := range 2000 {
			if p >= 1000 {
				p *= -1000003
			}
			if err := r.CosSin(p, row[:n], row[n:]); err != nil {
				t.Fatal(err)
			}
			for _, y := range row {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
			}
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != x.want {
			t.Errorf("%s: sha256 %s, want %s", name, got, x.want)
		}
	}
}

// Rows of every layout are rotated as the definition says, and nothing else changes.
func TestApply(t *testing.T) {
	contracttest.ForceThreads(t)
	random := testutil.Rand(3)
	for _, pairing := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
		for layout := range contracttest.Layouts {
			for _, dims := range []int{2, 6, 10} {
				for _, perBatch := range []bool{false, true} {
					c := contracttest.Case{Layout: layout}
					x := c.Tensor(3, 2, 4, 10, testutil.Canary)
					contracttest.EachRow(&x, func(_, _, _ int, row []float32) { random.Fill(row) })
					positions := []int{7, 0, 1 << 30, -3}
					if perBatch {
						positions = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
					}
					r := mustNew(t, rope.Config{Dims: dims, Pairing: pairing, Positions: 6})
					want := c.Tensor(3, 2, 4, 10, testutil.Canary)
					contracttest.EachRow(&want, func(b, h, l int, row []float32) {
						p := positions[l]
						if perBatch {
							p = positions[4*b+l]
						}
						copy(row, rotated(t, r, contracttest.Row(&x, b, h, l), p, pairing))
					})
					if err := r.Apply(x, positions, kernel.Exec{Threads: 1 + int(layout)%3}); err != nil {
						t.Fatal(err)
					}
					contracttest.CheckGaps(t, &x)
					contracttest.Same(t, fmt.Sprintf("pairing %d layout %d dims %d", pairing, layout, dims), &x, &want)
				}
			}
		}
	}
}

// rotated is the definition of Apply for one row.
func rotated(t testing.TB, r *rope.Rope, row []float32, position int, pairing rope.Pairing) []float32 {
	n := r.Dims() / 2
	cos, sin := make([]float32, n), make([]float32, n)
	if err := r.CosSin(position, cos, sin); err != nil {
		t.Fatal(err)
	}
	y := append([]float32(nil), row...)
	for i := range n {
		a, b := i, i+n
		if pairing == rope.Interleaved {
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

// NaN and Inf give the canonical NaN, in their pair alone.
func TestNaN(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 6})
	row := []float32{math.Float32frombits(0xffc01234), 1, testutil.Inf, 2, 3, -testutil.Inf}
	if err := r.Apply(kernel.BHLD(row, 1, 1, 1, 6), []int{1}, kernel.Exec{}); err != nil {
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

// A warm call allocates nothing, with positions in the table and others.
func TestApplyAllocatesNothing(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 64, Positions: 3})
	x, positions := kernel.BHLD(make([]float32, 2*5*64), 1, 2, 5, 64), []int{0, 1, 2, 3, 4}
	testutil.CheckNoMallocs(t, "Apply", 100, func() {
		if err := r.Apply(x, positions, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
	})
}

// Many goroutines use one Rope.
func TestConcurrent(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 16, Positions: 10})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			t := testutil.Goroutine(t)
			for p := range contracttest.Repeats(60) {
				row := testutil.Filled(16, 1.5)
				want := rotated(t, r, row, p, rope.RotateHalf)
				if err := r.Apply(kernel.BHLD(row, 1, 1, 1, 16), []int{p}, kernel.Exec{}); err != nil {
					t.Fatal(err)
				}
				contracttest.SameRow(t, fmt.Sprintf("position %d", p), row, want)
			}
		})
	}
	wg.Wait()
}

// BenchmarkRope rotates a token of 40 heads of 128 numbers.
func BenchmarkRope(b *testing.B) {
	for _, pairing := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
		for _, positions := range []int{0, 4096} {
			b.Run(fmt.Sprintf("pairing=%d/positions=%d", pairing, positions), func(b *testing.B) {
				r := mustNew(b, rope.Config{Dims: 128, Pairing: pairing, Positions: positions})
				x := kernel.BHLD(testutil.Floats(40*128), 1, 40, 1, 128)
				at := []int{3000}
				for b.Loop() {
					if err := r.Apply(x, at, kernel.Exec{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
