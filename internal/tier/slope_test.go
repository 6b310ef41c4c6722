package tier

import (
	"math"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// A slopeField is the kernel of an activation and its slope.
type slopeField func(a *ukernel.Activations) *func(f, slope, src []float32)

func siluSlopeField(a *ukernel.Activations) *func(f, slope, src []float32) { return &a.SiLUSlope }
func geluSlopeField(a *ukernel.Activations) *func(f, slope, src []float32) { return &a.GELUSlope }
func geluTanhSlopeField(a *ukernel.Activations) *func(f, slope, src []float32) {
	return &a.GELUTanhSlope
}

// A slopeCase is a call of one. Its place is where f lies, or, onUp, where the slope does.
type slopeCase struct {
	activationCase
	field slopeField
}

func slopeCases(field slopeField) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		for _, c := range listActivationCases(activationCase{}, onBoth)(w) {
			list = append(list, slopeCase{c.(activationCase), field})
		}
		return list
	}
}

func (c slopeCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	src := a.Vector("src", c.n, 0)
	c.fill(r, src)
	f, slope := src, src
	if c.place != onGate {
		f = a.Vector("f", c.n, testutil.Canary)
	}
	if c.place != onUp {
		slope = a.Vector("slope", c.n, testutil.Canary)
	}
	return func(p *kernelSet) { (*c.field(&p.Activations))(f, slope, src) }
}

var slopeMutants = []mutant{
	{"Activations.SiLUSlope", "the slope at 0 is NaN", spoilSlope(siluSlopeField, func(x, k float32) float32 {
		if x == 0 {
			return float32(math.NaN())
		}
		return k
	})},
	{"Activations.SiLUSlope", "is not 1 for large numbers", spoilSlope(siluSlopeField, func(x, k float32) float32 {
		if x > 100 {
			return float32(math.NaN())
		}
		return k
	})},
	{"Activations.GELUSlope", "a product is not rounded", spoilSlope(geluSlopeField, func(_, k float32) float32 {
		return math.Nextafter32(k, 2)
	})},
	{"Activations.GELUTanhSlope", "the slope of negative numbers is that of positive ones", spoilSlope(geluTanhSlopeField, func(x, k float32) float32 {
		if x < 0 {
			return 1 - k
		}
		return k
	})},
}

// spoilSlope replaces the slopes k by change(x, k).
func spoilSlope(field slopeField, change func(x, k float32) float32) func(p *kernelSet) {
	return func(p *kernelSet) {
		old := *field(&p.Activations)
		*field(&p.Activations) = func(f, slope, src []float32) {
			x := append([]float32{}, src[:len(f)]...)
			old(f, slope, src)
			for i, x := range x {
				slope[i] = change(x, slope[i])
			}
		}
	}
}
