package linear_test

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// FuzzLinear draws sizes, types, layouts, numbers and threads, and compares every tier
// with the chain of each output, all rows at once and cut in two. Sizes that make no
// valid call must give a typed error.
func FuzzLinear(f *testing.F) {
	f.Add(1, 5, 49, 17, byte(0), byte(0), byte(0), true, 1, 2)
	f.Add(2, 1, 300, 65, byte(1), byte(1), byte(1), false, 2, 0)
	f.Add(3, 40, 96, 260, byte(2), byte(2), byte(4), true, 3, 33)
	f.Add(4, 9, 16, 0, byte(0), byte(3), byte(5), true, 0, 8)
	f.Add(5, 33, 1, 1030, byte(1), byte(0), byte(2), true, 1, 1)
	f.Add(6, -1, 3, 4, byte(0), byte(0), byte(0), false, 1, 0)
	f.Add(7, 1, 3, 4, byte(0), byte(0), byte(0), false, -1, 0)
	f.Add(8, 3, 53, 130, byte(3), byte(1), byte(0), true, 2, 1)
	f.Add(9, 9, 48, 32, byte(4), byte(0), byte(4), false, 1, 0)
	f.Add(10, 1, 20, 1500, byte(5), byte(2), byte(1), true, 1, 0)
	contracttest.ForceThreads(f)
	f.Fuzz(func(t *testing.T, seed, m, n, k int, dtype, layoutNumber, kind byte, bias bool, threads, cut int) {
		c := testCase{
			m: m, n: n, k: k, bias: bias, layout: layout(layoutNumber) % layouts, kind: testutil.Kind(kind) % testutil.Kinds, seed: seed,
		}
		if dtype %= 6; dtype < 3 {
			c.dtype = kernel.DType(dtype)
		} else if k >= 0 {
			c.format, c.k = singleFormats[dtype-3], k/32*32+32
		}
		switch {
		case max(m, n, k) > 2000 || min(m, n, k) < -2000 || max(1, m)*max(1, n)*max(1, k) > 4<<20 || threads > 64:
			t.Skip("too large for a fuzz step")
		case min(m, n, k, threads) < 0:
			c.checkRefused(t, threads)
			return
		}
		x, w, b := c.inputs()
		want := c.contract(&x, &w, b)
		l := w.layer(t, b)
		cut = min(max(cut, 0), m)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, cut := range []int{0, cut} {
				out := c.output()
				for _, part := range [][2]int{{0, cut}, {cut, m - cut}} {
					to, from := out.from(part[0], part[1]), x.from(part[0], part[1])
					if err := l.Apply(to.Matrix, from.Matrix, options(tier, threads)); err != nil {
						t.Fatal(err)
					}
				}
				contracttest.SameRow(t, c.String(), out.numbers, want.numbers)
			}
		})
	})
}

// checkRefused fails the test unless the case, which is not valid, gets a typed error and
// leaves out as it is.
func (c testCase) checkRefused(t *testing.T, threads int) {
	data, out := make([]float32, 1<<12), testutil.Filled(1<<12, testutil.Canary)
	l, err := linear.New(linear.DenseMatrix(data, c.n, c.k), nil, kernel.Exec{})
	if err == nil && c.m < 1<<5 && c.n < 1<<6 && c.k < 1<<6 {
		err = l.Apply(linear.DenseMatrix(out, c.m, c.n), linear.DenseMatrix(data, c.m, c.k), options(kernel.Tier{}, threads))
	} else if err == nil {
		return
	}
	var arg *kernel.Error
	if !errors.As(err, &arg) {
		t.Fatalf("%v threads=%d: got %v, want an Error", c, threads, err)
	}
	for i, x := range out {
		if x != testutil.Canary {
			t.Fatalf("out[%d] was overwritten", i)
		}
	}
}
