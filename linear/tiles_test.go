package linear

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// TestTiles: layers in bfloat16 have the same bits with a kernel for tiles, which is one in Go here: what cuts rows, inputs and
// lanes for it, and rounds the rows, runs on any machine.
func TestTiles(t *testing.T) {
	with := tier.Reference().Copy()
	rows := 0
	with.Amend = func(table any, _ int) {
		if w, ok := table.(*ukernel.WeightKernels); ok {
			w.GemmTiles = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
				rows += m
				goTiles(c, ldc, a, lda, b, lanes, m, k, load)
			}
		}
	}
	for _, size := range []struct{ m, n, k int }{{16, 16, 32}, {17, 50, 31}, {15, 20, 40}, {33, 97, 100}, {100, 48, 1100}, {350, 33, 65}, {40, 16, 0}} {
		r := testutil.Rand(size.m)
		x, w := make([]float32, size.m*size.k), make([]float32, size.n*size.k)
		for _, list := range [][]float32{x, w} {
			for i := range list {
				list[i] = r.Float32() - 0.5
			}
		}
		l, err := RoundBFloat16(DenseMatrix(w, size.n, size.k), nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		apply := func(x2 *tier.Tier) []float32 {
			out := make([]float32, size.m*size.n)
			o := Options{Exec: kernel.Exec{Tier: kernel.Tier(x2.Handle()), Threads: 1}}
			if err := l.Apply(DenseMatrix(out, size.m, size.n), DenseMatrix(x, size.m, size.k), o); err != nil {
				t.Fatal(err)
			}
			return out
		}
		rows = 0
		got, want := apply(with), apply(tier.Reference())
		if !slices.Equal(got, want) {
			t.Errorf("%+v: other bits", size)
		}
		if uses := rows > 0; uses != (size.m >= leastTileRows && size.k > 0) {
			t.Errorf("%+v: %d rows by tiles", size, rows)
		}
	}
}

// goTiles is ukernel.WeightKernels.GemmTiles.
func goTiles(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
	x, w := make([]float32, m*k), make([]float32, k*lanes)
	for i := range x {
		x[i] = scalar.BF16(a[i/k*lda+i%k])
	}
	for i, pair := range b {
		at := i/lanes*2*lanes + i%lanes
		w[at], w[at+lanes] = scalar.BF16(uint16(pair)), scalar.BF16(uint16(pair>>16))
	}
	testutil.GemmEvenOdd(lanes, c, ldc, x, k, 1, w, lanes, m, k, load)
}
