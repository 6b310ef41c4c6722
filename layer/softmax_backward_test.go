package layer_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// TestSoftmaxBackward compares with finite differences of the softmax in float64, in each place
// that the result may be in.
func TestSoftmaxBackward(t *testing.T) {
	const rows, n = 3, 7
	lengths := []int{7, 4, 0}
	x, dy := testutil.Floats(rows*n), testutil.Floats(rows*n + 1)[1:]
	y := make([]float32, len(x))
	if err := layer.Softmax(y, x, n, lengths, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	for r, valid := range lengths {
		for j := valid; j < n; j++ {
			dy[r*n+j] = testutil.NaN // does not count
		}
	}
	loss := func(r int, z []float64) float64 {
		all, dot := 0.0, 0.0
		for j, z := range z {
			all += math.Exp(z)
			dot += math.Exp(z) * float64(dy[r*n+j])
		}
		return dot / all
	}
	want := make([]float64, len(x))
	for r, valid := range lengths {
		z := make([]float64, valid)
		for j := range z {
			z[j] = float64(x[r*n+j])
		}
		for j := range z {
			const h = 1e-5
			before := z[j]
			z[j] = before + h
			up := loss(r, z)
			z[j] = before - h
			down := loss(r, z)
			z[j] = before
			want[r*n+j] = (up - down) / (2 * h)
		}
	}
	var first []float32
	for _, place := range []string{"own", "y", "dy"} {
		y, dy := append([]float32(nil), y...), append([]float32(nil), dy...)
		dx := map[string][]float32{"own": make([]float32, len(y)), "y": y, "dy": dy}[place]
		if err := layer.SoftmaxBackward(dx, dy, y, n, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, x := range dx {
			if !(math.Abs(float64(x)-want[i]) <= 1e-6) {
				t.Errorf("in %s: [%d] is %v, want %v", place, i, x, want[i])
			}
		}
		if first == nil {
			first = dx
		}
		testutil.CheckBits(t, place, dx, first)
	}
}

func TestSoftmaxBackwardErrors(t *testing.T) {
	memory := testutil.Filled(100, 7)
	for _, c := range []struct {
		dx, y, dy []float32
		n         int
		arg, want string
	}{
		{memory[:12], memory[20:32], memory[40:52], 0, "n", "at least 1"},
		{memory[:12], memory[20:32], memory[40:52], 5, "y", "a multiple of n, 5"},
		{memory[:11], memory[20:32], memory[40:52], 4, "dx", "length 12"},
		{memory[:12], memory[20:32], memory[40:53], 4, "dy", "length 12"},
		{memory[21:33], memory[20:32], memory[40:52], 4, "dx", "y itself"},
		{memory[41:53], memory[20:32], memory[40:52], 4, "dx", "dy itself"},
	} {
		contracttest.CheckArgument(t, c.want, layer.SoftmaxBackward(c.dx, c.dy, c.y, c.n, kernel.Exec{}), c.arg, c.want)
	}
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(100, 7))
}
