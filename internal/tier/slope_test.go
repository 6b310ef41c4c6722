package tier

import (
	"math"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// A slopeField is the kernel of an activation and its gradient.
type slopeField func(a *ukernel.Activations) *func(f, dx, dy, x []float32)

func siluSlopeField(a *ukernel.Activations) *func(f, dx, dy, x []float32) { return &a.SiLUBackward }
func geluSlopeField(a *ukernel.Activations) *func(f, dx, dy, x []float32) { return &a.GELUBackward }
func geluTanhSlopeField(a *ukernel.Activations) *func(f, dx, dy, x []float32) {
	return &a.GELUTanhBackward
}

// A slopeCase is a call of one. Its place is where f lies, or, onUp, where the gradient does, which
// then is dy, too.
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
	x, dy := a.Vector("x", c.n, 0), a.Vector("dy", c.n, 0)
	c.fill(r, x)
	c.values.Fill(r, dy, 1, c.n, c.n)
	f, dx := x, x
	switch c.place {
	case apart:
		f, dx = a.Vector("f", c.n, testutil.Canary), a.Vector("dx", c.n, testutil.Canary)
	case onGate:
		dx = a.Vector("dx", c.n, testutil.Canary)
	case onUp:
		f, dx = a.Vector("f", c.n, testutil.Canary), dy
	}
	return func(p *kernelSet) { (*c.field(&p.Activations))(f, dx, dy, x) }
}

var slopeMutants = []mutant{
	{"Activations.SiLUBackward", "the slope at 0 is NaN", spoilSlope(siluSlopeField, func(x, k float32) float32 {
		if x == 0 {
			return float32(math.NaN())
		}
		return k
	})},
	{"Activations.SiLUBackward", "is not 1 for large numbers", spoilSlope(siluSlopeField, func(x, k float32) float32 {
		if x > 100 {
			return float32(math.NaN())
		}
		return k
	})},
	{"Activations.GELUBackward", "a product is not rounded", spoilSlope(geluSlopeField, func(_, k float32) float32 {
		return math.Nextafter32(k, 2)
	})},
	{"Activations.GELUTanhBackward", "the slope of negative numbers is that of positive ones", spoilSlope(geluTanhSlopeField, func(x, k float32) float32 {
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
		*field(&p.Activations) = func(f, dx, dy, x []float32) {
			x, slope := append([]float32{}, x[:len(f)]...), testutil.Filled(len(f), 1)
			d := append([]float32{}, dy[:len(f)]...)
			old(f, slope, slope, x)
			for i, x := range x {
				dx[i] = d[i] * change(x, slope[i])
			}
		}
	}
}
