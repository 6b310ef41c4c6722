package tier

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// referenceWeights are the kernels for packed panels of weights, straight from their
// definition.
var referenceWeights = ukernel.WeightKernels{
	Gemm: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, next []byte) {
		testutil.Gemm(ukernel.PanelLanes, c, ldc, a, rs, cs, b, ldb, m, k, ukernel.InputSegment, load)
	},
	GemmF16: func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte) {
		testutil.Gemm(ukernel.PanelLanes, c, ldc, a, rs, cs, widened(b, scalar.F16), ldb, m, k, ukernel.InputSegment, load)
	},
	GemmBF16: func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte) {
		testutil.Gemm(ukernel.PanelLanes, c, ldc, a, rs, cs, widened(b, scalar.BF16), ldb, m, k, ukernel.InputSegment, load)
	},
	GemmPairs:    referencePairs,
	Blocks:       referenceBlocks(),
	GemmUnpacked: gemmUnpacked,
	Quantize:     referenceQuantize,
	AddBias:      ref.Weights.AddBias,
	Pack:         transpose[float32],
}

// referenceBlocks are the kernels of every format of packed panels that it has.
func referenceBlocks() (kernels [ukernel.PackedFormats]ukernel.BlockKernels) {
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		k := &kernels[f]
		k.GemmInt8, k.Widen = referenceGemmInt8(f), referenceWiden(f)
		if f.Unpacks() {
			k.Unpack = referenceUnpack(f)
		} else {
			k.Gemm = referenceGemm(f)
		}
	}
	return kernels
}

// transpose is WeightKernels.Pack, of numbers of any size.
func transpose[E any](dst []E, ld int, src []E, lds, n, d int) {
	for lane := range n {
		for x := range d {
			dst[x*ld+lane] = src[lane*lds+x]
		}
	}
}

func widened(b []uint16, widen func(uint16) float32) []float32 {
	s := make([]float32, len(b))
	for i, h := range b {
		s[i] = widen(h)
	}
	return s
}

// A weightKind is the type of the numbers of a packed panel.
type weightKind int

const (
	float32s weightKind = iota
	f16s
	bf16s
)

// A weightCase is a call of a product with a packed panel.
type weightCase struct {
	kind weightKind
	load bool
	gemmCase
}

func (c weightCase) String() string { return fmt.Sprintf("load=%v %v", c.load, c.gemmCase) }

// weightCases returns a function that lists the cases of a kind: Gemm's, with fewer rows.
func weightCases(kind weightKind) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for a := range operands {
			for gaps := range 4 {
				for _, k := range []int{0, 1, 2, 3, 4, 7, 8, 17} {
					for _, m := range upTo(5, 7, 8, 9, 15, 16, 17, 25) {
						i := len(list)
						list = append(list, weightCase{kind, i%3 == 0, gemmCase{gemmFromZero, m, k, ukernel.InputSegment, a, gaps & 1 * 5, gaps >> 1 * 3, testutil.KindOf(i)}})
					}
				}
			}
			for i, k := range []int{127, 128, 129, 255, 256, 261} { // one segment to three
				for _, m := range []int{1, 2, 3, 8, 9} {
					list = append(list, weightCase{kind, (i+m)%2 == 0, gemmCase{gemmFromZero, m, k, ukernel.InputSegment, a, i % 2 * 5, m % 2 * 3, testutil.KindOf(len(list))}})
				}
			}
			for i, k := range []int{1, 2, 3, 130} { // from 48 rows on AVX2 prefetches the rows of the next register tile
				for _, m := range []int{47, 48, 49} {
					list = append(list, weightCase{kind, (i+m)%2 == 0, gemmCase{gemmFromZero, m, k, ukernel.InputSegment, a, i % 2 * 5, m % 2 * 3, testutil.KindOf(len(list))}})
				}
			}
		}
		return list
	}
}

func (c weightCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	m, k := c.m, c.k
	rs, cs := c.a.strides(m, k)
	ldb, ldc := ukernel.PanelLanes+c.gapB, ukernel.PanelLanes+c.gapC
	a := c.operand(mem, r, rs, cs)
	out := mem.Matrix("c", m, ukernel.PanelLanes, ldc, testutil.Canary)
	c.values.Fill(r, out, m, ukernel.PanelLanes, ldc)
	next := testutil.Rows[byte](mem, "next", 1, 1000, 1000) // fewer than a part has
	clear(next)
	if c.kind == float32s {
		b := mem.Matrix("b", k, ukernel.PanelLanes, ldb, testutil.NaN)
		c.values.Fill(r, b, k, ukernel.PanelLanes, ldb)
		return func(p *kernelSet) { p.Weights.Gemm(out, ldc, a, rs, cs, b, ldb, m, k, c.load, next) }
	}
	b := testutil.Rows[uint16](mem, "b", k, ukernel.PanelLanes, ldb)
	for i := range b {
		b[i] = c.half(r)
	}
	if c.kind == f16s {
		return func(p *kernelSet) { p.Weights.GemmF16(out, ldc, a, rs, cs, b, ldb, m, k, c.load, next) }
	}
	return func(p *kernelSet) { p.Weights.GemmBF16(out, ldc, a, rs, cs, b, ldb, m, k, c.load, next) }
}

// half returns a number of 16 bits: now and then any bits, NaN too, if the case's values
// are not finite.
func (c weightCase) half(r *testutil.Rand) uint16 {
	switch {
	case c.values == testutil.NonFinite && r.IntN(16) == 0:
		return uint16(r.Uint64())
	case c.kind == f16s:
		return scalar.ToF16(c.values.Next(r)) &^ 0x4000 // below 2
	}
	return uint16(uint32(r.Uint64()>>32)&0x8fff | 0x3000)
}

// An addBiasCase is a call of AddBias.
type addBiasCase struct {
	m, lanes, gap int
	inPlace       bool
	values        testutil.Kind
}

func (c addBiasCase) String() string {
	return fmt.Sprintf("m=%d lanes=%d ldd=lanes+%d inPlace=%v of %v", c.m, c.lanes, c.gap, c.inPlace, c.values)
}

func addBiasCases(int) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, gap := range []int{0, 5} {
			for lanes := 0; lanes <= 64; lanes += ukernel.PanelStep {
				for m := range 6 {
					list = append(list, addBiasCase{m, lanes, gap, false, v}, addBiasCase{m, lanes, gap, true, v})
				}
			}
		}
	}
	return list
}

func (c addBiasCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ldd := c.lanes + c.gap
	out := a.Matrix("dst", c.m, c.lanes, ldd, testutil.Canary)
	from, ldc := out, ldd
	if !c.inPlace {
		ldc = c.lanes + 2
		from = a.Matrix("c", c.m, c.lanes, ldc, testutil.Canary)
	}
	if c.lanes > 0 {
		c.values.Fill(r, from, c.m, c.lanes, ldc)
	}
	bias := a.Vector("bias", c.lanes, 0)
	c.values.Fill(r, bias, 1, c.lanes, c.lanes)
	a.Slots[0].Exact = true
	return func(p *kernelSet) {
		p.Weights.AddBias(out, ldd, from, ldc, c.m, bias)
	}
}

// A weightPackCase is a call of Pack, PackHalves or PackPairs, on any bits.
type weightPackCase struct {
	of               packedNumbers
	n, d, gapS, gapD int
}

func (c weightPackCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ld=n+%d", c.n, c.d, c.gapS, c.gapD)
}

// packedNumbers are the numbers that such a kernel moves.
type packedNumbers int

const (
	packedFloats packedNumbers = iota
	packedHalves
	packedPairs
)

func weightPackCases(of packedNumbers) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for _, d := range upTo(2*16+1, 64, 80, 129)[ukernel.PackSteps:] {
			for n := 0; n <= ukernel.PanelLanes; n += ukernel.PanelStep {
				list = append(list, weightPackCase{of, n, d, (n + d) % 3, (n + d/3) & 1 * 5})
			}
		}
		return list
	}
}

func (c weightPackCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ld := c.d+c.gapS, c.n+c.gapD
	if c.of == packedHalves {
		src, dst := testutil.Rows[uint16](a, "src", c.n, c.d, lds), testutil.Rows[uint16](a, "dst", c.d, c.n, ld)
		fillBits(src, r)
		clear(dst)
		return func(p *kernelSet) { p.Convert.PackHalves(dst, ld, src, lds, c.n, c.d) }
	}
	// As bits, so that a NaN that is changed is found.
	bits, dst := testutil.Rows[uint32](a, "src", c.n, c.d, lds), testutil.Rows[float32](a, "dst", c.d, c.n, ld)
	fillBits(bits, r)
	clear(dst)
	if c.of == packedPairs {
		words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst))
		return func(p *kernelSet) { p.Unit.PackPairs(words, ld, bits, lds, c.n, c.d) }
	}
	src := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(bits))), len(bits))
	return func(p *kernelSet) { p.Weights.Pack(dst, ld, src, lds, c.n, c.d) }
}

// fillBits fills x with any bits. One in four is a NaN of float32, quiet or signalling.
func fillBits[E uint16 | uint32](x []E, r *testutil.Rand) {
	for i := range x {
		x[i] = E(r.Uint64())
		if r.IntN(4) == 0 {
			nan := uint32(0x7f800000)
			x[i] |= E(nan)
		}
	}
}

var weightMutants = []mutant{
	{"Weights.Gemm", "the last bit of the last lane of a second row is wrong", func(p *kernelSet) {
		gemm := p.Weights.Gemm
		p.Weights.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, next []byte) {
			gemm(c, ldc, a, rs, cs, b, ldb, m, k, load, next)
			if m > 1 && k > 0 {
				x := &c[ldc+ukernel.PanelLanes-1]
				*x = math.Float32frombits(math.Float32bits(*x) ^ 1)
			}
		}
	}},
	{"Weights.GemmF16", "bits are taken for bfloat16", func(p *kernelSet) { p.Weights.GemmF16 = p.Weights.GemmBF16 }},
	{"Weights.GemmBF16", "what c holds does not count", func(p *kernelSet) {
		gemm := p.Weights.GemmBF16
		p.Weights.GemmBF16 = func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte) {
			gemm(c, ldc, a, rs, cs, b, ldb, m, k, false, next)
		}
	}},
	{"Weights.AddBias", "a NaN keeps its bits", func(p *kernelSet) {
		p.Weights.AddBias = func(dst []float32, ldd int, c []float32, ldc, m int, bias []float32) {
			for i := range m {
				for x, y := range bias {
					dst[i*ldd+x] = c[i*ldc+x] + y
				}
			}
		}
	}},
	{"Weights.Pack", "a signalling NaN becomes quiet", func(p *kernelSet) {
		pack := p.Weights.Pack
		p.Weights.Pack = func(dst []float32, ld int, src []float32, lds, n, d int) {
			pack(dst, ld, src, lds, n, d)
			for i, x := range dst {
				if x != x {
					dst[i] = math.Float32frombits(math.Float32bits(x) | 1<<22)
				}
			}
		}
	}},
	{"Convert.PackHalves", "two neighbours are exchanged", func(p *kernelSet) {
		pack := p.Convert.PackHalves
		p.Convert.PackHalves = func(dst []uint16, ld int, src []uint16, lds, n, d int) {
			pack(dst, ld, src, lds, n, d)
			for lane := range n {
				dst[lane], dst[ld+lane] = dst[ld+lane], dst[lane]
			}
		}
	}},
	{"Weights.AddBias", "-0 becomes +0", func(p *kernelSet) {
		addBias := p.Weights.AddBias
		p.Weights.AddBias = func(dst []float32, ldd int, c []float32, ldc, m int, bias []float32) {
			addBias(dst, ldd, c, ldc, m, bias)
			for i := range m {
				for x := range bias {
					dst[i*ldd+x] += 0
				}
			}
		}
	}},
}

// benchWeights multiplies one, two and eight rows by a packed panel that is in cache.
func benchWeights() (list []benchmark) {
	const k = 256
	b, half, bias := testutil.Floats(k*ukernel.PanelLanes), make([]uint16, k*ukernel.PanelLanes), testutil.Floats(ukernel.PanelLanes)
	for _, m := range []int{1, 2, 8} {
		a, c := testutil.Floats(m*k), make([]float32, m*ukernel.PanelLanes)
		add := func(kernel string, call func(p *kernelSet)) {
			list = append(list, benchmark{kernel, fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*ukernel.PanelLanes), 0, call})
		}
		add("Weights.Gemm", func(p *kernelSet) {
			p.Weights.Gemm(c, ukernel.PanelLanes, a, k, 1, b, ukernel.PanelLanes, m, k, false, nil)
		})
		add("Weights.GemmF16", func(p *kernelSet) {
			p.Weights.GemmF16(c, ukernel.PanelLanes, a, k, 1, half, ukernel.PanelLanes, m, k, false, nil)
		})
		add("Weights.GemmBF16", func(p *kernelSet) {
			p.Weights.GemmBF16(c, ukernel.PanelLanes, a, k, 1, half, ukernel.PanelLanes, m, k, false, nil)
		})
		list = append(list, benchmark{"Weights.AddBias", fmt.Sprintf("m=%d", m), 0, float64(m * ukernel.PanelLanes), func(p *kernelSet) {
			p.Weights.AddBias(c, ukernel.PanelLanes, c, ukernel.PanelLanes, m, bias)
		}})
	}
	return list
}
