package tier

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// A softcapCase is a call of Softcap.
type softcapCase struct {
	n, gap int
	limit  float32
	values testutil.Kind
}

func (c softcapCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d limit=%v of %v", c.n, c.gap, c.limit, c.values)
}

func softcapCases(int) (list []kernelCase) {
	for _, limit := range []float32{1, 43.280853, 0x1p-126, 3e-20, 1e30, math.MaxFloat32} {
		for v := range testutil.Kinds {
			for _, n := range upTo(20, 256) {
				list = append(list, softcapCase{n, len(list) & 1 * 3, limit, v})
			}
		}
	}
	return list
}

func (c softcapCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ld := w + c.gap
	s := a.Matrix("s", c.n, w, ld, testutil.Canary)
	c.values.Fill(r, s, c.n, w, ld)
	if c.values == testutil.Mantissas { // where tanh bends
		for i := range s {
			s[i] *= c.limit / 64
		}
	}
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *kernelSet) { p.Softcap(s, ld, c.n, c.limit, 1/c.limit, top) }
}

// A functionCase is a call of a function over slices.
type functionCase struct {
	kernel  sliceFunction
	n       int
	inPlace bool
	values  testutil.Kind
}

type sliceFunction func(f *ukernel.Elementwise) func(dst, src []float32)

func exp2Of(f *ukernel.Elementwise) func(dst, src []float32) { return f.Exp2 }
func tanhOf(f *ukernel.Elementwise) func(dst, src []float32) { return f.Tanh }

func (c functionCase) String() string {
	return fmt.Sprintf("n=%d in place=%v of %v", c.n, c.inPlace, c.values)
}

func functionCases(kernel sliceFunction) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for _, n := range upTo(3*16+1, 63, 64, 65, 1000) {
				list = append(list, functionCase{kernel, n, false, v}, functionCase{kernel, n, true, v})
			}
		}
		return list
	}
}

func (c functionCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	src := a.Vector("src", c.n, 0)
	c.values.Fill(r, src, 1, c.n, c.n)
	dst := src
	if !c.inPlace {
		dst = a.Vector("dst", c.n, testutil.Canary)
	}
	return func(p *kernelSet) { c.kernel(&p.Elementwise)(dst, src) }
}

var functionsAll = flag.Bool("functionsall", false, "try exp2 and tanh over slices on all floats (minutes)")

// TestFunctions compares exp2 and tanh of every tier with package fallback: on a
// million floats of all kinds, or on all.
func TestFunctions(t *testing.T) {
	step := sampling(*functionsAll, 4099, 99991)
	for _, f := range []struct {
		name   string
		kernel sliceFunction
		want   func(x float32) float32
	}{{"Elementwise.Exp2", exp2Of, scalar.Exp2}, {"Elementwise.Tanh", tanhOf, scalar.Tanh}} {
		kernel := func(t *Tier) func(dst, src []float32) { return f.kernel(t.Elementwise()) }
		if err := checkFunction(kernel, f.want, step); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// checkFunction compares a function of every tier with want on floats whose bits are
// step apart.
func checkFunction(kernel func(t *Tier) func(dst, src []float32), want func(x float32) float32, step uint64) error {
	var x, y, dst [4096]float32
	for bits := uint64(0); bits < 1<<32; {
		n := 0
		for ; n < len(x) && bits < 1<<32; n++ {
			x[n] = math.Float32frombits(uint32(bits))
			y[n] = want(x[n])
			bits += step
		}
		var err error
		eachTier(func(t *Tier) {
			kernel(t)(dst[:n], x[:n])
			for i, got := range dst[:n] {
				if !testutil.SameBits(got, y[i]) {
					err = fmt.Errorf("tier=%s: of %v (%08x) is %v, want %v", t.Name, x[i], math.Float32bits(x[i]), got, y[i])
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var functionMutants = []mutant{
	{"Softcap", "divides", func(p *kernelSet) {
		p.Softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			for j := range n {
				for lane, m := range max {
					x := &s[j*ld+lane]
					if *x = float32(limit * scalar.Tanh(*x/limit)); *x > m {
						max[lane] = *x
					}
				}
			}
		}
	}},
	{"Softcap", "NaN counts", func(p *kernelSet) {
		softcap := p.Softcap
		p.Softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			softcap(s, ld, n, limit, inv, max)
			for j := range n {
				if s[j*ld] != s[j*ld] {
					max[0] = testutil.NaN
				}
			}
		}
	}},
	{"Softcap", "the memory behind is written to", func(p *kernelSet) {
		softcap := p.Softcap
		p.Softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			softcap(s, ld, n, limit, inv, max)
			if n > 0 {
				*testutil.Beside(s, len(s)) = 0
			}
		}
	}},
	{"Elementwise.Tanh", "-0 becomes +0", spoilFunction(func(f *ukernel.Elementwise) *func(dst, src []float32) { return &f.Tanh }, func(x, y float32) float32 {
		return y + 0
	})},
	{"Elementwise.Tanh", "subnormals are flushed", spoilFunction(func(f *ukernel.Elementwise) *func(dst, src []float32) { return &f.Tanh }, func(x, y float32) float32 {
		if math.Abs(float64(y)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(y)))
		}
		return y
	})},
	{"Elementwise.Exp2", "weights below the cut-off", spoilFunction(func(f *ukernel.Elementwise) *func(dst, src []float32) { return &f.Exp2 }, func(x, y float32) float32 {
		if x < -126 && x > -150 {
			return math.Float32frombits(1)
		}
		return y
	})},
	{"Elementwise.Exp2", "NaN where it should be +Inf", spoilFunction(func(f *ukernel.Elementwise) *func(dst, src []float32) { return &f.Exp2 }, func(x, y float32) float32 {
		if x == testutil.Inf {
			return testutil.NaN
		}
		return y
	})},
	{"Elementwise.Exp2", "the last element twice", func(p *kernelSet) {
		exp2 := p.Elementwise.Exp2
		p.Elementwise.Exp2 = func(dst, src []float32) {
			exp2(dst, src)
			if len(dst) > 1 {
				exp2(dst[len(dst)-1:], dst[len(dst)-1:])
			}
		}
	}},
}

// spoilFunction replaces the results y of a function over slices by change(x, y).
func spoilFunction(kernel func(f *ukernel.Elementwise) *func(dst, src []float32), change func(x, y float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		field := kernel(&p.Elementwise)
		f := *field
		*field = func(dst, src []float32) {
			x := append([]float32(nil), src...)
			f(dst, src)
			for i := range dst {
				dst[i] = change(x[i], dst[i])
			}
		}
	}
}

// An additiveCase is a call of Additive.
type additiveCase struct {
	n, m, hidden int
	gap          int // between rows of q, k and s
	values       testutil.Kind
}

func (c additiveCase) String() string {
	return fmt.Sprintf("n=%d m=%d hidden=%d gap=%d of %v", c.n, c.m, c.hidden, c.gap, c.values)
}

func additiveCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, hidden := range []int{0, 16, 32, 48, 160} {
			for _, n := range upTo(3, 5) {
				for _, m := range upTo(3, 7) {
					list = append(list, additiveCase{n, m, hidden, len(list) % 3, v})
				}
			}
		}
	}
	return list
}

func (c additiveCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ld := c.hidden
	if ld > 0 {
		ld += c.gap
	}
	q, k, s := a.Matrix("q", c.n, c.hidden, ld, testutil.NaN), a.Matrix("k", c.m, c.hidden, ld, testutil.NaN), a.Matrix("s", c.m, c.n, c.n+c.gap, testutil.Canary)
	c.values.Fill(r, q, c.n, c.hidden, ld)
	c.values.Fill(r, k, c.m, c.hidden, ld)
	weights := a.Vector("weights", c.hidden, 0)
	c.values.Fill(r, weights, 1, c.hidden, c.hidden)
	return func(p *kernelSet) { p.Skinny.Additive(s, c.n+c.gap, q, ld, k, ld, c.n, c.m, weights, k) }
}

// spoilAdditive replaces the last score of a call by f, another sum of the products of
// weights and tanhs.
func spoilAdditive(f func(weights, tanhs []float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		additive := p.Skinny.Additive
		p.Skinny.Additive = func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32) {
			additive(s, ld, q, ldq, k, ldk, n, m, weights, next)
			if n == 0 || m == 0 || len(weights) == 0 {
				return
			}
			tanhs := make([]float32, len(weights))
			for x := range tanhs {
				tanhs[x] = scalar.Tanh(q[(n-1)*ldq+x] + k[(m-1)*ldk+x])
			}
			s[(m-1)*ld+n-1] = f(weights, tanhs)
		}
	}
}

var additiveMutants = []mutant{
	{"Skinny.Additive", "one chain", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc := float32(0)
		for x, w := range weights {
			acc = scalar.FMA(w, tanhs[x], acc)
		}
		return acc
	})},
	{"Skinny.Additive", "products are rounded", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc := make([]float32, 16)
		for x, w := range weights {
			acc[x%16] += float32(w * tanhs[x])
		}
		return halves(acc)
	})},
	{"Skinny.Additive", "neighbours are added first", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc, turned := make([]float32, 16), make([]float32, 16)
		for x, w := range weights {
			acc[x%16] = scalar.FMA(w, tanhs[x], acc[x%16])
		}
		for r, sum := range acc {
			turned[r>>3|r>>1&2|r<<1&4|r<<3&8] = sum
		}
		return halves(turned)
	})},
	{"Skinny.Additive", "a gap is written to", func(p *kernelSet) {
		additive := p.Skinny.Additive
		p.Skinny.Additive = func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32) {
			additive(s, ld, q, ldq, k, ldk, n, m, weights, next)
			if m > 1 && ld > n {
				s[n] = 0
			}
		}
	}},
}

// halves adds the upper half of 16 sums to the lower one until one is left.
func halves(acc []float32) float32 {
	for half := 8; half > 0; half /= 2 {
		for r := range half {
			acc[r] += acc[r+half]
		}
	}
	return acc[0]
}
