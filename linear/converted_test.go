package linear

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// TestTiles: layers in bfloat16 have the same bits with a kernel for tiles, which is one in Go
// here: what cuts rows, inputs and lanes for it, and rounds the rows, runs on any machine.
func TestTiles(t *testing.T) {
	with := tier.Reference().Copy()
	multiplied, rounded := 0, 0 // rows, and the most numbers in a call
	with.Amend = func(table any, _ int) {
		switch x := table.(type) {
		case *ukernel.Unit:
			x.GemmTiles = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, next []byte) {
				multiplied += m
				testutil.GemmTiles(c, ldc, a, lda, b, lanes, m, k, load, next)
			}
		case *ukernel.Converters:
			round, narrow := x.RoundBF16, x.Narrow[ukernel.BFloat16]
			x.RoundBF16 = func(dst, src []float32) {
				rounded = max(rounded, len(src))
				round(dst, src)
			}
			x.Narrow[ukernel.BFloat16] = func(dst []byte, ldd int, src []float32, lds, n, d int) {
				rounded = max(rounded, n*d)
				narrow(dst, ldd, src, lds, n, d)
			}
		}
	}
	for _, size := range []struct{ m, n, k int }{{16, 16, 32}, {17, 50, 31}, {15, 20, 40}, {33, 97, 100}, {100, 48, 1100}, {350, 33, 65}, {40, 16, 0}, {16, 1, rows.MaxConvert + 40}} {
		if testutil.Thin() && size.k > rows.MaxConvert {
			continue
		}
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
		multiplied, rounded = 0, 0
		got, want := apply(with), apply(tier.Reference())
		if !slices.Equal(got, want) {
			t.Errorf("%+v: other bits", size)
		}
		if uses := multiplied > 0; uses != (size.k > 0) || rounded > rows.MaxConvert {
			t.Errorf("%+v: %d rows by tiles, %d numbers rounded by one call", size, multiplied, rounded)
		}
	}
}

// TestTilesPlan: a task has the rows that stay in L2 for tiles, and no memory for widened weights,
// however many rows others widen them for.
func TestTilesPlan(t *testing.T) {
	with := tier.Reference().Copy()
	with.WeightSteps = ukernel.InputSegment
	with.Amend = func(table any, _ int) {
		if unit, ok := table.(*ukernel.Unit); ok {
			unit.GemmTiles = testutil.GemmTiles
		}
	}
	const m, k = 320, 512
	l, err := RoundBFloat16(DenseMatrix(make([]float32, 64*k), 64, k), nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{0, 1000} {
		with.PairRows = most
		j := job{linear: l, out: Matrix{rows: m, cols: 64}}
		j.plan(with, 1)
		if wide := j.findShape().wide; j.rowRanges != 1 || j.widens || wide != 0 {
			t.Errorf("%d rows of pairs: %d ranges of rows, weights are widened: %v, memory for %d", most, j.rowRanges, j.widens, wide)
		}
	}
}
