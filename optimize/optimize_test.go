package optimize_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/optimize"
)

var usual = optimize.AdamW{Rate: 3e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01}

func options(tier kernel.Tier, threads int) kernel.Exec {
	return kernel.Exec{Tier: tier, Threads: threads}
}

// A state is the weights and the means of an optimizer, with a gradient for each step.
type state struct {
	w, m, v   []float32
	gradients [][]float32
}

func newState(n, steps int) *state {
	r := testutil.Rand(n)
	s := &state{w: make([]float32, n), m: make([]float32, n), v: make([]float32, n)}
	r.Fill(s.w)
	for range steps {
		g := make([]float32, n)
		r.Fill(g)
		s.gradients = append(s.gradients, g)
	}
	return s
}

func (s *state) run(t testing.TB, o kernel.Exec) {
	for i, g := range s.gradients {
		if err := usual.Step(s.w, g, s.m, s.v, 1+i, o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStep compares all tiers and threads with the formula in float64 within the rounding of
// float32, and with each other to the bit.
func TestStep(t *testing.T) {
	contracttest.ForceThreads(t)
	const n, steps = 1001, 20
	want := newState(n, steps)
	w, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, x := range want.w {
		w[i] = float64(x)
	}
	for s, g := range want.gradients {
		for i := range w {
			x := float64(g[i])
			w[i] *= 1 - usual.Rate*usual.WeightDecay
			m[i] = usual.Beta1*m[i] + (1-usual.Beta1)*x
			v[i] = usual.Beta2*v[i] + (1-usual.Beta2)*x*x
			mean, square := m[i]/(1-math.Pow(usual.Beta1, float64(s+1))), v[i]/(1-math.Pow(usual.Beta2, float64(s+1)))
			w[i] -= usual.Rate * mean / (math.Sqrt(square) + usual.Epsilon)
		}
	}
	want.run(t, kernel.Exec{})
	for i, x := range want.w {
		if math.Abs(float64(x)-w[i]) > 20*0x1p-24*(1+math.Abs(w[i])) {
			t.Fatalf("weight %d is %v, want %v", i, x, w[i])
		}
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for threads := 1; threads <= 4; threads++ {
			s := newState(n, steps)
			s.run(t, options(tier, threads))
			testutil.CheckBits(t, fmt.Sprint("w, threads=", threads), s.w, want.w)
			testutil.CheckBits(t, fmt.Sprint("m, threads=", threads), s.m, want.m)
			testutil.CheckBits(t, fmt.Sprint("v, threads=", threads), s.v, want.v)
		}
	})
}

// TestGolden: every architecture has these bits.
func TestGolden(t *testing.T) {
	const want = "6aa19119e173bb3b6b7557c290307db12f9cb9dd954aab76e9318003cd37b5b6"
	s := newState(333, 50)
	for _, g := range s.gradients {
		if _, err := optimize.ClipNorm(5, [][]float32{g}, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t, kernel.Exec{})
	h := sha256.New()
	for _, x := range [][]float32{s.w, s.m, s.v} {
		for _, x := range x {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
}

// TestClip: above the bound the norm becomes the bound, below nothing changes.
func TestClip(t *testing.T) {
	for _, lengths := range [][]int{{}, {0}, {1}, {7, 8, 9}, {100, 3}} {
		var all [][]float32
		sum := 0.0
		for _, n := range lengths {
			g := testutil.Floats(n)
			for _, x := range g {
				sum += float64(x) * float64(x)
			}
			all = append(all, g)
		}
		want := math.Sqrt(sum)
		for _, most := range []float32{1000, 0.5} {
			got, err := optimize.ClipNorm(most, all, kernel.Exec{})
			if err != nil || math.Abs(float64(got)-want) > 1e-6*want {
				t.Fatalf("%v: norm %v, error %v, want %v", lengths, got, err, want)
			}
			after := 0.0
			for i, g := range all {
				for k, x := range g {
					before := testutil.Floats(lengths[i])[k]
					if want <= float64(most) && x != before {
						t.Fatalf("%v: %v became %v", lengths, before, x)
					}
					after += float64(x) * float64(x)
				}
			}
			if want := min(want, float64(most)); math.Abs(math.Sqrt(after)-want) > 1e-5 {
				t.Fatalf("%v, at most %v: the norm is %v afterwards", lengths, most, math.Sqrt(after))
			}
		}
	}
	for _, bad := range []float32{testutil.NaN, testutil.Inf} {
		g := []float32{1, bad, 100}
		norm, err := optimize.ClipNorm(1, [][]float32{g}, kernel.Exec{})
		if err != nil || norm <= math.MaxFloat32 || g[0] != 1 || g[2] != 100 {
			t.Errorf("%v: norm %v, error %v, gradients %v", bad, norm, err, g)
		}
	}
}

// TestClipThreads: threads change no bit of the norm and of gradients that are scaled.
func TestClipThreads(t *testing.T) {
	contracttest.ForceThreads(t)
	lengths := []int{5000, 0, 1, 4096, 9001, 33}
	var norm float32
	var want [][]float32
	for threads := 1; threads <= 4; threads++ {
		var all [][]float32
		for i, n := range lengths {
			all = append(all, testutil.Floats(n + i)[i:])
		}
		got, err := optimize.ClipNorm(0.7, all, kernel.Exec{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if threads == 1 {
			norm, want = got, all
			factor := float32(float64(float32(0.7)) / float64(norm))
			for i, g := range all {
				for k, before := range testutil.Floats(lengths[i] + i)[i:] {
					if x := factor * before; math.Abs(float64(g[k]-x)) > 1e-6*math.Abs(float64(x)) {
						t.Fatalf("gradients[%d][%d] is %v, want %v", i, k, g[k], x)
					}
				}
			}
		}
		if got != norm {
			t.Errorf("threads=%d: norm %v, want %v", threads, got, norm)
		}
		for i, g := range all {
			testutil.CheckBits(t, fmt.Sprintf("threads=%d, gradients[%d]", threads, i), g, want[i])
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	s := newState(1000, 1)
	all := [][]float32{s.gradients[0]}
	for threads := 1; threads <= 3; threads++ {
		testutil.CheckNoMallocs(t, fmt.Sprint("threads=", threads), 20, func() {
			s.run(t, options(kernel.Tier{}, threads))
			if _, err := optimize.ClipNorm(1, all, kernel.Exec{Threads: threads}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestErrors: what does not fit is named, and nothing is touched.
func TestErrors(t *testing.T) {
	memory := testutil.Filled(100, 7)
	type call struct {
		a          optimize.AdamW
		w, g, m, v []float32
		step       int
		o          kernel.Exec
	}
	for _, c := range []struct {
		arg, want string
		spoil     func(c *call)
	}{
		{"AdamW.Rate", "0 or more", func(c *call) { c.a.Rate = -1 }},
		{"AdamW.Rate", "finite", func(c *call) { c.a.Rate = math.NaN() }},
		{"AdamW.Beta1", "below 1", func(c *call) { c.a.Beta1 = 1 }},
		{"AdamW.Beta2", "below 1", func(c *call) { c.a.Beta2 = -0.1 }},
		{"AdamW.Epsilon", "above 0", func(c *call) { c.a.Epsilon = 0 }},
		{"AdamW.WeightDecay", "at most 1", func(c *call) { c.a.WeightDecay = 1e9 }},
		{"step", "at least 1", func(c *call) { c.step = 0 }},
		{"g", "length 10, that of w", func(c *call) { c.g = memory[10:19] }},
		{"w", "memory of its own", func(c *call) { c.m = memory[5:15] }},
		{"m", "memory of its own", func(c *call) { c.v = c.m }},
		{"exec.Threads", "at least 1", func(c *call) { c.o.Threads = -1 }},
	} {
		x := call{usual, memory[:10], memory[10:20], memory[20:30], memory[30:40], 1, kernel.Exec{}}
		c.spoil(&x)
		err := x.a.Step(x.w, x.g, x.m, x.v, x.step, x.o)
		contracttest.CheckArgument(t, c.want, err, c.arg, c.want)
	}
	_, err := optimize.ClipNorm(0, [][]float32{memory}, kernel.Exec{})
	contracttest.CheckArgument(t, "most", err, "most", "above 0")
	_, err = optimize.ClipNorm(1, [][]float32{memory}, kernel.Exec{Threads: -1})
	contracttest.CheckArgument(t, "threads", err, "exec.Threads", "at least 1")
	_, err = optimize.ClipNorm(1, [][]float32{memory[:5], memory[4:9]}, kernel.Exec{})
	contracttest.CheckArgument(t, "overlap", err, "gradients[1]", "memory of its own")
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(100, 7))
}

// BenchmarkStep reports the GB/s that a step reads and writes: 28 bytes for a weight.
func BenchmarkStep(b *testing.B) {
	s := newState(1<<18, 1)
	for b.Loop() {
		s.run(b, options(kernel.Tier{}, 1))
	}
	b.ReportMetric(28*float64(len(s.w))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
}

// BenchmarkClip reports the GB/s of gradients whose norm is below the bound.
func BenchmarkClip(b *testing.B) {
	g := testutil.Floats(1 << 18)
	for b.Loop() {
		if _, err := optimize.ClipNorm(1e9, [][]float32{g}, kernel.Exec{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(4*float64(len(g))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
}

// TestMeansEnd: the means of a weight that gets no gradient any more, and a weight that
// decays, end at +0. Rounded, 0.9 times 4 units of the last place are 4 units.
func TestMeansEnd(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		a := optimize.AdamW{Rate: 1e-3, Beta1: 0.9, Beta2: 0.9, Epsilon: 1e-8, WeightDecay: 1}
		const n = 21
		w, g, m, v := make([]float32, n), testutil.Filled(n, 1e-3), make([]float32, n), make([]float32, n)
		for step := 1; step <= 10000; step++ {
			if step == 2 {
				clear(g)
			}
			if step == 2000 { // the means are 0, and change w no more
				for i := range w {
					w[i] = float32(i%2*2-1) * 1e-36
				}
			}
			if err := a.Step(w, g, m, v, step, options(tier, 1)); err != nil {
				t.Fatal(err)
			}
		}
		zeros := make([]float32, n)
		testutil.CheckBits(t, "m", m, zeros)
		testutil.CheckBits(t, "v", v, zeros)
		testutil.CheckBits(t, "w", w, zeros)
	})
}
