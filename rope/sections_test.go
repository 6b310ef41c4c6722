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

// What Transformers 5.24 rotates: Qwen2VLRotaryEmbedding, Qwen3VLTextRotaryEmbedding and
// LlamaRotaryEmbedding with YaRN, for two tokens of which element i is (7i mod 13 - 6)/4. It
// computes angles and all else in float32, whose errors at position 100 are some 100·2^-24.
func TestTransformers(t *testing.T) {
	sections := []int{5, 100, 7, 3, 2, 9}
	for _, c := range []struct {
		what      string
		config    rope.Config
		positions []int
		want      []float32
	}{
		{"Qwen2-VL", rope.Config{Dims: 16, Sections: []int{2, 3, 3}}, sections, []float32{
			-0.904955447, -1.25251865, -0.794998348, 0.158465773, -0.997551024, 0.759471834, -0.750498533, 1.00079036,
			1.29655528, 0.237058714, -0.99648267, 1.57317793, -0.0699428469, -1.49522674, 0.248499513, -1.24936736,
			1.19070792, -0.978682816, 1.15978265, -0.770309031, 1.03704441, -0.514025867, 1.25894928, -0.252133518,
			1.04029536, -0.205377579, -1.21136451, 0.177831262, -1.21944213, 0.485569179, -0.988709688, 0.74928546}},
		{"Qwen3-VL", rope.Config{Dims: 16, Sections: []int{4, 2, 2}, InterleavedSections: true}, sections, []float32{
			-0.904955447, -1.15038633, -1.17541587, 0.257579148, -0.997551024, 0.759471834, -0.751240551, 1.00197518,
			1.29655528, -0.549191475, -0.493353307, 1.56001699, -0.0699428469, -1.49522674, 0.246246889, -1.24841726,
			1.19070792, -0.582753658, 1.64119792, 0.755010486, 1.03704441, -0.514025867, 1.34358859, -0.273588151,
			1.04029536, -0.812648892, -0.344919682, -0.234433666, -1.21944213, 0.485569179, -0.870212376, 0.741720676}},
		{"YaRN", rope.Config{Dims: 16, Magnitude: 1.25, Frequencies: []float64{1, 0.19764235615730286, 0.02500000037252903, 0.007905694656074047,
			0.0024999999441206455, 0.0007905694656074047, 0.0002500000118743628, 7.905694656074047e-05}}, sections[:2], []float32{
			-1.13119435, -1.13282287, -1.51134813, 0.550415158, -1.24990237, 0.944904208, -0.937889934, 1.2506175,
			1.62069416, 1.12061357, -0.504866004, 1.89823425, -0.0156245921, -1.8712796, 0.311327875, -1.56200576,
			1.48838496, -0.762554705, 0.371063113, -0.881586254, 1.59770918, -0.672407031, 1.5932585, -0.319901735,
			1.3003695, -0.990459681, 2.06321168, -0.446506619, -1.20467067, 0.573688745, -1.2105509, 0.935000181}},
	} {
		x := make([]float32, len(c.want))
		for i := range x {
			x[i] = float32(7*i%13-6) / 4
		}
		if err := mustNew(t, c.config).Apply(kernel.BHLD(x, 1, 1, 2, 16), c.positions, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, got := range x {
			if d := math.Abs(float64(got - c.want[i])); !(d <= 2e-5) {
				t.Errorf("%s: number %d is %v, want %v", c.what, i, got, c.want[i])
			}
		}
	}
}

// The pairs of a section have the bits of a Rope whose tokens all have its positions, in the
// table or not; section says which one a pair is in.
func TestSections(t *testing.T) {
	for _, c := range []struct {
		sections    []int
		interleaved bool
		section     []int // of each pair
	}{
		{[]int{2, 3, 1}, false, []int{0, 0, 1, 1, 1, 2}},
		{[]int{2, 2, 2}, true, []int{0, 1, 2, 0, 1, 2}},
		{[]int{4, 1, 1}, true, []int{0, 1, 2, 0, 0, 0}},
		{[]int{0, 6}, false, []int{1, 1, 1, 1, 1, 1}},
		{[]int{6}, false, []int{0, 0, 0, 0, 0, 0}},
		{[]int{1, 1, 1, 1, 0, 1, 1, 0}, false, []int{0, 1, 2, 3, 5, 6}},
	} {
		const batch, heads, length, d, n = 2, 2, 3, 14, 6
		for _, pairing := range []rope.Pairing{rope.RotateHalf, rope.Interleaved} {
			for _, each := range []int{length, batch * length} {
				config := rope.Config{Dims: 2 * n, Pairing: pairing, Positions: 40, Magnitude: 1.5}
				plain := mustNew(t, config)
				config.Sections, config.InterleavedSections = c.sections, c.interleaved
				positions := make([]int, each*len(c.sections))
				for i := range positions {
					positions[i] = 11 * (i + 1) // some in the table
				}
				random := testutil.Rand(1)
				x := kernel.BLHD(make([]float32, batch*length*heads*d), batch, length, heads, d)
				contracttest.EachRow(&x, func(_, _, _ int, row []float32) { random.Fill(row) })
				want := kernel.BLHD(make([]float32, batch*length*heads*d), batch, length, heads, d)
				contracttest.EachRow(&want, func(b, h, l int, row []float32) {
					at := l
					if each > length {
						at = b*length + l
					}
					from := contracttest.Row(&x, b, h, l)
					copy(row, from)
					for i, section := range c.section {
						y := rotated(t, plain, from, positions[section*each+at], pairing)
						a, b := i, i+n
						if pairing == rope.Interleaved {
							a, b = 2*i, 2*i+1
						}
						row[a], row[b] = y[a], y[b]
					}
				})
				if err := mustNew(t, config).Apply(x, positions, kernel.Exec{}); err != nil {
					t.Fatal(err)
				}
				contracttest.Same(t, fmt.Sprintf("%+v, pairing %d", c, pairing), &x, &want)
			}
		}
	}
}

// Cosines and sines are float64's times the magnitude, rounded once.
func TestMagnitude(t *testing.T) {
	plain, large := mustNew(t, rope.Config{Dims: 32}), mustNew(t, rope.Config{Dims: 32, Magnitude: 1.3862943611198906})
	var cos, sin, cosLarge, sinLarge [16]float32
	for position := range 50 {
		for r, to := range map[*rope.Rope][2][]float32{plain: {cos[:], sin[:]}, large: {cosLarge[:], sinLarge[:]}} {
			if err := r.CosSin(position, to[0], to[1]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range cos {
			angle := float64(position) * math.Pow(10000, -float64(i)/16)
			for _, x := range []struct{ got, plain, want float64 }{
				{float64(cosLarge[i]), float64(cos[i]), math.Cos(angle)}, {float64(sinLarge[i]), float64(sin[i]), math.Sin(angle)},
			} {
				// Half a unit of the last place, and the error of the angle in float64.
				if want := x.want * 1.3862943611198906; math.Abs(x.got-want) > math.Abs(want)*0x1.0001p-24+1e-14 {
					t.Errorf("position %d, pair %d: %v, want %v", position, i, x.got, want)
				}
			}
		}
	}
}

// Rows of 16 bits are widened, rotated and rounded once, in all layouts and on all tiers.
func TestApplyHalves(t *testing.T) {
	random := testutil.Rand(8)
	for _, dtype := range []kernel.DType{kernel.Float16, kernel.BFloat16} {
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for layout := range contracttest.Layouts {
				for _, dims := range []int{2, 10, 40} {
					c := contracttest.Case{Layout: layout}
					wide := c.Tensor(2, 3, 2, 42, testutil.Canary)
					contracttest.EachRow(&wide, func(_, _, _ int, row []float32) { random.Fill(row) })
					x := contracttest.As(wide, dtype)
					r := mustNew(t, rope.Config{Dims: dims, Magnitude: 1.25})
					positions := []int{3, 1 << 20}
					wide = contracttest.Widened(x)
					contracttest.EachRow(&wide, func(b, h, l int, row []float32) { copy(row, rotated(t, r, row, positions[l], rope.RotateHalf)) })
					want := contracttest.As(wide, dtype)
					if err := r.Apply(x, positions, kernel.Exec{Tier: tier}); err != nil {
						t.Fatal(err)
					}
					contracttest.CheckGaps(t, &x)
					contracttest.Same(t, fmt.Sprintf("%v layout %d dims %d", dtype, layout, dims), &x, &want)
				}
			}
		})
	}
}

// A warm call allocates nothing, with sections and with rows of 16 bits.
func TestSectionsAllocateNothing(t *testing.T) {
	r := mustNew(t, rope.Config{Dims: 64, Sections: []int{16, 8, 8}, Positions: 3})
	x, positions := kernel.BHLD(make([]kernel.BF16, 2*2*64), 1, 2, 2, 64), []int{0, 1, 2, 3, 4, 5}
	testutil.CheckNoMallocs(t, "Apply", 100, func() {
		if err := r.Apply(x, positions, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
	})
}

// An image of 1×2 patches after a text of one token: the text has position 0 in time, height and
// width, and the patches differ in width.
func ExampleConfig_sections() {
	r, err := rope.New(rope.Config{Dims: 6, Frequencies: []float64{math.Pi / 2, math.Pi / 2, math.Pi / 2}, Sections: []int{1, 1, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{
		1, 2, 3, 0, 0, 0,
		1, 2, 3, 0, 0, 0,
		1, 2, 3, 0, 0, 0,
	}
	err = r.Apply(kernel.BHLD(x, 1, 1, 3, 6), []int{
		0, 1, 1, // time
		0, 1, 1, // height
		0, 1, 2, // width
	}, kernel.Exec{})
	for i := range 3 {
		fmt.Printf("%3.0f\n", x[6*i:6*i+6])
	}
	fmt.Println(err)

	// Output:
	// [  1   2   3   0   0   0]
	// [  0   0   0   1   2   3]
	// [  0   0  -3   1   2   0]
	// <nil>
}
