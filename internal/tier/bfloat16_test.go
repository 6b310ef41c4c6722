package tier

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// A pairKind is a kernel for products in bfloat16.
type pairKind int

const (
	evenOdd    pairKind = iota // Products.GemmEvenOdd
	panelPairs                 // WeightKernels.GemmPairs
	tiles                      // GemmTiles
	tileHalves                 // GemmHalves
)

// An evenOddCase is a call of such a kernel.
type evenOddCase struct {
	kind pairKind
	load bool
	gemmCase
}

func (c evenOddCase) String() string { return fmt.Sprintf("load=%v %v", c.load, c.gemmCase) }

// evenOddCases returns a function that lists the cases of a kind: chains of equal and of different
// lengths, whole segments and others, and all heights of register tiles.
func evenOddCases(kind pairKind) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for a := range operands {
			for gaps := range 4 {
				for _, k := range []int{0, 1, 2, 3, 4, 5, 16, 17, 30, 31, 32, 33, 34, 63, 64, 65, 97} {
					for _, m := range upTo(9, 12, 13, 16, 17, 33) {
						if kind == panelPairs && k%2 > 0 {
							continue
						}
						i := len(list)
						list = append(list, evenOddCase{kind, i%3 == 0, gemmCase{gemmFromZero, m, k, contract.BF16Segment, a, gaps & 1 * 5, gaps >> 1 * 3, testutil.KindOf(i)}})
					}
				}
			}
		}
		return list
	}
}

// tileCases returns a function that lists calls of GemmTiles or GemmHalves.
func tileCases(kind pairKind) func(w int) []kernelCase {
	return func(int) []kernelCase { return casesOfTiles(kind) }
}

func casesOfTiles(kind pairKind) (list []kernelCase) {
	for _, gaps := range []int{0, 1, 2, 3} {
		for _, k := range []int{32, 64, 96, 288} {
			for _, m := range upTo(17, 31, 32, 33, 48, 49) {
				i := len(list)
				list = append(list, evenOddCase{kind, i%3 == 0, gemmCase{gemmFromZero, m, k, contract.BF16Segment, rowsTight, gaps & 1 * 6, gaps >> 1 * 3, testutil.KindOf(i)}})
			}
		}
	}
	return list
}

func (c evenOddCase) call(mem *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	if c.kind >= tiles {
		return c.tiles(mem, r)
	}
	if c.kind != evenOdd {
		w = ukernel.PanelLanes
	}
	m, k := c.m, c.k
	rs, cs := c.a.strides(m, k)
	ldb, ldc := w+c.gapB, w+c.gapC
	a := c.operand(mem, r, rs, cs)
	out := mem.Matrix("c", m, w, ldc, testutil.Canary)
	c.values.Fill(r, out, m, w, ldc)
	next := testutil.Rows[byte](mem, "next", 1, 1000, 1000) // fewer than a part has
	clear(next)
	if c.kind == panelPairs {
		b := c.pairs(mem, r, w, ldb)
		return func(p *kernelSet) { p.Weights.GemmPairs(out, ldc, a, rs, cs, b, ldb, m, k, c.load, next) }
	}
	b := mem.Matrix("b", k, w, ldb, testutil.NaN)
	c.values.Fill(r, b, k, w, ldb)
	return func(p *kernelSet) { p.GemmEvenOdd(out, ldc, a, rs, cs, b, ldb, m, k, c.load) }
}

// pairs returns a panel of pairs of so many lanes: factors, or now and then any bits.
func (c evenOddCase) pairs(mem *testutil.Arena, r *testutil.Rand, lanes, ldb int) []uint32 {
	b := testutil.Rows[uint32](mem, "b", c.k/2, lanes, ldb)
	for i := range b {
		b[i] = uint32(c.factor(r)) | uint32(c.factor(r))<<16
		if c.values == testutil.NonFinite && c.kind < tiles && r.IntN(16) == 0 {
			b[i] = uint32(r.Uint64())
		}
	}
	return b
}

func (c evenOddCase) factor(r *testutil.Rand) uint16 {
	return scalar.ToBF16(scalar.RoundBF16(c.values.Next(r)))
}

// tiles is a call of GemmTiles or GemmHalves. The gap of B says which lanes it has.
func (c evenOddCase) tiles(mem *testutil.Arena, r *testutil.Rand) func(p *kernelSet) {
	lanes := (c.m%4 + 1) * ukernel.PanelStep
	lda, ldc := c.k+c.gapB, lanes+c.gapC
	a := testutil.Rows[uint16](mem, "a", c.m, c.k, lda)
	for i := range a {
		a[i] = c.factor(r)
	}
	numbers := c
	if c.kind == tileHalves {
		numbers.k *= 2
	}
	b := numbers.pairs(mem, r, lanes, lanes)
	out := mem.Matrix("c", c.m, lanes, ldc, testutil.Canary)
	for i := range c.m {
		for lane := range lanes { // a sum, as products make it
			out[i*ldc+lane] = float32(int8(r.Uint64()))
		}
	}
	return func(p *kernelSet) {
		if c.kind == tileHalves {
			p.Unit.GemmHalves(out, ldc, a, lda, b, lanes, c.m, c.k, c.load)
			return
		}
		p.Unit.GemmTiles(out, ldc, a, lda, b, lanes, c.m, c.k, c.load, view.BytesOf(b)[:c.k%3*len(b)])
	}
}

// referenceUnit returns u with what package fallback lacks, by its definition.
func referenceUnit(u ukernel.Unit) ukernel.Unit {
	u.GemmTiles, u.GemmHalves, u.PackPairs = testutil.GemmTiles, testutil.GemmHalves, transpose[uint32]
	u.RoundHalves, u.ScoreHalves = testutil.RoundHalves, testutil.ScoreHalves
	return u
}

// A roundHalvesCase is a call of RoundHalves.
type roundHalvesCase struct{ roundCase }

func roundHalvesCases(w int) (list []kernelCase) {
	for _, c := range roundCases(w) {
		list = append(list, roundHalvesCase{c.(roundCase)})
	}
	return list
}

func (c roundHalvesCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lanes := (c.n%4 + 1) * ukernel.PanelStep
	s, scales, unit := c.arguments(a, r, lanes)
	first, other := testutil.Slice[uint32](a, "first", (c.n+1)/2*lanes), testutil.Slice[uint32](a, "other", (c.n+1)/2*lanes)
	return func(p *kernelSet) {
		p.Unit.RoundHalves(first, other, s, lanes+c.gap, c.n, scales, c.lsc, c.bits, unit)
	}
}

// A scoreHalvesCase is a call of ScoreHalves.
type scoreHalvesCase struct {
	lsc int
	evenOddCase
}

func (c scoreHalvesCase) String() string { return fmt.Sprintf("lsc=%d %v", c.lsc, c.evenOddCase) }

func scoreHalvesCases(int) (list []kernelCase) {
	for _, c := range casesOfTiles(tileHalves) {
		if c := c.(evenOddCase); c.m > 0 && c.k <= contract.ColumnSegment {
			list = append(list, scoreHalvesCase{len(list) % 3, c})
		}
	}
	return list
}

func (c scoreHalvesCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lanes, lda := (c.m%4+1)*ukernel.PanelStep, c.k+c.gapB
	a := testutil.Rows[uint16](mem, "a", c.m, c.k, lda)
	for i := range a {
		a[i] = c.factor(r)
	}
	first := c.pairs(mem, r, lanes, lanes)
	other := c.pairs(mem, r, lanes, lanes)
	scales, top := mem.Vector("scales", (c.m-1)*c.lsc+1, 0), mem.Vector("max", lanes, 0)
	c.values.Fill(r, scales, 1, len(scales), len(scales))
	maxima(r, top, c.values)
	s := mem.Matrix("s", c.m, lanes, lanes, testutil.Canary)
	c.values.Fill(r, s, c.m, lanes, lanes)
	return func(p *kernelSet) {
		p.Unit.ScoreHalves(s, a, lda, first, other, scales, c.lsc, c.m, c.k, c.load, top)
	}
}

// referencePairs is WeightKernels.GemmPairs, by its definition.
func referencePairs(c []float32, ldc int, a []float32, rs, cs int, b []uint32, ldb, m, k int, load bool, _ []byte) {
	testutil.GemmEvenOdd(ukernel.PanelLanes, c, ldc, a, rs, cs, testutil.WidePairs(b, ldb), ldb, m, k, load)
}

// A roundBF16Case is a call of RoundBF16.
type roundBF16Case struct{ n int }

func (c roundBF16Case) String() string { return fmt.Sprintf("n=%d", c.n) }

func roundBF16Cases(int) (list []kernelCase) {
	for _, n := range upTo(2*16+1, 64, 80, 129) {
		for range 8 {
			list = append(list, roundBF16Case{n})
		}
	}
	return list
}

func (c roundBF16Case) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	src, dst := mem.Vector("src", c.n, 0), mem.Vector("dst", c.n, 0)
	for i := range src {
		src[i] = narrowable(r)
		if r.IntN(4) == 0 { // near the least
			src[i] = math.Float32frombits(contract.LeastBF16 - 0x10000 + uint32(r.IntN(0x20000)) | uint32(r.IntN(2))<<31)
		}
	}
	mem.Slots[1].Exact = true
	return func(p *kernelSet) { p.Convert.RoundBF16(dst, src) }
}

// A pairsOf16Case is a call of WidenPairs or NarrowPairs, on any bits.
type pairsOf16Case struct {
	narrow           bool
	n, d, gapS, gapD int
}

func (c pairsOf16Case) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func pairsOf16Cases(narrow bool) func(int) []kernelCase {
	return func(int) (list []kernelCase) {
		converterShapes(func(n, d, gapS, gapD int) { list = append(list, pairsOf16Case{narrow, n, d, gapS, gapD}) })
		return list
	}
}

func (c pairsOf16Case) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	if !c.narrow {
		src := testutil.Rows[uint32](mem, "src", c.n, c.d, lds)
		fillBits(src, r)
		even, odd := mem.Matrix("even", c.n, c.d, ldd, testutil.Canary), mem.Matrix("odd", c.n, c.d, ldd, testutil.Canary)
		return func(p *kernelSet) { p.Convert.WidenPairs(even, odd, ldd, src, lds, c.n, c.d) }
	}
	dst := testutil.Rows[uint32](mem, "dst", c.n, c.d, ldd)
	clear(dst)
	even, odd := mem.Matrix("even", c.n, c.d, lds, testutil.Canary), mem.Matrix("odd", c.n, c.d, lds, testutil.Canary)
	for _, x := range [][]float32{even, odd} {
		for i := range x {
			x[i] = math.Float32frombits(uint32(r.Uint64()))
		}
	}
	return func(p *kernelSet) { p.Convert.NarrowPairs(dst, ldd, even, odd, lds, c.n, c.d) }
}

// spoilEvenOdd calls f after GemmEvenOdd, with the slices that start at the last row and its first
// lane.
func spoilEvenOdd(f func(c, a, b []float32, cs, ldb, k int, load bool)) func(p *kernelSet) {
	return func(p *kernelSet) {
		product := p.GemmEvenOdd
		p.GemmEvenOdd = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			product(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 0 && k > 0 {
				f(c[(m-1)*ldc:], a[(m-1)*rs:], b, cs, ldb, k, load)
			}
		}
	}
}

var evenOddMutants = []mutant{
	{"GemmEvenOdd", "there is one chain", spoilEvenOdd(func(c, a, b []float32, cs, ldb, k int, load bool) {
		if !load && k <= contract.BF16Segment {
			c[0] = 0
			for x := range k {
				c[0] = scalar.FMA(a[x*cs], b[x*ldb], c[0])
			}
		}
	})},
	{"GemmEvenOdd", "a segment is added chain by chain", spoilEvenOdd(func(c, a, b []float32, cs, ldb, k int, load bool) {
		if load || k <= contract.BF16Segment || k > 2*contract.BF16Segment {
			return
		}
		var chains [4]float32
		for x := range k {
			to := &chains[x/contract.BF16Segment*2+x%2]
			*to = scalar.FMA(a[x*cs], b[x*ldb], *to)
		}
		c[0] = chains[0] + chains[1] + chains[2] + chains[3]
	})},
	{"Weights.GemmPairs", "what c holds does not count", func(p *kernelSet) {
		product := p.Weights.GemmPairs
		p.Weights.GemmPairs = func(c []float32, ldc int, a []float32, rs, cs int, b []uint32, ldb, m, k int, load bool, next []byte) {
			product(c, ldc, a, rs, cs, b, ldb, m, k, false, next)
		}
	}},
	{"Weights.GemmPairs", "the halves are exchanged", func(p *kernelSet) {
		product := p.Weights.GemmPairs
		p.Weights.GemmPairs = func(c []float32, ldc int, a []float32, rs, cs int, b []uint32, ldb, m, k int, load bool, next []byte) {
			swapped := make([]uint32, len(b))
			for i, w := range b {
				swapped[i] = w<<16 | w>>16
			}
			product(c, ldc, a, rs, cs, swapped, ldb, m, k, load, next)
		}
	}},
	{"Unit.GemmTiles", "the last lanes are missing", func(p *kernelSet) {
		product := p.Unit.GemmTiles
		p.Unit.GemmTiles = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, next []byte) {
			if lanes <= ukernel.PanelLanes {
				product(c, ldc, a, lda, b, lanes, m, k, load, next)
			}
		}
	}},
	{"Unit.GemmHalves", "the other numbers of the last segment are the first ones", func(p *kernelSet) {
		product := p.Unit.GemmHalves
		p.Unit.GemmHalves = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
			other := b[len(b)-contract.BF16Segment/2*lanes:]
			was := slices.Clone(other)
			copy(other, b[len(b)-contract.BF16Segment*lanes:])
			product(c, ldc, a, lda, b, lanes, m, k, load)
			copy(other, was)
		}
	}},
	{"Unit.RoundHalves", "the second of a pair is missing", func(p *kernelSet) {
		f := p.Unit.RoundHalves
		p.Unit.RoundHalves = func(first, other []uint32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
			f(first, other, s, ld, n, scales, lsc, bits, unit)
			for i := range other[:(n+1)/2*len(unit)] {
				other[i] &= 0xffff
			}
		}
	}},
	{"Unit.ScoreHalves", "a product is rounded before it is added", func(p *kernelSet) {
		f := p.Unit.ScoreHalves
		p.Unit.ScoreHalves = func(s []float32, a []uint16, lda int, first, other []uint32, scales []float32, lsc, m, k int, load bool, max []float32) {
			before := slices.Clone(s)
			f(s, a, lda, first, other, scales, lsc, m, k, false, max)
			for i := range s {
				if load {
					s[i] += before[i]
				}
			}
		}
	}},
	{"Convert.RoundBF16", "small numbers stay", func(p *kernelSet) {
		p.Convert.RoundBF16 = func(dst, src []float32) {
			for i, x := range src {
				dst[i] = scalar.BF16(scalar.ToBF16(x))
			}
		}
	}},
	{"Convert.RoundBF16", "the least is looked for before rounding", func(p *kernelSet) {
		round := p.Convert.RoundBF16
		p.Convert.RoundBF16 = func(dst, src []float32) {
			round(dst, src)
			for i, x := range src {
				if math.Float32bits(x)&^(1<<31) < contract.LeastBF16 {
					dst[i] = 0
				}
			}
		}
	}},
	{"Convert.WidenPairs", "the last row is missing", func(p *kernelSet) {
		widen := p.Convert.WidenPairs
		p.Convert.WidenPairs = func(even, odd []float32, ldd int, src []uint32, lds, n, d int) {
			widen(even, odd, ldd, src, lds, max(0, n-1), d)
		}
	}},
	{"Convert.NarrowPairs", "the halves are exchanged", func(p *kernelSet) {
		narrow := p.Convert.NarrowPairs
		p.Convert.NarrowPairs = func(dst []uint32, ldd int, even, odd []float32, lds, n, d int) {
			narrow(dst, ldd, odd, even, lds, n, d)
		}
	}},
}
