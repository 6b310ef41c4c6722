package kernel_test

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// each calls f for the rows of all gradients that are set.
func eachGradientRow(g *kernel.Gradients, f func(row []float32)) {
	for _, x := range []*kernel.Tensor{&g.Q, &g.K, &g.V, &g.Bias} {
		if contracttest.IsSet(*x) {
			contracttest.EachRow(x, func(_, _, _ int, row []float32) { f(row) })
		}
	}
	f(g.Sinks)
}

// held fills gradients with what an output may hold: numbers of many sizes, -0, infinity and a NaN
// with another payload.
func held(g *kernel.Gradients) {
	special := []float32{float32(math.Copysign(0, -1)), testutil.Inf, math.Float32frombits(0x7FC01234), 1e-42, 3e8}
	n := 0
	eachGradientRow(g, func(row []float32) {
		for i := range row {
			if row[i] = float32(n%37-18) / 16; n%11 == 3 {
				row[i] = special[n/11%len(special)]
			}
			n++
		}
	})
}

// sums returns what a call that accumulates makes of outputs that hold what held has written, if
// other calls give want.
func (w *backwardCall) sums(want *kernel.Gradients) kernel.Gradients {
	all := w.gradients()
	held(&all)
	var g [][]float32
	eachGradientRow(want, func(row []float32) { g = append(g, row) })
	eachGradientRow(&all, func(row []float32) {
		for i, x := range g[0] {
			if row[i] += x; row[i] != row[i] {
				row[i] = math.Float32frombits(0x7FC00000)
			}
		}
		g = g[1:]
	})
	return all
}

// check calls AttentionBackward without Accumulate and with it, and compares the gradients with
// want, which has all of them. drop removes some that are not wanted.
func (w *backwardCall) check(t *testing.T, what string, o kernel.Options, want kernel.Gradients, drop ...func(g *kernel.Gradients)) {
	t.Helper()
	g := w.gradients()
	for _, d := range drop {
		d(&g)
	}
	w.run(t, g, o)
	sameGradients(t, what, g, want)

	g = w.gradients()
	held(&g)
	for _, d := range drop {
		d(&g)
	}
	settings := contracttest.BackwardOptions(o)
	settings.Accumulate = true
	w.runWith(t, g, o.LSE, settings)
	sameGradients(t, what+", added", g, w.sums(&want))
}

// TestAccumulateMemory: a call whose sums do not fit the memory limit is refused, and writes
// nothing. A bias that no two pairs share needs no memory.
func TestAccumulateMemory(t *testing.T) {
	const keys = 17 << 18 // 17 MB
	column := func(data []float32) kernel.Tensor { return kernel.BHLD(data, 1, 1, len(data), 1) }
	data, out := make([]float32, keys), make([]float32, keys)
	one := column(data[:1])
	bias, dBias := kernel.BHLD(data, 1, 1, 1, keys), kernel.BHLD(out, 1, 1, 1, keys)
	call := func(g kernel.Gradients) error {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(16 << 20))
		o := kernel.BackwardOptions{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{1}), Bias: bias}, Accumulate: true}
		return kernel.AttentionBackward(g, one, one, column(data), column(data), one, &o)
	}
	if err := call(kernel.Gradients{Bias: dBias}); err != nil {
		t.Error(err)
	}
	out[0] = 1
	contracttest.CheckArgument(t, "dk", call(kernel.Gradients{K: column(out)}), "Options.Accumulate", "memory for the sums")
	if out[0] != 1 {
		t.Error("the gradient was written")
	}
}
