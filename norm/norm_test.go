package norm_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
)

// sumOf is the contract's sum over a row, straight from its text.
func sumOf(x []float32, add func(x, acc float32) float32) float32 {
	var acc [64]float32
	for e, v := range x {
		acc[e%64] = add(v, acc[e%64])
	}
	for n := 32; n >= 1; n /= 2 {
		for r := range n {
			acc[r] = acc[r] + acc[r+n]
		}
	}
	return acc[0]
}

// centered returns x - mean(x), which a LayerNorm takes twice.
func centered(x []float32) []float32 {
	mean := sumOf(x, func(x, acc float32) float32 { return acc + x }) / float32(len(x))
	y := make([]float32, len(x))
	for i, x := range x {
		y[i] = x - mean
	}
	return y
}

// model is the contract's norm of a row. weight and bias may be nil.
func model(x, weight, bias []float32, eps float32, layer bool) []float32 {
	size := float32(len(x))
	if layer {
		x = centered(centered(x))
	}
	squares := sumOf(x, func(x, acc float32) float32 { return numeric.FMA(x, x, acc) })
	inv := 1 / float32(math.Sqrt(float64(float32(squares/size)+eps)))
	y := make([]float32, len(x))
	for e, v := range x {
		w, b := float32(1), float32(math.Copysign(0, -1))
		if weight != nil {
			w = weight[e]
		}
		if bias != nil {
			b = bias[e]
		}
		if layer {
			y[e] = numeric.FMA(float32(v*inv), w, b)
		} else {
			y[e] = float32(float32(v*inv) * w)
		}
	}
	return y
}

// A testCase is a call.
type testCase struct {
	layer, weight, bias    bool
	residual, sum, inPlace bool
	layout                 contracttest.Layout
	b, h, l, d             int
	lengths                []int // ragged
	seed                   int
}

func (c testCase) String() string {
	type fields testCase // without this method
	return fmt.Sprintf("%+v", fields(c))
}

func cases() (list []testCase) {
	for _, d := range []int{1, 3, 16, 63, 64, 65, 127, 200, 384} {
		for i := range 16 {
			list = append(list, testCase{
				layer: i&1 > 0, weight: i&2 == 0, bias: i&3 == 1, residual: i&4 > 0, sum: i&12 == 12, inPlace: i%3 == 0,
				layout: contracttest.Layout(i) % contracttest.Layouts, b: 1 + i%2, h: 1 + i%3, l: 1 + len(list)%7, d: d, seed: len(list),
			})
		}
	}
	return append(list,
		testCase{layer: true, weight: true, bias: true, b: 3, h: 2, l: 9, d: 72, lengths: []int{4, 0, 5}, seed: 901},
		testCase{residual: true, sum: true, b: 2, h: 1, l: 300, d: 64, lengths: []int{1, 299}, seed: 902},
		testCase{layer: true, weight: true, b: 1, h: 1, l: 3, d: 70000, seed: 903}, // a row takes more than a call of a kernel should
	)
}

// A data holds the tensors of a case.
type data struct {
	out, x kernel.Tensor
	weight []float32
	bias   []float32
	opts   norm.Options
}

func (c testCase) data(values testutil.Kind) (a data) {
	r := testutil.Rand(c.seed)
	tensor := func() kernel.Tensor {
		k := contracttest.Case{Layout: c.layout}
		b, l := c.b, c.l
		if c.lengths != nil {
			b = 1
		}
		t := k.Tensor(b, c.h, l, c.d, testutil.Canary)
		contracttest.EachRow(&t, func(_, _, _ int, row []float32) { values.Fill(&r, row, 1, c.d, c.d) })
		if c.lengths != nil {
			starts := []int{0}
			for _, n := range c.lengths {
				starts = append(starts, starts[len(starts)-1]+n)
			}
			t = t.Ragged(starts)
		}
		return t
	}
	a.x, a.out = tensor(), tensor()
	vector := func() []float32 {
		v := make([]float32, c.d)
		r.Fill(v)
		return v
	}
	if c.weight {
		a.weight = vector()
	}
	if c.bias && c.layer {
		a.bias = vector()
	}
	if c.residual {
		a.opts.Residual = tensor()
	}
	switch {
	case c.sum && c.inPlace:
		a.opts.Sum = a.opts.Residual
	case c.sum:
		a.opts.Sum = tensor()
	}
	if c.inPlace {
		a.out = a.x
	}
	return a
}

func (a *data) run(c testCase) error {
	if c.layer {
		return norm.LayerNorm(a.out, a.x, a.weight, a.bias, 1e-5, a.opts)
	}
	return norm.RMSNorm(a.out, a.x, a.weight, 1e-5, a.opts)
}

// want returns what out and Sum must hold, row by row.
func (a *data) want(c testCase) (out, sum map[[3]int][]float32) {
	out, sum = map[[3]int][]float32{}, map[[3]int][]float32{}
	contracttest.EachRow(&a.x, func(b, h, l int, row []float32) {
		x := append([]float32(nil), row...)
		if c.residual {
			for e, y := range contracttest.Row(&a.opts.Residual, b, h, l) {
				x[e] += y
			}
		}
		at := [3]int{b, h, l}
		sum[at], out[at] = x, model(x, a.weight, a.bias, 1e-5, c.layer)
	})
	return out, sum
}

// TestContract compares all tiers, alone and on threads, with the contract.
func TestContract(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, c := range cases() {
		if testutil.Thin() && i%4 != 0 && c.lengths == nil {
			continue
		}
		values := testutil.KindOf(i)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				a := c.data(values)
				out, sum := a.want(c)
				a.opts.Tier, a.opts.Threads = tier, threads
				if err := a.run(c); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				same := func(what string, got *kernel.Tensor, want map[[3]int][]float32) {
					contracttest.EachRow(got, func(b, h, l int, row []float32) {
						testutil.CheckBits(t, fmt.Sprintf("%v of %v, threads=%d: %s, row %d %d %d", c, values, threads, what, b, h, l), row, want[[3]int{b, h, l}])
					})
				}
				same("out", &a.out, out)
				if c.sum {
					same("Sum", &a.opts.Sum, sum)
				}
				if c.lengths == nil {
					contracttest.CheckGaps(t, &a.out)
				}
			}
		})
	}
}

// TestGolden: these bits were computed once, and every tier and architecture has them.
func TestGolden(t *testing.T) {
	for name, want := range map[string]string{
		"rms":   "274febe9be581c9801bf26f2912cf25774d5dc0d9c7cfb335673a6a1ee9cf819",
		"layer": "6fd89875766ea69322847ea649981cef325eeca0d19d33a1edfa1b58705b3ce6",
	} {
		c := testCase{layer: name == "layer", weight: true, bias: true, residual: true, b: 2, h: 1, l: 9, d: 203, seed: 77}
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			a := c.data(testutil.Mantissas)
			a.opts.Tier = tier
			if err := a.run(c); err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			contracttest.EachRow(&a.out, func(_, _, _ int, row []float32) {
				for _, y := range row {
					h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
				}
			})
			if got := hex.EncodeToString(h.Sum(nil)); got != want {
				t.Errorf("%s: sha256 %s, want %s", name, got, want)
			}
		})
	}
}

// TestNaN: a NaN is 0x7fc00000 to the bit, in the norm and in the sum, and stays in its row.
func TestNaN(t *testing.T) {
	const d = 70
	for _, layer := range []bool{false, true} {
		c := testCase{layer: layer, weight: true, residual: true, sum: true, b: 1, h: 1, l: 3, d: d, seed: 5}
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			a := c.data(testutil.Dyadics)
			contracttest.Row(&a.x, 0, 0, 1)[68] = math.Float32frombits(0xffc12345)
			a.opts.Tier = tier
			if err := a.run(c); err != nil {
				t.Fatal(err)
			}
			for l := range 3 {
				for e, y := range contracttest.Row(&a.out, 0, 0, l) {
					if isNaN := math.Float32bits(y) == 0x7fc00000; isNaN != (l == 1) || y != y != isNaN {
						t.Fatalf("row %d: element %d is %08x", l, e, math.Float32bits(y))
					}
				}
				if y := contracttest.Row(&a.opts.Sum, 0, 0, l)[68]; (math.Float32bits(y) == 0x7fc00000) != (l == 1) {
					t.Errorf("row %d: the sum is %08x", l, math.Float32bits(y))
				}
			}
		})
	}
}

// TestAccuracy compares with float64. A result is rounded four times after the sums, whose own
// error is a mean's: 3 units in the last place are the bound for a few times 10^5 numbers.
func TestAccuracy(t *testing.T) {
	const d, rows, ulp = 576, 500, 0x1p-23
	r := testutil.Rand(9)
	x := make([]float32, rows*d)
	r.Fill(x)
	y := make([]float32, len(x))
	if err := norm.RMSNorm(kernel.BHLD(y, 1, 1, rows, d), kernel.BHLD(x, 1, 1, rows, d), nil, 1e-6, norm.Options{}); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		squares := 0.0
		for _, v := range x[i*d:][:d] {
			squares += float64(v) * float64(v)
		}
		for e, v := range x[i*d:][:d] {
			want := float64(v) / math.Sqrt(squares/d+1e-6)
			if got := float64(y[i*d+e]); math.Abs(got-want) > 3*ulp*math.Abs(want) {
				t.Fatalf("row %d: element %d is %v, want %v", i, e, got, want)
			}
		}
	}
}

// TestAllocatesNothing: in the steady state.
func TestAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range []testCase{
		{layer: true, weight: true, b: 1, h: 1, l: 50, d: 64},
		{residual: true, b: 1, h: 1, l: 50, d: 64},
		{layer: true, residual: true, sum: true, b: 1, h: 1, l: 50, d: 64},
	} {
		a := c.data(testutil.Dyadics)
		for threads := 1; threads <= 3; threads++ {
			a.opts.Threads = threads
			testutil.CheckNoMallocs(t, c.String(), 20, func() {
				if err := a.run(c); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestConcurrent: calls of different shapes at once do not disturb each other.
func TestConcurrent(t *testing.T) {
	contracttest.ForceThreads(t)
	var all sync.WaitGroup
	for i, c := range cases()[:40] {
		all.Go(func() {
			for range 3 {
				a := c.data(testutil.KindOf(i))
				out, _ := a.want(c)
				a.opts.Threads = 1 + i%4
				if err := a.run(c); err != nil {
					t.Error(err)
				}
				contracttest.EachRow(&a.out, func(b, h, l int, row []float32) {
					testutil.CheckBits(t, c.String(), row, out[[3]int{b, h, l}])
				})
			}
		})
	}
	all.Wait()
}
