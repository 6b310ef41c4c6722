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

type (
	activation      func(a *ukernel.Activations) func(dst, src []float32)
	gatedActivation func(a *ukernel.Activations) func(dst, gate, up []float32)
)

func siluOf(a *ukernel.Activations) func(dst, src []float32)           { return a.SiLU }
func geluOf(a *ukernel.Activations) func(dst, src []float32)           { return a.GELU }
func geluTanhOf(a *ukernel.Activations) func(dst, src []float32)       { return a.GELUTanh }
func swigluOf(a *ukernel.Activations) func(dst, gate, up []float32)    { return a.SwiGLU }
func gegluOf(a *ukernel.Activations) func(dst, gate, up []float32)     { return a.GeGLU }
func gegluTanhOf(a *ukernel.Activations) func(dst, gate, up []float32) { return a.GeGLUTanh }

// A place says where the results of a call go.
type place int

const (
	apart  place = iota
	onGate       // or on the only source
	onUp
	onBoth // gate and up are the same slice, too
	places
)

func (p place) String() string {
	return [...]string{"apart", "in place of gate", "in place of up", "all in one place"}[p]
}

// An activationCase is a call of an activation or of its gated form.
type activationCase struct {
	plain  activation
	gated  gatedActivation
	n      int
	place  place
	values testutil.Kind
}

func (c activationCase) String() string {
	return fmt.Sprintf("n=%d %v of %v", c.n, c.place, c.values)
}

func activationCases(plain activation) func(w int) []kernelCase {
	return listActivationCases(activationCase{plain: plain}, onUp)
}

func gatedCases(gated gatedActivation) func(w int) []kernelCase {
	return listActivationCases(activationCase{gated: gated}, places)
}

// listActivationCases lists cases of all kinds of numbers, all remainders and the first
// places.
func listActivationCases(c activationCase, places place) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for c.values = range testutil.Kinds {
			for _, c.n = range upTo(2*16+1, 47, 48, 49, 63, 64, 65, 1000) {
				for c.place = range places {
					list = append(list, c)
				}
			}
		}
		return list
	}
}

func (c activationCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	gate := a.Vector("gate", c.n, 0)
	c.fill(r, gate)
	dst, up := gate, gate
	if c.gated != nil && c.place != onBoth {
		up = a.Vector("up", c.n, 0)
		c.values.Fill(r, up, 1, c.n, c.n)
	}
	switch c.place {
	case apart:
		dst = a.Vector("dst", c.n, testutil.Canary)
	case onUp:
		dst = up
	}
	if c.gated != nil {
		return func(p *kernelSet) { c.gated(&p.Activations)(dst, gate, up) }
	}
	return func(p *kernelSet) { c.plain(&p.Activations)(dst, gate) }
}

// fill sets the arguments. A half of the larger numbers is brought to where the functions
// bend.
func (c activationCase) fill(r *testutil.Rand, x []float32) {
	c.values.Fill(r, x, 1, c.n, c.n)
	for i := range x {
		if c.values == testutil.Mantissas && r.IntN(2) == 0 {
			x[i] = float32(math.Remainder(float64(x[i]), 30))
		}
	}
}

var activationsAll = flag.Bool("activationsall", false, "try the activations over slices on all floats (minutes)")

// TestActivations compares the activations of every tier with package fallback: on a
// million floats of all kinds, or on all.
func TestActivations(t *testing.T) {
	step := sampling(*activationsAll, 4099, 99991)
	for _, f := range []struct {
		name  string
		plain activation
		gated gatedActivation
		want  func(x float32) float32
	}{
		{"SiLU", siluOf, swigluOf, scalar.SiLU},
		{"GELU", geluOf, gegluOf, scalar.GELU},
		{"GELUTanh", geluTanhOf, gegluTanhOf, scalar.GELUTanh},
	} {
		kernel := func(t *Tier) func(dst, src []float32) { return f.plain(t.Activations()) }
		if err := checkFunction(kernel, f.want, step); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		const factor = -1.7
		up := testutil.Filled(4096, factor)
		kernel = func(t *Tier) func(dst, src []float32) {
			return func(dst, src []float32) { f.gated(t.Activations())(dst, src, up[:len(src)]) }
		}
		if err := checkFunction(kernel, func(x float32) float32 { return float32(f.want(x) * factor) }, step); err != nil {
			t.Errorf("%s, gated: %v", f.name, err)
		}
	}
}

var activationMutants = []mutant{
	{"Activations.SiLU", "-0 becomes +0", spoilActivation(siluField, func(x, y float32) float32 { return y + 0 })},
	{"Activations.SiLU", "the exponential overflows", spoilActivation(siluField, func(x, y float32) float32 {
		if x < -88.8 {
			return float32(math.Copysign(0, -1))
		}
		return y
	})},
	{"Activations.SiLU", "a NaN becomes 0", spoilActivation(siluField, func(x, y float32) float32 {
		if x != x {
			return 0
		}
		return y
	})},
	{"Activations.GELU", "subnormals are flushed", spoilActivation(geluField, func(x, y float32) float32 {
		if math.Abs(float64(y)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(y)))
		}
		return y
	})},
	{"Activations.GELU", "is the tanh form", spoilActivation(geluField, func(x, y float32) float32 { return scalar.GELUTanh(x) })},
	{"Activations.GELU", "-Inf gives NaN", spoilActivation(geluField, func(x, y float32) float32 {
		if x == -testutil.Inf {
			return testutil.NaN
		}
		return y
	})},
	{"Activations.GELU", "the last element twice", func(p *kernelSet) {
		gelu := p.Activations.GELU
		p.Activations.GELU = func(dst, src []float32) {
			gelu(dst, src)
			if len(dst) > 1 {
				gelu(dst[len(dst)-1:], dst[len(dst)-1:])
			}
		}
	}},
	{"Activations.GELUTanh", "t is one float", spoilActivation(geluTanhField, func(x, y float32) float32 {
		if x < -5 && x > -10 {
			t := float32(x * scalar.FMA(float32(x*x), -0x1.a5a7dp-4, -0x1.26aecp1))
			return x / (1 + float32(math.Exp2(float64(t))))
		}
		return y
	})},
	{"Activations.GELUTanh", "the memory behind is written to", func(p *kernelSet) {
		gelu := p.Activations.GELUTanh
		p.Activations.GELUTanh = func(dst, src []float32) {
			gelu(dst, src)
			if len(dst) > 0 {
				*testutil.Beside(dst, len(dst)) = 0
			}
		}
	}},
	{"Activations.SwiGLU", "up is the gate", func(p *kernelSet) {
		swiglu := p.Activations.SwiGLU
		p.Activations.SwiGLU = func(dst, gate, up []float32) { swiglu(dst, up, gate) }
	}},
	{"Activations.SwiGLU", "one division", func(p *kernelSet) {
		p.Activations.SwiGLU = func(dst, gate, up []float32) {
			for i, x := range gate {
				sigmoid := scalar.SiLU(x) / x
				if x == 0 || x-x != 0 {
					dst[i] = float32(scalar.SiLU(x) * up[i])
					continue
				}
				dst[i] = float32(x*up[i]) * sigmoid
			}
		}
	}},
	{"Activations.GeGLU", "dst is written too early", func(p *kernelSet) {
		p.Activations.GeGLU = func(dst, gate, up []float32) {
			ref.Activations.GELU(dst, gate)
			for i, x := range up {
				dst[i] = float32(dst[i] * x)
			}
		}
	}},
	{"Activations.GeGLUTanh", "not gated", func(p *kernelSet) {
		p.Activations.GeGLUTanh = func(dst, gate, up []float32) { ref.Activations.GELUTanh(dst, gate) }
	}},
}

func siluField(a *ukernel.Activations) *func(dst, src []float32)     { return &a.SiLU }
func geluField(a *ukernel.Activations) *func(dst, src []float32)     { return &a.GELU }
func geluTanhField(a *ukernel.Activations) *func(dst, src []float32) { return &a.GELUTanh }

// spoilActivation replaces the results y of an activation by change(x, y).
func spoilActivation(field func(a *ukernel.Activations) *func(dst, src []float32), change func(x, y float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		kernel := field(&p.Activations)
		f := *kernel
		*kernel = func(dst, src []float32) {
			x := append([]float32(nil), src...)
			f(dst, src)
			for i := range dst {
				dst[i] = change(x[i], dst[i])
			}
		}
	}
}
