package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/fallback"
)

// referenceStrips are the kernels for strips, straight from their definition.
var referenceStrips = stripKernels{
	strip: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
		fallback.TileW(stripLanes, c, ldc, a, rs, cs, b, ldb, m, k, load)
	},
	stripF16: func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool) {
		fallback.TileW(stripLanes, c, ldc, a, rs, cs, widened(b, fallback.F16), ldb, m, k, load)
	},
	stripBF16: func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool) {
		fallback.TileW(stripLanes, c, ldc, a, rs, cs, widened(b, fallback.BF16), ldb, m, k, load)
	},
	settle: fallback.Settle,
}

func widened(b []uint16, widen func(uint16) float32) []float32 {
	s := make([]float32, len(b))
	for i, h := range b {
		s[i] = widen(h)
	}
	return s
}

// A stripKind is the type of the numbers of a strip.
type stripKind int

const (
	float32Strip stripKind = iota
	f16Strip
	bf16Strip
)

// A stripCase is a call of a strip kernel.
type stripCase struct {
	kind stripKind
	load bool
	tileCase
}

func (c stripCase) String() string { return fmt.Sprintf("load=%v %v", c.load, c.tileCase) }

// stripCases returns a function that lists the cases of a kind: those of a tile, with
// fewer rows.
func stripCases(kind stripKind) func(w int) []microCase {
	return func(int) (list []microCase) {
		for a := range operands {
			for gaps := range 4 {
				for _, k := range []int{0, 1, 2, 3, 4, 7, 8, 17} {
					for _, m := range upTo(5, 7, 8, 9, 15, 16, 17, 25) {
						i := len(list)
						list = append(list, stripCase{kind, i%3 == 0, tileCase{tileProduct, m, k, a, gaps & 1 * 5, gaps >> 1 * 3, kindOf(i)}})
					}
				}
			}
		}
		return list
	}
}

func (c stripCase) call(mem *arena, r *rng, _ int) func(p *panelKernels) {
	m, k := c.m, c.k
	rs, cs := c.a.strides(m, k)
	ldb, ldc := stripLanes+c.gapB, stripLanes+c.gapC
	a := c.operand(mem, r, rs, cs)
	out := mem.matrix("c", m, stripLanes, ldc, canary)
	c.values.fill(r, out, m, stripLanes, ldc)
	if c.kind == float32Strip {
		b := mem.matrix("b", k, stripLanes, ldb, nan32)
		c.values.fill(r, b, k, stripLanes, ldb)
		return func(p *panelKernels) { p.strip(out, ldc, a, rs, cs, b, ldb, m, k, c.load) }
	}
	b := elementsOf[uint16](mem, "b", k, stripLanes, ldb, 2)
	for i := range b {
		b[i] = c.half(r)
	}
	if c.kind == f16Strip {
		return func(p *panelKernels) { p.stripF16(out, ldc, a, rs, cs, b, ldb, m, k, c.load) }
	}
	return func(p *panelKernels) { p.stripBF16(out, ldc, a, rs, cs, b, ldb, m, k, c.load) }
}

// half returns a number of 16 bits: any, NaN too, where the case's values are not
// finite.
func (c stripCase) half(r *rng) uint16 {
	switch {
	case c.values == nonfinite && r.intn(16) == 0:
		return uint16(r.next())
	case c.kind == f16Strip:
		return fallback.ToF16(c.values.next(r)) &^ 0x4000 // below 2
	}
	return uint16(uint32(r.next()>>32)&0x8fff | 0x3000)
}

// A settleCase is a call of settle.
type settleCase struct {
	m, lanes, gap int
	values        values
}

func (c settleCase) String() string {
	return fmt.Sprintf("m=%d lanes=%d ldc=lanes+%d of %v", c.m, c.lanes, c.gap, c.values)
}

func settleCases(int) (list []microCase) {
	for v := range valueKinds {
		for _, gap := range []int{0, 5} {
			for lanes := 0; lanes <= 64; lanes += stripStep {
				for m := range 6 {
					list = append(list, settleCase{m, lanes, gap, v})
				}
			}
		}
	}
	return list
}

// call wants NaNs to the bit, which canaries that stand for the sums see.
func (c settleCase) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	ldc := c.lanes + c.gap
	out := a.matrix("c", c.m, c.lanes, ldc, canary)
	if c.lanes > 0 {
		c.values.fill(r, out, c.m, c.lanes, ldc)
	}
	bias := a.vector("bias", c.lanes, 0)
	c.values.fill(r, bias, 1, c.lanes, c.lanes)
	bits := a.int32s("bits of c", len(out))
	return func(p *panelKernels) {
		p.settle(out, ldc, c.m, bias)
		copy(bits, typed[int32](a.slots[0].data))
	}
}

var stripMutants = []mutant{
	{"strip", "the last bit of the last lane of a second row is wrong", func(p *panelKernels) {
		strip := p.strip
		p.strip = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			strip(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 1 && k > 0 {
				x := &c[ldc+stripLanes-1]
				*x = math.Float32frombits(math.Float32bits(*x) ^ 1)
			}
		}
	}},
	{"stripF16", "bits are taken for bfloat16", func(p *panelKernels) { p.stripF16 = p.stripBF16 }},
	{"stripBF16", "what c holds does not count", func(p *panelKernels) {
		strip := p.stripBF16
		p.stripBF16 = func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool) {
			strip(c, ldc, a, rs, cs, b, ldb, m, k, false)
		}
	}},
	{"settle", "a NaN keeps its bits", func(p *panelKernels) {
		p.settle = func(c []float32, ldc, m int, bias []float32) {
			for i := range m {
				for x, y := range bias {
					c[i*ldc+x] += y
				}
			}
		}
	}},
	{"settle", "-0 becomes +0", func(p *panelKernels) {
		settle := p.settle
		p.settle = func(c []float32, ldc, m int, bias []float32) {
			settle(c, ldc, m, bias)
			for i := range m {
				for x := range bias {
					c[i*ldc+x] += 0
				}
			}
		}
	}},
}

// benchStrips multiplies one row and eight by a strip that is in cache.
func benchStrips() (list []microBenchmark) {
	const k = 256
	b, half, bias := random(k*stripLanes), make([]uint16, k*stripLanes), random(stripLanes)
	for _, m := range []int{1, 2, 8} {
		a, c := random(m*k), make([]float32, m*stripLanes)
		add := func(kernel string, call func(p *panelKernels)) {
			list = append(list, microBenchmark{kernel, fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*stripLanes), 0, call})
		}
		add("strip", func(p *panelKernels) { p.strip(c, stripLanes, a, k, 1, b, stripLanes, m, k, false) })
		add("stripF16", func(p *panelKernels) { p.stripF16(c, stripLanes, a, k, 1, half, stripLanes, m, k, false) })
		add("stripBF16", func(p *panelKernels) { p.stripBF16(c, stripLanes, a, k, 1, half, stripLanes, m, k, false) })
		list = append(list, microBenchmark{"settle", fmt.Sprintf("m=%d", m), 0, float64(m * stripLanes), func(p *panelKernels) {
			p.settle(c, stripLanes, m, bias)
		}})
	}
	return list
}
