package engine

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A meter notes the longest calls of kernels, which cannot be preempted.
type meter struct{ fmas, floats int }

// of returns a tier with the kernels of t, whose calls it measures.
func (m *meter) of(t *tier.Tier) *tier.Tier {
	measured := t.Copy()
	measured.Amend = func(table any, lanes int) {
		switch k := table.(type) {
		case *ukernel.Products:
			m.products(k, lanes)
		case *ukernel.LaneKernels:
			m.lanes(k, lanes)
		case *ukernel.SkinnyKernels:
			m.skinny(k)
		}
	}
	return measured
}

func (m *meter) skinny(to *ukernel.SkinnyKernels) {
	t := *to
	to.QK = func(s []float32, k []float32, ldk int, q []float32, n, rows, d int, max, next []float32, far int) {
		m.product(n * rows * d)
		t.QK(s, k, ldk, q, n, rows, d, max, next, far)
	}
	to.PV = func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, rows, dv int, load bool, next []float32, far int) {
		m.product(n * rows * dv)
		t.PV(o, ldo, v, ldv, p, ldp, n, rows, dv, load, next, far)
	}
	to.Merge = func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
		m.move(n * dv)
		t.Merge(o, ldo, part, ldp, n, dv, alpha, beta)
	}
	to.Unpack = func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
		m.move(n * dv)
		return t.Unpack(dst, off, o, ldo, n, dv, sum)
	}
}

func (m *meter) lanes(to *ukernel.LaneKernels, w int) {
	t := *to
	to.Pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
		m.move(w * d)
		t.Pack(dst, ld, src, off, n, d, scale)
	}
	to.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
		m.move(w * d)
		return t.Unpack(dst, off, src, ld, n, d, sum)
	}
}

func (m *meter) products(to *ukernel.Products, w int) {
	t := *to
	to.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, rows, k, seg int, load bool) {
		m.product(w * rows * k)
		t.Gemm(c, ldc, a, rs, cs, b, ldb, rows, k, seg, load)
	}
	to.GemmMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, rows, k, seg int, max []float32) {
		m.product(w * rows * k)
		t.GemmMax(c, ldc, a, rs, cs, b, ldb, rows, k, seg, max)
	}
	to.GemmMerge = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, rows, k int, alpha, beta []float32) {
		m.product(w * rows * k)
		m.move(w * rows)
		t.GemmMerge(c, ldc, a, rs, cs, b, ldb, rows, k, alpha, beta)
	}
}

func (m *meter) product(fmas int) { m.fmas = max(m.fmas, fmas) }
func (m *meter) move(floats int)  { m.floats = max(m.floats, floats) }

// TestCallsAreShort: with rows of 16384 elements, no call of a kernel takes longer than
// about 100 µs, by the work that it does, and its cuts leave no trace: the columns of V
// may as well be computed in other parts. A hidden key with a NaN makes rows be computed
// again.
func TestCallsAreShort(t *testing.T) {
	const d, part, keys = 16384, 6000, 20
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		for _, rows := range []int{1, 4, 64} {
			keys := keys
			if rows == 1 {
				keys += BlockKeys // so that blocks are merged
			}
			var m meter
			measured := m.of(tier)
			q, k, v := random(rows, d), random(keys, d), random(keys, d)
			bias := make([]float32, keys)
			bias[2], v.F32()[2*d+1] = scalar.NegInf, float32(math.NaN())
			run := func(v view.Tensor) view.Tensor {
				out := floats(1, 1, rows, v.Dim(3))
				j := newJob()
				j.Call = Call{Out: out, Q: q, K: k, V: v, Scoring: scoring.Scoring{Sinks: []float32{0.5}, Bias: view.Floats(bias, [4]int{1, 1, rows, keys}, [3]int{})}}
				j.Run(measured, 1, nil)
				return out
			}
			whole := run(v)
			if m.fmas > 2<<20 || m.floats > 64<<10 {
				t.Errorf("%d rows: a call of %d FMAs, one that moves %d floats", rows, m.fmas, m.floats)
			}
			for e := 0; e < d; e += part {
				n := min(part, d-e)
				columns := run(view.Floats(v.F32()[e:], [4]int{1, 1, keys, n}, v.Strides()))
				for r := range rows {
					testutil.CheckBits(t, fmt.Sprintf("%d rows: row %d from column %d on", rows, r, e), whole.Row(0, 0, r)[e:e+n], columns.Row(0, 0, r))
				}
			}
		}
	})
}

// random returns a [1, 1, l, d] of random numbers.
func random(l, d int) view.Tensor {
	x := floats(1, 1, l, d)
	copy(x.F32(), testutil.Floats(l*d))
	return x
}
