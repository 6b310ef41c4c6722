package norm_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// sum64 is the contract's sum of terms that are exact in float64.
func sum64(n int, term func(i int) float64) float64 {
	var a [8]float64
	for i := range n {
		a[i%8] += term(i)
	}
	for n := 4; n >= 1; n /= 2 {
		for r := range n {
			a[r] += a[r+n]
		}
	}
	return a[0]
}

// A backwardData holds the tensors of a call of a gradient: x is the case's.
type backwardData struct {
	data
	dy, dx, direct kernel.Tensor
	dw, db         []float32
	accumulate     bool
	exec           kernel.Exec
}

func (c testCase) backwardData(values testutil.Kind) (a backwardData) {
	a.data = c.data(values)
	other, third := c, c
	other.seed, third.seed = c.seed+1000, c.seed+2000
	a.dy, a.dx = other.data(values).x, other.data(values).out
	a.direct = kernel.Tensor{}
	if c.residual {
		a.direct = third.data(values).x
	}
	switch {
	case c.inPlace && c.sum:
		a.dx = a.direct
	case c.inPlace && c.weight:
		a.dx = a.dy
	case c.inPlace:
		a.dx = a.x
	}
	r := testutil.Rand(c.seed)
	a.dw = make([]float32, c.d)
	r.Fill(a.dw)
	if c.layer {
		a.db = make([]float32, c.d)
		r.Fill(a.db)
	}
	a.accumulate = c.seed%2 == 0
	return a
}

func (a *backwardData) run(c testCase) error {
	g := norm.Gradients{X: a.dx, Weight: a.dw, Bias: a.db}
	o := norm.BackwardOptions{Exec: a.exec, Direct: a.direct, Accumulate: a.accumulate}
	if c.layer {
		return norm.LayerNormBackward(g, a.dy, a.x, a.weight, 1e-5, o)
	}
	return norm.RMSNormBackward(g, a.dy, a.x, a.weight, 1e-5, o)
}

// contract returns the gradients of the contract, straight from its text.
func (a *backwardData) contract(c testCase) (dx map[[3]int][]float32, dw, db []float32) {
	dx = map[[3]int][]float32{}
	dw, db = make([]float32, c.d), make([]float32, c.d)
	if a.accumulate {
		copy(dw, a.dw)
		copy(db, a.db)
	}
	blocks := map[int][2][]float32{}
	contracttest.EachRow(&a.x, func(b, h, l int, x []float32) {
		at := [3]int{b, h, l}
		dy := contracttest.Row(&a.dy, b, h, l)
		size := float64(c.d)
		y, g, row := append([]float32(nil), x...), make([]float32, c.d), make([]float32, c.d)
		if c.layer {
			y = centered(centered(x))
		}
		inv := float32(1 / math.Sqrt(float64(sum64(c.d, func(i int) float64 { return float64(y[i]) * float64(y[i]) })/size)+float64(float32(1e-5))))
		for i := range y {
			y[i] *= inv
			g[i] = dy[i]
			if a.weight != nil {
				g[i] *= a.weight[i]
			}
		}
		slope, center := float32(sum64(c.d, func(i int) float64 { return float64(g[i]) * float64(y[i]) })/size), float32(0)
		if c.layer {
			center = float32(sum64(c.d, func(i int) float64 { return float64(g[i]) }) / size)
		}
		shape := a.x.Shape()
		number := ((b*shape[1]+h)*shape[2] + l) / 32
		if _, ok := blocks[number]; !ok {
			blocks[number] = [2][]float32{make([]float32, c.d), make([]float32, c.d)}
		}
		for i := range row {
			row[i] = float32(float32(float32(g[i]-center)-float32(y[i]*slope)) * inv)
			if c.residual {
				row[i] += contracttest.Row(&a.direct, b, h, l)[i]
			}
			if row[i] != row[i] {
				row[i] = contracttest.CanonicalNaN
			}
			blocks[number][0][i] += float32(dy[i] * y[i])
			blocks[number][1][i] += dy[i]
		}
		dx[at] = row
	})
	for group := 0; group < 100; group += 32 {
		sums := [2][]float32{make([]float32, c.d), make([]float32, c.d)}
		for n := group; n < group+32; n++ {
			for of := range sums {
				for i, x := range blocks[n][of] {
					sums[of][i] += x
				}
			}
		}
		for i := range dw {
			dw[i] += sums[0][i]
			db[i] += sums[1][i]
		}
	}
	return dx, dw, db
}

// TestBackward compares all tiers, alone and on threads, with the contract.
func TestBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	list := append(cases(), testCase{layer: true, weight: true, b: 2, h: 3, l: 70, d: 9, seed: 910}, testCase{b: 1, h: 1, l: 500, d: 17, seed: 911}, testCase{layer: true, b: 1, h: 2, l: 1100, d: 3, seed: 912})
	for layout := range contracttest.Layouts { // heads and batch rows of one row each
		list = append(list, testCase{layer: layout%2 == 0, weight: true, residual: true, layout: layout, b: 9, h: 5, l: 1, d: 11, seed: 920 + int(layout)})
	}
	for i, c := range list {
		if testutil.Thin() && i%4 != 0 && c.lengths == nil {
			continue
		}
		values := testutil.KindOf(i)
		a := c.backwardData(values)
		dx, dw, db := a.contract(c)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				a := c.backwardData(values)
				a.exec = kernel.Exec{Tier: tier, Threads: threads}
				if err := a.run(c); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				what := fmt.Sprintf("%v of %v, threads=%d: ", c, values, threads)
				contracttest.EachRow(&a.dx, func(b, h, l int, row []float32) {
					testutil.CheckBits(t, fmt.Sprint(what, "X, row ", b, h, l), row, dx[[3]int{b, h, l}])
				})
				testutil.CheckBits(t, what+"Weight", a.dw, dw)
				if c.layer {
					testutil.CheckBits(t, what+"Bias", a.db, db)
				}
				if c.lengths == nil {
					contracttest.CheckGaps(t, &a.dx)
				}
			}
		})
	}
}

// TestBackwardDifferences compares with finite differences of the norm in float64.
func TestBackwardDifferences(t *testing.T) {
	const rows, d, eps = 3, 9, 1e-3
	for _, layer := range []bool{false, true} {
		x, dy, w, b := testutil.Floats(rows*d), testutil.Floats(rows*d + 1)[1:], testutil.Floats(d), testutil.Floats(d + 1)[1:]
		x64, w64, b64 := wide(x), wide(w), wide(b)
		loss := func() (sum float64) {
			for r := range rows {
				row, mean, square := x64[r*d:][:d], 0.0, 0.0
				for _, x := range row {
					mean += x / d
				}
				if !layer {
					mean = 0
				}
				for _, x := range row {
					square += (x - mean) * (x - mean) / d
				}
				for i, x := range row {
					y := (x - mean) / math.Sqrt(square+eps) * w64[i]
					if layer {
						y += b64[i]
					}
					sum += float64(dy[r*d+i]) * y
				}
			}
			return sum
		}
		g := norm.Gradients{X: kernel.BHLD(make([]float32, rows*d), 1, 1, rows, d), Weight: make([]float32, d)}
		dx := contracttest.Row(&g.X, 0, 0, 0)[: rows*d : rows*d]
		call := norm.RMSNormBackward
		if layer {
			g.Bias, call = make([]float32, d), norm.LayerNormBackward
		}
		if err := call(g, kernel.BHLD(dy, 1, 1, rows, d), kernel.BHLD(x, 1, 1, rows, d), w, eps, norm.BackwardOptions{}); err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string]struct {
			of  []float64
			got []float32
		}{"X": {x64, dx}, "Weight": {w64, g.Weight}, "Bias": {b64, g.Bias}} {
			for i := range p.got {
				const h = 1e-5
				before := p.of[i]
				p.of[i] = before + h
				up := loss()
				p.of[i] = before - h
				down := loss()
				p.of[i] = before
				if want := (up - down) / (2 * h); math.Abs(float64(p.got[i])-want) > 2e-6*(1+math.Abs(want)) {
					t.Errorf("layer=%v: %s[%d] is %v, want %v", layer, what, i, p.got[i], want)
				}
			}
		}
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, x := range x {
		y[i] = float64(x)
	}
	return y
}

// TestBackwardGolden: every tier and architecture has these bits.
func TestBackwardGolden(t *testing.T) {
	for name, want := range map[string]string{
		"rms":   "c735ac5b9437d255709a510b1661894e6a98c7c6114334b9c66752183ea46a80",
		"layer": "6cd7a79edca54d3c6f503f2574a58badf5cc22836f501e36f56a2b3e00acb31d",
	} {
		c := testCase{layer: name == "layer", weight: true, residual: true, b: 2, h: 1, l: 90, d: 203, seed: 77}
		a := c.backwardData(testutil.Mantissas)
		if err := a.run(c); err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		add := func(row []float32) {
			for _, y := range row {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y)))
			}
		}
		contracttest.EachRow(&a.dx, func(_, _, _ int, row []float32) { add(row) })
		add(a.dw)
		add(a.db)
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s: sha256 %s, want %s", name, got, want)
		}
	}
}

func TestBackwardAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	c := testCase{layer: true, residual: true, b: 1, h: 1, l: 300, d: 64}
	a := c.backwardData(testutil.Dyadics)
	for a.exec.Threads = 1; a.exec.Threads <= 3; a.exec.Threads++ {
		testutil.CheckNoMallocs(t, fmt.Sprint("threads=", a.exec.Threads), 20, func() {
			if err := a.run(c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestBackwardErrors: what does not fit is named, and no gradient is touched.
func TestBackwardErrors(t *testing.T) {
	memory := testutil.Filled(1000, 7)
	at := func(i int) kernel.Tensor { return kernel.BHLD(memory[i:i+48], 1, 2, 3, 8) }
	type call struct {
		g      norm.Gradients
		dy, x  kernel.Tensor
		weight []float32
		eps    float32
		o      norm.BackwardOptions
	}
	for _, x := range []struct {
		arg, want string
		spoil     func(c *call)
	}{
		{"x", "float32", func(c *call) { c.x = kernel.BHLD(make([]kernel.F16, 48), 1, 2, 3, 8) }},
		{"dy", "shape [1 2 3 8], that of x", func(c *call) { c.dy = kernel.BHLD(memory[:48], 1, 3, 2, 8) }},
		{"Gradients.X", "that of x", func(c *call) { c.g.X = kernel.BHLD(memory[100:148], 1, 3, 2, 8) }},
		{"Gradients.X", "strides that nest", func(c *call) { c.g.X = kernel.Strided(memory[100:], [4]int{1, 2, 3, 8}, [3]int{0, 0, 8}) }},
		{"Gradients.X", "the same rows", func(c *call) { c.g.X = at(1) }},
		{"Gradients.Weight", "8, one for each", func(c *call) { c.g.Weight = memory[500:507] }},
		{"Gradients.Weight", "memory of its own", func(c *call) { c.g.Weight = memory[40:48] }},
		{"Gradients.Bias", "nil, as RMSNorm", func(c *call) { c.g.Bias = memory[600:608] }},
		{"weight", "8, one for each", func(c *call) { c.weight = memory[700:707] }},
		{"eps", "finite", func(c *call) { c.eps = testutil.NaN }},
		{"Options.Direct", "as Gradients.X is not set", func(c *call) { c.g.X, c.o.Direct = kernel.Tensor{}, at(300) }},
		{"Options.Threads", "at least 1", func(c *call) { c.o.Threads = -1 }},
	} {
		c := call{norm.Gradients{X: at(100), Weight: memory[500:508]}, at(0), at(200), memory[700:708], 1e-5, norm.BackwardOptions{}}
		x.spoil(&c)
		contracttest.CheckArgument(t, x.want, norm.RMSNormBackward(c.g, c.dy, c.x, c.weight, c.eps, c.o), x.arg, x.want)
	}
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(1000, 7))
}

// TestAccumulateWithoutRows: where there are no rows, +0 is added to what a gradient holds.
func TestAccumulateWithoutRows(t *testing.T) {
	none := kernel.BHLD([]float32{}, 1, 1, 0, 4)
	before := []float32{float32(math.Copysign(0, -1)), math.Float32frombits(0xffc00123), 3, 0}
	want := []float32{0, math.Float32frombits(0x7fc00000), 3, 0}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		dw, db := append([]float32(nil), before...), append([]float32(nil), before...)
		err := norm.LayerNormBackward(norm.Gradients{Weight: dw, Bias: db}, none, none, nil, 1e-5, norm.BackwardOptions{Exec: kernel.Exec{Tier: tier}, Accumulate: true})
		if err != nil {
			t.Fatal(err)
		}
		testutil.CheckBits(t, "Weight", dw, want)
		testutil.CheckBits(t, "Bias", db, want)
	})
}
