package kernel

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
)

// A softcapCase is a call of softcap.
type softcapCase struct {
	n, gap int
	limit  float32
	values values
}

func (c softcapCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d limit=%v of %v", c.n, c.gap, c.limit, c.values)
}

func softcapCases(int) (list []microCase) {
	for _, limit := range []float32{1, 43.280853, 0x1p-126, 3e-20, 1e30, math.MaxFloat32} {
		for v := range valueKinds {
			for _, n := range upTo(20, 256) {
				list = append(list, softcapCase{n, len(list) & 1 * 3, limit, v})
			}
		}
	}
	return list
}

func (c softcapCase) call(a *arena, r *rng, w int) func(p *panelKernels) {
	ld := w + c.gap
	s := a.matrix("s", c.n, w, ld, canary)
	c.values.fill(r, s, c.n, w, ld)
	if c.values == mantissas { // where tanh bends
		for i := range s {
			s[i] *= c.limit / 64
		}
	}
	top := a.vector("max", w, 0)
	maxima(r, top, c.values)
	return func(p *panelKernels) { p.softcap(s, ld, c.n, c.limit, 1/c.limit, top) }
}

// A functionCase is a call of a function over slices.
type functionCase struct {
	kernel  sliceFunction
	n       int
	inPlace bool
	values  values
}

type sliceFunction func(f *functions) func(dst, src []float32)

func exp2Of(f *functions) func(dst, src []float32) { return f.exp2 }
func tanhOf(f *functions) func(dst, src []float32) { return f.tanh }

func (c functionCase) String() string {
	return fmt.Sprintf("n=%d in place=%v of %v", c.n, c.inPlace, c.values)
}

func functionCases(kernel sliceFunction) func(w int) []microCase {
	return func(int) (list []microCase) {
		for v := range valueKinds {
			for _, n := range upTo(3*16+1, 63, 64, 65, 1000) {
				list = append(list, functionCase{kernel, n, false, v}, functionCase{kernel, n, true, v})
			}
		}
		return list
	}
}

func (c functionCase) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	src := a.vector("src", c.n, 0)
	c.values.fill(r, src, 1, c.n, c.n)
	dst := src
	if !c.inPlace {
		dst = a.vector("dst", c.n, canary)
	}
	return func(p *panelKernels) { c.kernel(&p.functions)(dst, src) }
}

var functionsAll = flag.Bool("functionsall", false, "try exp2 and tanh over slices on all floats (minutes)")

// TestFunctions compares exp2 and tanh of every tier with package fallback: on a
// million floats of all kinds, or on all.
func TestFunctions(t *testing.T) {
	step := uint64(4099)
	switch {
	case *functionsAll:
		step = 1
	case thin():
		step = 99991
	}
	for _, f := range []struct {
		name   string
		kernel sliceFunction
		want   func(x float32) float32
	}{{"exp2", exp2Of, fallback.Exp2}, {"tanh", tanhOf, fallback.Tanh}} {
		if err := checkFunction(f.kernel, f.want, step); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// checkFunction compares a function of every tier with want on floats whose bits are
// step apart.
func checkFunction(kernel sliceFunction, want func(x float32) float32, step uint64) error {
	var x, y, dst [4096]float32
	for bits := uint64(0); bits < 1<<32; {
		n := 0
		for ; n < len(x) && bits < 1<<32; n++ {
			x[n] = math.Float32frombits(uint32(bits))
			y[n] = want(x[n])
			bits += step
		}
		var err error
		eachKernels(func(tier string, p *panelKernels) {
			kernel(&p.functions)(dst[:n], x[:n])
			for i, got := range dst[:n] {
				if !sameBits(got, y[i]) {
					err = fmt.Errorf("tier=%s/lanes=%d: of %v (%08x) is %v, want %v", tier, p.lanes, x[i], math.Float32bits(x[i]), got, y[i])
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
	{"softcap", "divides", func(p *panelKernels) {
		p.softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			for j := range n {
				for lane, m := range max {
					x := &s[j*ld+lane]
					if *x = float32(limit * fallback.Tanh(*x/limit)); *x > m {
						max[lane] = *x
					}
				}
			}
		}
	}},
	{"softcap", "NaN counts", func(p *panelKernels) {
		softcap := p.softcap
		p.softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			softcap(s, ld, n, limit, inv, max)
			for j := range n {
				if s[j*ld] != s[j*ld] {
					max[0] = nan32
				}
			}
		}
	}},
	{"softcap", "the memory behind is written to", func(p *panelKernels) {
		softcap := p.softcap
		p.softcap = func(s []float32, ld, n int, limit, inv float32, max []float32) {
			softcap(s, ld, n, limit, inv, max)
			if n > 0 {
				*beside(s, len(s)) = 0
			}
		}
	}},
	{"tanh", "-0 becomes +0", spoilFunction(func(f *functions) *func(dst, src []float32) { return &f.tanh }, func(x, y float32) float32 {
		return y + 0
	})},
	{"tanh", "subnormals are flushed", spoilFunction(func(f *functions) *func(dst, src []float32) { return &f.tanh }, func(x, y float32) float32 {
		if math.Abs(float64(y)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(y)))
		}
		return y
	})},
	{"exp2", "weights below the cut-off", spoilFunction(func(f *functions) *func(dst, src []float32) { return &f.exp2 }, func(x, y float32) float32 {
		if x < -126 && x > -150 {
			return math.Float32frombits(1)
		}
		return y
	})},
	{"exp2", "NaN where it should be +Inf", spoilFunction(func(f *functions) *func(dst, src []float32) { return &f.exp2 }, func(x, y float32) float32 {
		if x == inf32 {
			return nan32
		}
		return y
	})},
	{"exp2", "the last element twice", func(p *panelKernels) {
		exp2 := p.exp2
		p.exp2 = func(dst, src []float32) {
			exp2(dst, src)
			if len(dst) > 1 {
				exp2(dst[len(dst)-1:], dst[len(dst)-1:])
			}
		}
	}},
}

// spoilFunction changes what a function over slices makes of x.
func spoilFunction(kernel func(f *functions) *func(dst, src []float32), change func(x, y float32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		field := kernel(&p.functions)
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
