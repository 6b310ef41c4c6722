package layer_test

import (
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// TestWeightedSumBackward: WeightedSum is linear in each argument, so that with numbers of few bits
// the gradients are exact: each element's are the sums of dout with out for that element alone.
func TestWeightedSumBackward(t *testing.T) {
	const b, h, hkv, lq, lk, dv = 2, 4, 2, 3, 5, 6
	r := testutil.Rand(1)
	tensor := func(h, l, d int) ([]float32, kernel.Tensor) {
		x := make([]float32, b*h*l*d)
		for i := range x {
			x[i] = float32(r.IntN(9) - 4)
		}
		return x, kernel.BHLD(x, b, h, l, d)
	}
	w, weights := tensor(h, lq, lk)
	v, values := tensor(hkv, lk, dv)
	dy, dout := tensor(h, lq, dv)
	dw, dWeights := tensor(h, lq, lk)
	dv2, dValues := tensor(hkv, lk, dv)
	if err := layer.WeightedSumBackward(layer.WeightedSumGradients{Weights: dWeights, V: dValues}, dout, weights, values, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, b*h*lq*dv)
	check := func(what string, x, got []float32) {
		before := append([]float32(nil), x...)
		for i := range x {
			clear(x)
			x[i] = 1
			if err := layer.WeightedSum(kernel.BHLD(out, b, h, lq, dv), weights, values, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			want := float32(0)
			for k, y := range out {
				want += float32(y * dy[k])
			}
			if got[i] != want {
				t.Errorf("%s[%d] is %v, want %v", what, i, got[i], want)
			}
		}
		copy(x, before)
	}
	check("Weights", w, dw)
	check("V", v, dv2)
}

// TestWeightedSumThreads: threads change no bit of WeightedSum and its gradients, in layouts of
// either kind.
func TestWeightedSumThreads(t *testing.T) {
	contracttest.ForceThreads(t)
	const b, h, hkv, lq, lk, dv = 2, 4, 2, 9, 13, 6
	weights := kernel.BHLD(testutil.Floats(b*h*lq*lk), b, h, lq, lk)
	v := kernel.BLHD(testutil.Floats(b*hkv*lk*dv), b, lk, hkv, dv)
	dout := kernel.BLHD(testutil.Floats(b*h*lq*dv), b, lq, h, dv)
	var want [3][]float32
	for threads := 1; threads <= 4; threads++ {
		got := [3][]float32{testutil.Filled(b*h*lq*dv, 7), testutil.Filled(b*h*lq*lk, 7), testutil.Filled(b*hkv*lk*dv, 7)}
		g := layer.WeightedSumGradients{Weights: kernel.BHLD(got[1], b, h, lq, lk), V: kernel.BLHD(got[2], b, lk, hkv, dv)}
		exec := kernel.Exec{Threads: threads}
		call := func() {
			if err := layer.WeightedSum(kernel.BLHD(got[0], b, lq, h, dv), weights, v, exec); err != nil {
				t.Fatal(err)
			}
			if err := layer.WeightedSumBackward(g, dout, weights, v, exec); err != nil {
				t.Fatal(err)
			}
		}
		call()
		if threads == 1 {
			want = got
		}
		for i := range got {
			testutil.CheckBits(t, []string{"out", "Weights", "V"}[i], got[i], want[i])
		}
		testutil.CheckNoMallocs(t, "threads", 20, call)
	}
}

// TestWeightedSumBackwardHidden: a weight of 0 does not count for V.
func TestWeightedSumBackwardHidden(t *testing.T) {
	nan := testutil.NaN
	got := []float32{9, 9}
	err := layer.WeightedSumBackward(layer.WeightedSumGradients{V: kernel.BHLD(got, 1, 1, 2, 1)},
		kernel.BHLD([]float32{nan, 3}, 1, 1, 2, 1), kernel.BHLD([]float32{0, 0.5, 0.5, 0}, 1, 1, 2, 2), kernel.BHLD([]float32{1, 1}, 1, 1, 2, 1), kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	testutil.CheckBits(t, "V", got, []float32{1.5, nan})
}

func TestWeightedSumBackwardErrors(t *testing.T) {
	memory := testutil.Filled(1000, 7)
	at := func(i, h, l, d int) kernel.Tensor { return kernel.BHLD(memory[i:i+h*l*d], 1, h, l, d) }
	for _, c := range []struct {
		g                layer.WeightedSumGradients
		dout, weights, v kernel.Tensor
		arg, want        string
	}{
		{layer.WeightedSumGradients{}, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 4, 6), "v", "length 5"},
		{layer.WeightedSumGradients{}, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 3, 5, 6), "v", "divides"},
		{layer.WeightedSumGradients{}, at(0, 2, 3, 5), at(100, 2, 3, 5), at(200, 1, 5, 6), "dout", "shape [1 2 3 6]"},
		{layer.WeightedSumGradients{V: at(300, 1, 5, 5)}, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 5, 6), "Gradients.V", "that of v"},
		{layer.WeightedSumGradients{Weights: at(300, 2, 3, 5), V: at(320, 1, 5, 6)}, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 5, 6), "Gradients.Weights", "memory of its own"},
		{layer.WeightedSumGradients{V: at(210, 1, 5, 6)}, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 5, 6), "Gradients.V", "memory of its own"},
	} {
		contracttest.CheckArgument(t, c.want, layer.WeightedSumBackward(c.g, c.dout, c.weights, c.v, kernel.Exec{}), c.arg, c.want)
	}
	exec := kernel.Exec{Threads: -1}
	g := layer.WeightedSumGradients{V: at(300, 1, 5, 6)}
	contracttest.CheckArgument(t, "threads", layer.WeightedSumBackward(g, at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 5, 6), exec), "exec.Threads", "at least 1")
	contracttest.CheckArgument(t, "threads", layer.WeightedSum(at(0, 2, 3, 6), at(100, 2, 3, 5), at(200, 1, 5, 6), exec), "exec.Threads", "at least 1")
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(1000, 7))
}
