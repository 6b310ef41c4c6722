package rope_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/rope"
)

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		config    rope.Config
		arg, want string
	}{
		{rope.Config{}, "Config.Dims", "even"},
		{rope.Config{Dims: 7}, "Config.Dims", "even"},
		{rope.Config{Dims: -2}, "Config.Dims", "even"},
		{rope.Config{Dims: math.MaxInt - 1}, "Config.Dims", "even"},
		{rope.Config{Dims: 1<<16 + 2}, "Config.Dims", "2 to 65536"},
		{rope.Config{Dims: 4, Base: 0.5}, "Config.Base", "from 1"},
		{rope.Config{Dims: 4, Base: math.NaN()}, "Config.Base", "from 1"},
		{rope.Config{Dims: 4, Base: math.Inf(1)}, "Config.Base", "from 1"},
		{rope.Config{Dims: 4, Scaling: -1}, "Config.Scaling", "2^-32"},
		{rope.Config{Dims: 4, Scaling: math.NaN()}, "Config.Scaling", "2^-32"},
		{rope.Config{Dims: 4, Scaling: 1 << 33}, "Config.Scaling", "2^32"},
		{rope.Config{Dims: 4, Pairing: 2}, "Config.Pairing", "RotateHalf or Interleaved"},
		{rope.Config{Dims: 4, Magnitude: -1}, "Config.Magnitude", "2^-16"},
		{rope.Config{Dims: 4, Magnitude: math.NaN()}, "Config.Magnitude", "2^-16"},
		{rope.Config{Dims: 4, Magnitude: 1 << 17}, "Config.Magnitude", "2^16"},
		{rope.Config{Dims: 4, Sections: []int{}}, "Config.Sections", "1 to 8"},
		{rope.Config{Dims: 4, Sections: make([]int, 9)}, "Config.Sections", "1 to 8"},
		{rope.Config{Dims: 4, Sections: []int{1, 2}}, "Config.Sections", "sum is 2"},
		{rope.Config{Dims: 4, Sections: []int{1, 0}}, "Config.Sections", "sum is 2"},
		{rope.Config{Dims: 4, Sections: []int{3, -1}}, "Config.Sections", "sum is 2"},
		{rope.Config{Dims: 4, Sections: []int{math.MaxInt, math.MaxInt, 4}}, "Config.Sections", "sum is 2"},
		{rope.Config{Dims: 8, Sections: []int{1, 1, 2}, InterleavedSections: true}, "Config.Sections", "at most 1 pairs in section 2"},
		{rope.Config{Dims: 2, Sections: []int{0, 0, 1}, InterleavedSections: true}, "Config.Sections", "at most 0 pairs in section 2"},
		{rope.Config{Dims: 4, InterleavedSections: true}, "Config.InterleavedSections", "Sections"},
		{rope.Config{Dims: 4, Positions: -1}, "Config.Positions", "from 0"},
		{rope.Config{Dims: 4, Positions: math.MaxInt}, "Config.Positions", "from 0"},
		{rope.Config{Dims: 4, Frequencies: []float64{}}, "Config.Frequencies", "one per pair"},
		{rope.Config{Dims: 4, Frequencies: []float64{1, math.NaN()}}, "Config.Frequencies", "2^-64"},
		{rope.Config{Dims: 4, Frequencies: []float64{1e-30, 1}}, "Config.Frequencies", "2^-64"},
	} {
		_, err := rope.New(c.config)
		contracttest.CheckArgument(t, fmt.Sprintf("%+v", c.config), err, c.arg, c.want)
	}
}

func TestApplyErrors(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 4})
	data := testutil.Filled(100, testutil.Canary)
	pages := kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{3}}
	for _, c := range []struct {
		what      string
		x         kernel.Tensor
		positions []int
		arg, want string
	}{
		{"zero Tensor", kernel.Tensor{}, nil, "x", "head size"},
		{"short", kernel.BHLD(data[:23], 1, 2, 3, 4), []int{1, 2, 3}, "x", "24 elements"},
		{"float8", kernel.BHLD(make([]kernel.F8E4M3, 24), 1, 2, 3, 4), []int{1, 2, 3}, "x", "float32, float16 or bfloat16"},
		{"narrow", kernel.BHLD(data, 1, 2, 3, 3), []int{1, 2, 3}, "x", "Dims"},
		{"overlapping", kernel.Strided(data, [4]int{1, 2, 3, 4}, [3]int{0, 12, 3}), []int{1, 2, 3}, "x", "overlap"},
		{"paged", kernel.BHLD(data, 1, 2, 3, 4).Paged(&pages), []int{1, 2, 3}, "x", "neither paged nor ragged"},
		{"ragged", kernel.BHLD(data, 1, 2, 3, 4).Ragged([]int{0, 1, 3}), []int{1, 2, 3}, "x", "neither paged nor ragged"},
		{"too few positions", kernel.BHLD(data, 2, 2, 3, 4), []int{1, 2}, "positions", "3, one per row, or 6"},
		{"too many positions", kernel.BHLD(data, 2, 2, 3, 4), make([]int, 7), "positions", "3, one per row, or 6"},
	} {
		contracttest.CheckArgument(t, c.what, r.Apply(c.x, c.positions, kernel.Exec{}), c.arg, c.want)
	}
	sections := mustNew(t, rope.Config{Dims: 4, Sections: []int{1, 1}})
	for _, n := range []int{3, 5, 9, 18} {
		contracttest.CheckArgument(t, "sections", sections.Apply(kernel.BHLD(data, 2, 2, 3, 4), make([]int, n), kernel.Exec{}), "positions", "6, one per row, or 12, one per row of every batch row, for each of 2 sections")
	}
	for _, y := range data {
		if y != testutil.Canary {
			t.Fatal("x was written to")
		}
	}
}

func TestCosSinErrors(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 4})
	contracttest.CheckArgument(t, "cos", r.CosSin(1, make([]float32, 1), make([]float32, 2)), "cos", "2, one per pair")
	contracttest.CheckArgument(t, "sin", r.CosSin(1, make([]float32, 2), make([]float32, 3)), "sin", "2, one per pair")
}
