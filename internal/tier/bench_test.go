package tier

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// BenchmarkKernels times every micro-kernel of every tier and width, with data in
// cache, named for benchstat. The products report GFLOP/s, the others the time of
// an element.
func BenchmarkKernels(b *testing.B) {
	eachTile(func(t *Tier, p *kernelSet) {
		for _, k := range benchmarks(p.Lanes) {
			name := fmt.Sprintf("kernel=%s/tier=%s/%s", k.kernel, t.Name, k.shape)
			switch {
			case !p.has(k.kernel):
				continue
			case onTiles(k.kernel):
				name = fmt.Sprintf("kernel=%s/tier=%s/lanes=%d/%s", k.kernel, t.Name, p.Lanes, k.shape)
			case p.Lanes < t.Widest():
				continue // it is the same kernel for all widths
			}
			if variants := t.variantsOf(k.kernel); variants != nil {
				for _, v := range variants {
					p := v.tier.set(slices.Index(t.Widths, p.Lanes))
					b.Run(fmt.Sprintf("%s/variant=%v", name, v.Variant), func(b *testing.B) { k.run(b, p) })
				}
				continue
			}
			b.Run(name, func(b *testing.B) { k.run(b, p) })
		}
	})
}

// TestBenchmarks fails if a benchmark names no kernel or its call panics.
func TestBenchmarks(t *testing.T) {
	eachTile(func(_ *Tier, p *kernelSet) {
		for _, k := range benchmarks(p.Lanes) {
			if kernel, found := p.kernels()[k.kernel]; !found {
				t.Errorf("%s: there is no such kernel", k.kernel)
			} else if !kernel.IsNil() {
				k.call(p)
			}
		}
	})
}

type benchmark struct {
	kernel, shape  string
	flop, elements float64
	call           func(p *kernelSet)
}

func (k *benchmark) run(b *testing.B, p *kernelSet) {
	for b.Loop() {
		k.call(p)
	}
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	if k.flop > 0 {
		b.ReportMetric(k.flop/ns, "GFLOP/s")
	} else {
		b.ReportMetric(ns/k.elements, "ns/elem")
	}
}

// benchmarks lists what to time on query tiles of w lanes. Calls may be
// repeated: their output is as good an input.
func benchmarks(w int) (list []benchmark) {
	for _, d := range []int{64, 128} { // scores, then values
		for _, kernel := range []string{"Gemm", "GemmEvenOdd"} {
			list = append(list, benchGemm(kernel, w, 256, d, rowsTight), benchGemm(kernel, w, d, 256, columnsTight))
		}
	}
	list = append(list, benchGemm("GemmMax", w, 256, 64, rowsTight), benchGemm("GemmMerge", w, 64, 256, columnsTight))
	list = append(list, benchAdditive(1), benchAdditive(2), benchSoftcap(w), benchMaskSpan(w), benchALiBi(w), benchBias(w, w), benchBias(w, 1), benchMaskBool(w, w), benchMaskBool(w, 1))
	list = append(list, benchSoftmax(w), benchDropout(w), benchMergeStats(w))
	for _, d := range []int{64, 128} {
		for _, n := range []int{w, 1} {
			list = append(list, benchPack(w, n, d), benchUnpack(w, n, d))
		}
	}
	if w <= 8 {
		list = append(list, benchSkinnySoftmax(w))
	}
	list = append(list, benchSkinny(w)...)
	list = append(list, benchConverters()...)
	list = append(list, benchFunctions()...)
	list = append(list, benchNorms()...)
	list = append(list, benchActivations()...)
	list = append(list, benchBackward(w)...)
	return slices.Concat(list, benchWeights(), benchBlocks(), benchInt8())
}

func benchGemm(kernel string, w, m, k int, a operand) benchmark {
	rs, cs := a.strides(m, k)
	x, y, z := testutil.Floats(m*k), testutil.Floats(k*w), make([]float32, m*w)
	top, alpha, beta := make([]float32, w), testutil.Filled(w, 0.5), testutil.Filled(w, 0.25)
	call := map[string]func(p *kernelSet){
		"Gemm":        func(p *kernelSet) { p.Gemm(z, w, x, rs, cs, y, w, m, k, k, false) },
		"GemmEvenOdd": func(p *kernelSet) { p.GemmEvenOdd(z, w, x, rs, cs, y, w, m, k, false) },
		"GemmMax":     func(p *kernelSet) { p.GemmMax(z, w, x, rs, cs, y, w, m, k, k, top) },
		"GemmMerge":   func(p *kernelSet) { p.GemmMerge(z, w, x, rs, cs, y, w, m, k, alpha, beta) },
	}[kernel]
	return benchmark{kernel, fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*w), 0, call}
}

func benchSoftcap(w int) benchmark {
	s, top := testutil.Floats(blockKeys*w), testutil.Filled(w, -testutil.Inf)
	return benchmark{"Softcap", "n=256", 0, float64(len(s)), func(p *kernelSet) {
		p.Softcap(s, w, blockKeys, 43, 1./43, top)
	}}
}

// benchAdditive times the additive scores per tanh.
func benchAdditive(n int) benchmark {
	const m, hidden = 64, 512
	q, k, weights, s := testutil.Floats(n*hidden), testutil.Floats(m*hidden), testutil.Floats(hidden), make([]float32, n*m)
	return benchmark{"Skinny.Additive", fmt.Sprintf("n=%d/m=%d/hidden=%d", n, m, hidden), 0, float64(n * m * hidden), func(p *kernelSet) {
		p.Skinny.Additive(s, n, q, hidden, k, hidden, n, m, weights, k)
	}}
}

// benchFunctions times the functions over slices.
func benchFunctions() []benchmark {
	const n = 16 * 256
	src, dst := testutil.Floats(n), make([]float32, n)
	return []benchmark{
		{"Elementwise.Exp2", "n=4096", 0, n, func(p *kernelSet) { p.Elementwise.Exp2(dst, src) }},
		{"Elementwise.Tanh", "n=4096", 0, n, func(p *kernelSet) { p.Elementwise.Tanh(dst, src) }},
		{"Elementwise.Rotate", "n=32/d=128", 0, n, func(p *kernelSet) { p.Elementwise.Rotate(dst, dst[64:], 128, 32, src[:64], src[64:]) }},
	}
}

// benchActivations times the activations.
func benchActivations() []benchmark {
	const n = 16 * 256
	src, up, dst := testutil.Floats(n), testutil.Floats(n), make([]float32, n)
	plain := func(name string, f activation) benchmark {
		return benchmark{"Activations." + name, "n=4096", 0, n, func(p *kernelSet) { f(&p.Activations)(dst, src) }}
	}
	gated := func(name string, f gatedActivation) benchmark {
		return benchmark{"Activations." + name, "n=4096", 0, n, func(p *kernelSet) { f(&p.Activations)(dst, src, up) }}
	}
	return []benchmark{
		plain("SiLU", siluOf), plain("GELU", geluOf), plain("GELUTanh", geluTanhOf),
		gated("SwiGLU", swigluOf), gated("GeGLU", gegluOf), gated("GeGLUTanh", gegluTanhOf),
	}
}

func benchMaskSpan(w int) benchmark {
	s, top := testutil.Floats(blockKeys*w), testutil.Filled(w, -testutil.Inf)
	lo, hi := make([]int32, w), make([]int32, w)
	for lane := range hi {
		hi[lane] = int32(100 + lane)
	}
	return benchmark{"MaskSpan", "n=256", 0, float64(len(s)), func(p *kernelSet) {
		p.MaskSpan(s, w, 0, blockKeys, lo, hi, top)
	}}
}

func benchALiBi(w int) benchmark {
	s, top, slopes, pos := testutil.Floats(blockKeys*w), testutil.Filled(w, -testutil.Inf), testutil.Floats(w), make([]int32, w)
	for lane := range pos {
		pos[lane] = int32(100 + lane)
	}
	return benchmark{"ALiBi", "n=256", 0, float64(len(s)), func(p *kernelSet) {
		p.ALiBi(s, w, 0, blockKeys, slopes, pos, top)
	}}
}

// benchBias adds a bias of 0, in a number of rows.
func benchBias(w, rows int) benchmark {
	s, top, src, off := testutil.Floats(blockKeys*w), testutil.Filled(w, -testutil.Inf), make([]float32, blockKeys*rows), rowsInOrder(w, rows, blockKeys)
	return benchmark{"Bias", fmt.Sprintf("n=256/rows=%d", rows), 0, float64(len(s)), func(p *kernelSet) {
		p.Bias(s, w, blockKeys, src, off, top)
	}}
}

func benchMaskBool(w, rows int) benchmark {
	s, top, keep, off := testutil.Floats(blockKeys*w), testutil.Filled(w, -testutil.Inf), make([]bool, blockKeys*rows), rowsInOrder(w, rows, blockKeys)
	for i := range keep {
		keep[i] = i%3 > 0
	}
	return benchmark{"MaskBool", fmt.Sprintf("n=256/rows=%d", rows), 0, float64(len(s)), func(p *kernelSet) {
		p.MaskBool(s, w, blockKeys, keep, off, false, top)
	}}
}

// benchDropout keeps three weights of four and scales them by 1.
func benchDropout(w int) benchmark {
	s, keys, head, pos := testutil.Floats(blockKeys*w), scalar.PhiloxKeys(1), make([]uint32, w), make([]uint32, w)
	for lane := range pos {
		pos[lane] = uint32(lane)
	}
	return benchmark{"Dropout", "n=256", 0, float64(len(s)), func(p *kernelSet) {
		p.Dropout(s, w, 0, blockKeys, keys[:], 0, head, pos, 1<<30, 1)
	}}
}

// benchSoftmax turns weights into weights: with a maximum of 2 they stay
// between 0 and 1.
func benchSoftmax(w int) benchmark {
	s, top, sum := testutil.Floats(blockKeys*w), testutil.Filled(w, 2), make([]float32, w)
	return benchmark{"Softmax", "n=256", 0, float64(len(s)), func(p *kernelSet) {
		p.Softmax(s, w, blockKeys, top, sum)
	}}
}

// benchSkinnySoftmax does the same in the first lanes of a tile.
func benchSkinnySoftmax(w int) benchmark {
	s, top, sum := testutil.Floats(blockKeys*w), testutil.Filled(ukernel.SkinnyLanes, 2), make([]float32, ukernel.SkinnyLanes)
	return benchmark{"Skinny.Softmax", "n=256", 0, blockKeys * ukernel.SkinnyLanes, func(p *kernelSet) {
		p.Skinny.Softmax(s, w, blockKeys, top, sum)
	}}
}

func benchMergeStats(w int) benchmark {
	top, sum, blockMax, blockSum := testutil.Filled(w, 3), testutil.Filled(w, 1), testutil.Filled(w, 2), testutil.Floats(w)
	alpha, beta := make([]float32, w), make([]float32, w)
	return benchmark{"MergeStats", "n=1", 0, float64(w), func(p *kernelSet) {
		p.MergeStats(top, sum, blockMax, blockSum, alpha, beta)
	}}
}

func benchPack(w, n, d int) benchmark {
	src, dst, off := testutil.Floats(w*d), make([]float32, w*d), rowsInOrder(w, n, d)
	return benchmark{"Pack", fmt.Sprintf("n=%d/d=%d", n, d), 0, float64(n * d), func(p *kernelSet) {
		p.Pack(dst, w, src, off, n, d, 0.125)
	}}
}

func benchUnpack(w, n, d int) benchmark {
	src, dst, off := testutil.Floats(w*d), make([]float32, w*d), rowsInOrder(w, n, d)
	sum := testutil.Filled(w, 3)
	return benchmark{"Unpack", fmt.Sprintf("n=%d/d=%d", n, d), 0, float64(n * d), func(p *kernelSet) {
		p.Unpack(dst, off, src, w, n, d, sum)
	}}
}

// benchSkinny times a block of keys with few queries: K and V are in L2.
func benchSkinny(w int) (list []benchmark) {
	for _, n := range []int{1, 2, 4, 8, 16} {
		if n > w || n < w/2 && w > 8 {
			continue
		}
		for _, d := range []int{64, 128} {
			k, q, s, top, o := testutil.Floats(blockKeys*d), testutil.Floats(d*w), testutil.Floats(blockKeys*w), testutil.Filled(w, 0), make([]float32, n*d)
			shape, flop := fmt.Sprintf("n=%d/d=%d", n, d), 2*float64(n*blockKeys*d)
			list = append(list, benchmark{"Skinny.QK", shape, flop, 0, func(p *kernelSet) {
				p.Skinny.QK(s, k, d, q, n, blockKeys, d, top, k, 16*d)
			}}, benchmark{"Skinny.PV", shape, flop, 0, func(p *kernelSet) {
				p.Skinny.PV(o, d, k, d, s, w, n, blockKeys, d, false, k, 16*d)
			}})
			halves, ints, scales := make([]uint16, len(k)), make([]int8, len(k)), testutil.Floats(blockKeys)
			for i, x := range k {
				halves[i], ints[i] = scalar.ToF16(x), int8(i)
			}
			add := func(kernel string, call func(p *kernelSet)) {
				list = append(list, benchmark{kernel, shape, flop, 0, call})
			}
			add("Skinny.QKF16", func(p *kernelSet) { p.Skinny.QKF16(s, halves, d, q, n, blockKeys, d, top, halves, 16*d) })
			add("Skinny.QKBF16", func(p *kernelSet) { p.Skinny.QKBF16(s, halves, d, q, n, blockKeys, d, top, halves, 16*d) })
			add("Skinny.QKInt8", func(p *kernelSet) {
				p.Skinny.QKInt8(ukernel.QKInt8Args{S: s, K: ints, Ldk: d, Scales: scales, Group: d, Q: q, N: n, M: blockKeys, D: d, Max: top, Next: ints, Far: 16 * d})
			})
			add("Skinny.PVF16", func(p *kernelSet) { p.Skinny.PVF16(o, d, halves, d, s, w, n, blockKeys, d, false, halves, 16*d) })
			add("Skinny.PVBF16", func(p *kernelSet) { p.Skinny.PVBF16(o, d, halves, d, s, w, n, blockKeys, d, false, halves, 16*d) })
			add("Skinny.PVInt8", func(p *kernelSet) {
				p.Skinny.PVInt8(ukernel.PVInt8Args{O: o, Ldo: d, V: ints, Ldv: d, Scales: scales, Lsc: 1, Group: d, P: s, Ldp: w, N: n, M: blockKeys, Dv: d, Next: ints, Far: 16 * d})
			})
			list = append(list, benchAnywhere(w, n, d)...)
		}
	}
	return list
}

// rowsInOrder returns offsets of n rows of d elements for w lanes.
func rowsInOrder(w, n, d int) []int {
	off := make([]int, w)
	for lane := range off {
		off[lane] = min(lane, n-1) * d
	}
	return off
}

// benchConverters converts a block of keys.
func benchConverters() (list []benchmark) {
	const d = 128
	floats, bits, ints, scales := testutil.Floats(blockKeys*d), make([]byte, 2*blockKeys*d), make([]int8, blockKeys*d), testutil.Floats(blockKeys*d/32)
	gathered, rows := make([]byte, blockKeys*d), rowsInOrder(blockKeys, blockKeys, d)
	add := func(kernel string, call func(p *kernelSet)) {
		list = append(list, benchmark{kernel, "n=256/d=128", 0, blockKeys * d, call})
	}
	for _, e := range narrowTypes() {
		add("Convert.Widen."+e.String(), func(p *kernelSet) { p.Convert.Widen[e](floats, d, bits, d*e.Size(), blockKeys, d) })
		add("Convert.Narrow."+e.String(), func(p *kernelSet) { p.Convert.Narrow[e](bits, d*e.Size(), floats, d, blockKeys, d) })
	}
	add("Convert.WidenInt8", func(p *kernelSet) { p.Convert.WidenInt8(floats, d, ints, d, scales, 1, d, blockKeys, d) })
	list = append(list, benchmark{"Convert.WidenInt8", "n=256/d=128/group=32", 0, blockKeys * d, func(p *kernelSet) {
		p.Convert.WidenInt8(floats, d, ints, d, scales, d/32, 32, blockKeys, d)
	}})
	list = append(list, benchmark{"Convert.WidenInt4", "n=256/d=128/group=32", 0, blockKeys * d, func(p *kernelSet) {
		p.Convert.WidenInt4(floats, d, bits, d/2, scales, d/32, 32, blockKeys, d)
	}})
	add("Convert.UnpackInt4", func(p *kernelSet) { p.Convert.UnpackInt4(ints, d, bits, d/2, blockKeys, d) })
	list = append(list, benchmark{"Convert.QuantizeInt4", "n=256/d=128/group=32", 0, blockKeys * d, func(p *kernelSet) {
		p.Convert.QuantizeInt4(bits, d/2, scales, d/32, floats, d, 32, blockKeys, d)
	}})
	add("Convert.QuantizeInt8", func(p *kernelSet) { p.Convert.QuantizeInt8(ints, d, scales, 1, floats, d, d, blockKeys, d) })
	add("Convert.Gather", func(p *kernelSet) { p.Convert.Gather(gathered, bits, rows, d, rows) })
	add("Convert.Finite", func(p *kernelSet) { p.Convert.Finite(floats) })
	return list
}

// benchBackward times the kernels of the backward pass. The scores stay below 1.
func benchBackward(w int) []benchmark {
	s, dp, lse := testutil.Floats(blockKeys*w), testutil.Floats(blockKeys*w), testutil.Filled(w, 2)
	sum, dot, one := make([]float32, w), make([]float32, w), testutil.Filled(w, 1)
	return []benchmark{
		{"Gradients.BackwardWeights", "n=256", 0, float64(len(s)), func(p *kernelSet) { p.Gradients.BackwardWeights(s, dp, w, blockKeys, lse, sum, dot) }},
		{"Gradients.BackwardScores", "n=256", 0, float64(len(s)), func(p *kernelSet) { p.Gradients.BackwardScores(s, dp, w, blockKeys, one, dot) }},
		{"Gradients.BackwardSoftcap", "n=256", 0, float64(len(s)), func(p *kernelSet) { p.Gradients.BackwardSoftcap(dp, s, w, blockKeys, w, 0.25) }},
	}
}
