package activation_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A gradient is a function with its gradients, its definition in float64, and the slope of the
// contract.
type gradient struct {
	name     string
	forward  func(dst, src []float32, exec kernel.Exec) error
	backward func(dx, dy, x []float32, exec kernel.Exec) error
	gated    func(dgate, dup, dy, gate, up []float32, exec kernel.Exec) error
	exact    func(x float64) float64
	slope    func(x, f, minus float32) float32 // f is the function of x, minus the function of -x
}

func ratio(f, x float32) float32 {
	if x == 0 {
		return 0.5
	}
	return f / x
}

var gradients = []gradient{
	{"SiLU", activation.SiLU, activation.SiLUBackward, activation.SwiGLUBackward,
		func(x float64) float64 { return x / (1 + math.Exp(-x)) },
		func(x, f, minus float32) float32 { return float32(ratio(f, x) * float32(1-minus)) }},
	{"GELU", activation.GELU, activation.GELUBackward, activation.GeGLUBackward,
		func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) },
		func(x, f, _ float32) float32 {
			density := float32(numeric.Exp2(float32(float32(x*x)*math.Float32frombits(0xbf38aa3b))) * math.Float32frombits(0x3ecc422a))
			return ratio(f, x) + float32(x*density)
		}},
	{"GELUTanh", activation.GELUTanh, activation.GELUTanhBackward, activation.GeGLUTanhBackward,
		func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) },
		func(x, f, minus float32) float32 {
			u := math.Float32frombits(0x3fcc422a) + float32(float32(x*x)*math.Float32frombits(0x3e5b33b6))
			return float32(ratio(f, x) * float32(1-float32(minus*u)))
		}},
}

// gradientPoints are arguments of both signs, steep and flat, with extremes among them.
func gradientPoints() []float32 {
	x := []float32{0, float32(math.Copysign(0, -1)), 1e-40, -1e-40, 1e-30, 99, -99, 101, -101, math.MaxFloat32, -math.MaxFloat32, testutil.Inf, -testutil.Inf, testutil.NaN}
	for i := -1200; i <= 1200; i++ {
		x = append(x, float32(i)/100)
	}
	return x
}

// TestSlopes compares with the contract, on every tier, and with the derivative in float64.
func TestSlopes(t *testing.T) {
	x := gradientPoints()
	dy, up := testutil.Floats(len(x)), testutil.Floats(len(x) + 1)[1:]
	minus := make([]float32, len(x))
	for i, x := range x {
		minus[i] = -x
	}
	for _, g := range gradients {
		contracttest.EachDefault(t, func(t *testing.T) {
			f, m := make([]float32, len(x)), make([]float32, len(x))
			for _, err := range []error{g.forward(f, x, kernel.Exec{}), g.forward(m, minus, kernel.Exec{})} {
				if err != nil {
					t.Fatal(err)
				}
			}
			want, wantGate, wantUp := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
			for i, x := range x {
				slope := g.slope(x, f[i], m[i])
				switch {
				case x > 100:
					slope = 1
				case x < -100:
					slope = 0
				}
				want[i], wantGate[i], wantUp[i] = dy[i]*slope, float32(dy[i]*up[i])*slope, dy[i]*f[i]
				if math.Abs(float64(x)) > 50 || x != x {
					continue
				}
				const h = 1e-5
				exact := (g.exact(float64(x)+h) - g.exact(float64(x)-h)) / (2 * h)
				if math.Abs(float64(slope)-exact) > 5e-7 {
					t.Errorf("%s: the slope at %v is %v, want %v", g.name, x, slope, exact)
				}
			}
			dx, dgate, dup := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
			if err := g.backward(dx, dy, x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, g.name, dx, want)
			if err := g.gated(dgate, dup, dy, x, up, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, g.name+" of gate", dgate, wantGate)
			testutil.CheckBits(t, g.name+" of up", dup, wantUp)
			// In place: dx in x or dy, and the gated ones in each pair of slices.
			inX, inDY := append([]float32(nil), x...), append([]float32(nil), dy...)
			if err := g.backward(inX, dy, inX, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			if err := g.backward(inDY, inDY, x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, g.name+" in x", inX, want)
			testutil.CheckBits(t, g.name+" in dy", inDY, want)
			for a := range 3 {
				for b := range 3 {
					if a == b {
						continue
					}
					s := [3][]float32{append([]float32(nil), x...), append([]float32(nil), up...), append([]float32(nil), dy...)}
					if err := g.gated(s[a], s[b], s[2], s[0], s[1], kernel.Exec{}); err != nil {
						t.Fatal(err)
					}
					testutil.CheckBits(t, g.name+" in place, of gate", s[a], wantGate)
					testutil.CheckBits(t, g.name+" in place, of up", s[b], wantUp)
				}
			}
		})
	}
}

// TestSlopesGolden: every tier and architecture has these bits.
func TestSlopesGolden(t *testing.T) {
	const want = "71fab9f117768edcd3522fab09fbcde83d03ef65dcb2fced85d6f21d4a05e19d"
	contracttest.EachDefault(t, func(t *testing.T) {
		h := sha256.New()
		x := testutil.Floats(2000)
		for i := range x {
			x[i] *= 5
		}
		dx := make([]float32, len(x))
		for _, g := range gradients {
			if err := g.backward(dx, x, x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			for _, y := range dx {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
			}
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("sha256 %s, want %s", got, want)
		}
	})
}

func TestSlopeErrors(t *testing.T) {
	memory := testutil.Filled(100, 7)
	part := func(at int) []float32 { return memory[at : at+9] }
	for _, g := range gradients {
		contracttest.CheckArgument(t, g.name, g.backward(memory[:8], part(20), part(10), kernel.Exec{}), "dx", "length 9")
		contracttest.CheckArgument(t, g.name, g.backward(part(0), memory[20:28], part(10), kernel.Exec{}), "dy", "length 9")
		contracttest.CheckArgument(t, g.name, g.backward(part(11), part(20), part(10), kernel.Exec{}), "dx", "x itself")
		contracttest.CheckArgument(t, g.name, g.gated(part(0), part(0), part(40), part(20), part(30), kernel.Exec{}), "dgate", "memory of its own")
		contracttest.CheckArgument(t, g.name, g.gated(part(0), part(10), memory[40:48], part(20), part(30), kernel.Exec{}), "dy", "length 9")
		contracttest.CheckArgument(t, g.name, g.gated(part(0), part(29), part(40), part(20), part(30), kernel.Exec{}), "dup", "up itself")
	}
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(100, 7))
}

func TestSlopesAllocateNothing(t *testing.T) {
	x, dx, dup := testutil.Floats(3000), make([]float32, 3000), make([]float32, 3000)
	for _, g := range gradients {
		testutil.CheckNoMallocs(t, g.name, 20, func() {
			if err := g.backward(dx, x, x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			if err := g.gated(dx, dup, x, x, x, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// BenchmarkSlopes reports the GB/s of x, dy and dx.
func BenchmarkSlopes(b *testing.B) {
	x, dx := testutil.Floats(1<<14), make([]float32, 1<<14)
	for _, g := range gradients {
		b.Run(g.name, func(b *testing.B) {
			for b.Loop() {
				if err := g.backward(dx, x, x, kernel.Exec{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(12*float64(len(x))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
		})
	}
}
