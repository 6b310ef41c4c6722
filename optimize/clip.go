package optimize

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// ClipNorm limits the norm of all gradients of a model, taken as one vector. It returns
//
//	norm = the root of the sum of all squares
//
// rounded, and, if the root is above most before it is rounded, multiplies every element by most/root. gradients are the
// slices of the model in a fixed order, since the sum depends on it; they share no
// memory. If the norm is NaN or +Inf, the gradients are left as they are: a step with them would
// spoil the weights.
//
// The squares are summed up in float64. most is above 0. exec says how the call is computed; the zero Exec is the
// default. An error is a [*kernel.Error], and leaves the gradients untouched. In the
// steady state a call allocates nothing.
func ClipNorm(most float32, gradients [][]float32, exec kernel.Exec) (norm float32, err error) {
	if f := checkClip(most, gradients); f != nil {
		return 0, (*kernel.Error)(f.In("optimize.ClipNorm"))
	}
	t, err := elementwise.Tier("optimize.ClipNorm", &exec)
	if err != nil {
		return 0, err
	}
	if view.Races {
		for _, g := range gradients {
			view.Announce(view.Write, g)
		}
	}
	j := clips.Get()
	j.set(gradients)
	defer j.release()
	root := math.Sqrt(j.sum(t, &exec))
	norm = float32(root)
	if norm != norm {
		return math.Float32frombits(0x7fc00000), nil
	}
	if root > float64(most) && !math.IsInf(float64(norm), 1) {
		j.scale(float32(float64(most)/root), t, &exec)
	}
	return norm, nil
}

// squares returns the sum of the squares of x in float64, where a square is exact:
//
//	acc[r] = the sum over i mod 8 = r, ascending
//
// and then the sums of halves.
func squares(x []float32) float64 {
	var a0, a1, a2, a3, a4, a5, a6, a7 float64
	for ; len(x) >= 8; x = x[8:] {
		a0 += square(x[0])
		a1 += square(x[1])
		a2 += square(x[2])
		a3 += square(x[3])
		a4 += square(x[4])
		a5 += square(x[5])
		a6 += square(x[6])
		a7 += square(x[7])
	}
	rest := [...]*float64{&a0, &a1, &a2, &a3, &a4, &a5, &a6}
	for i, x := range x {
		*rest[i] += square(x)
	}
	return ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))
}

func square(x float32) float64 { return float64(x) * float64(x) }

// checkClip reports the first argument of ClipNorm that does not fit.
func checkClip(most float32, gradients [][]float32) *check.Failure {
	if !(most > 0 && most <= math.MaxFloat32) {
		return &check.Failure{Where: "most", Got: fmt.Sprint(most), Want: "above 0, finite"}
	}
	for i, g := range gradients {
		for k, h := range gradients[:i] {
			if view.MemoryOf(g).Overlaps(view.MemoryOf(h)) {
				return &check.Failure{Where: fmt.Sprintf("gradients[%d]", i), Got: fmt.Sprintf("memory that overlaps gradients[%d]", k), Want: "memory of its own"}
			}
		}
	}
	return nil
}
