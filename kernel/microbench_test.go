package kernel

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/fallback"
)

// BenchmarkMicro times every micro-kernel of every tier and width, with data in
// cache, named for benchstat. The tiles report GFLOP/s, the others the time of
// an element.
func BenchmarkMicro(b *testing.B) {
	eachKernels(func(tier string, p *panelKernels) {
		for _, k := range microBenchmarks(p.lanes) {
			name := fmt.Sprintf("kernel=%s/tier=%s/lanes=%d/%s", k.kernel, tier, p.lanes, k.shape)
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					k.call(p)
				}
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if k.flop > 0 {
					b.ReportMetric(k.flop/ns, "GFLOP/s")
				} else {
					b.ReportMetric(ns/k.elements, "ns/elem")
				}
			})
		}
	})
}

type microBenchmark struct {
	kernel, shape  string
	flop, elements float64
	call           func(p *panelKernels)
}

// microBenchmarks lists what to time on panels of w lanes. Calls may be
// repeated: what they leave behind is as good an input.
func microBenchmarks(w int) (list []microBenchmark) {
	for _, d := range []int{64, 128} { // scores, then values
		list = append(list, benchTile("tile", w, 256, d, rowsTight), benchTile("tile", w, d, 256, columnsTight))
	}
	list = append(list, benchTile("tileMax", w, 256, 64, rowsTight), benchTile("tileFold", w, 64, 256, columnsTight))
	list = append(list, benchAdditive(1), benchAdditive(2), benchSoftcap(w), benchMask(w), benchAlibi(w), benchBias(w, w), benchBias(w, 1), benchHide(w, w), benchHide(w, 1))
	list = append(list, benchSoftmax(w), benchDropout(w), benchFold(w))
	for _, d := range []int{64, 128} {
		for _, n := range []int{w, 1} {
			list = append(list, benchPack(w, n, d), benchUnpack(w, n, d))
		}
	}
	if w <= 8 {
		list = append(list, benchFewSoftmax(w))
	}
	list = append(list, benchFew(w)...)
	list = append(list, benchConverters()...)
	list = append(list, benchFunctions()...)
	return append(list, benchStrips()...)
}

// random returns n numbers between -2 and 2.
func random(n int) []float32 {
	r := rng(n)
	x := make([]float32, n)
	r.fill(x)
	return x
}

func benchTile(kernel string, w, m, k int, a operand) microBenchmark {
	rs, cs := a.strides(m, k)
	x, y, z := random(m*k), random(k*w), make([]float32, m*w)
	top, alpha, beta := make([]float32, w), filled(w, 0.5), filled(w, 0.25)
	call := map[string]func(p *panelKernels){
		"tile":     func(p *panelKernels) { p.tile(z, w, x, rs, cs, y, w, m, k, false) },
		"tileMax":  func(p *panelKernels) { p.tileMax(z, w, x, rs, cs, y, w, m, k, top) },
		"tileFold": func(p *panelKernels) { p.tileFold(z, w, x, rs, cs, y, w, m, k, alpha, beta) },
	}[kernel]
	return microBenchmark{kernel, fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*w), 0, call}
}

func benchSoftcap(w int) microBenchmark {
	s, top := random(blockKeys*w), filled(w, -inf32)
	return microBenchmark{"softcap", "n=256", 0, float64(len(s)), func(p *panelKernels) {
		p.softcap(s, w, blockKeys, 43, 1./43, top)
	}}
}

// benchAdditive counts the numbers that tanh is taken of.
func benchAdditive(n int) microBenchmark {
	const m, hidden = 64, 512
	q, k, weights, s := random(n*hidden), random(m*hidden), random(hidden), make([]float32, n*m)
	return microBenchmark{"additive", fmt.Sprintf("n=%d/m=%d/hidden=%d", n, m, hidden), 0, float64(n * m * hidden), func(p *panelKernels) {
		p.additive(s, n, q, hidden, k, hidden, n, m, weights, k)
	}}
}

// benchFunctions are those over slices.
func benchFunctions() []microBenchmark {
	const n = 16 * 256
	src, dst := random(n), make([]float32, n)
	return []microBenchmark{
		{"exp2", "n=4096", 0, n, func(p *panelKernels) { p.exp2(dst, src) }},
		{"tanh", "n=4096", 0, n, func(p *panelKernels) { p.tanh(dst, src) }},
	}
}

func benchMask(w int) microBenchmark {
	s, top := random(blockKeys*w), filled(w, -inf32)
	lo, hi := make([]int32, w), make([]int32, w)
	for lane := range hi {
		hi[lane] = int32(100 + lane)
	}
	return microBenchmark{"mask", "n=256", 0, float64(len(s)), func(p *panelKernels) {
		p.mask(s, w, 0, blockKeys, lo, hi, top)
	}}
}

func benchAlibi(w int) microBenchmark {
	s, top, slopes, pos := random(blockKeys*w), filled(w, -inf32), random(w), make([]int32, w)
	for lane := range pos {
		pos[lane] = int32(100 + lane)
	}
	return microBenchmark{"alibi", "n=256", 0, float64(len(s)), func(p *panelKernels) {
		p.alibi(s, w, 0, blockKeys, slopes, pos, top)
	}}
}

// benchBias adds a bias of 0, in a number of rows.
func benchBias(w, rows int) microBenchmark {
	s, top, src, off := random(blockKeys*w), filled(w, -inf32), make([]float32, blockKeys*rows), rowsInOrder(w, rows, blockKeys)
	return microBenchmark{"bias", fmt.Sprintf("n=256/rows=%d", rows), 0, float64(len(s)), func(p *panelKernels) {
		p.bias(s, w, blockKeys, src, off, top)
	}}
}

func benchHide(w, rows int) microBenchmark {
	s, top, keep, off := random(blockKeys*w), filled(w, -inf32), make([]bool, blockKeys*rows), rowsInOrder(w, rows, blockKeys)
	for i := range keep {
		keep[i] = i%3 > 0
	}
	return microBenchmark{"hide", fmt.Sprintf("n=256/rows=%d", rows), 0, float64(len(s)), func(p *panelKernels) {
		p.hide(s, w, blockKeys, keep, off, false, top)
	}}
}

// benchDropout keeps three weights of four, and their size.
func benchDropout(w int) microBenchmark {
	s, keys, head, pos := random(blockKeys*w), fallback.PhiloxKeys(1), make([]uint32, w), make([]uint32, w)
	for lane := range pos {
		pos[lane] = uint32(lane)
	}
	return microBenchmark{"dropout", "n=256", 0, float64(len(s)), func(p *panelKernels) {
		p.dropout(s, w, 0, blockKeys, keys[:], 0, head, pos, 1<<30, 1)
	}}
}

// benchSoftmax turns weights into weights: under a maximum of 2 they stay
// between 0 and 1.
func benchSoftmax(w int) microBenchmark {
	s, top, sum := random(blockKeys*w), filled(w, 2), make([]float32, w)
	return microBenchmark{"softmax", "n=256", 0, float64(len(s)), func(p *panelKernels) {
		p.softmax(s, w, blockKeys, top, sum)
	}}
}

// benchFewSoftmax does the same in the first lanes of a panel, 8 wide as a rule.
func benchFewSoftmax(w int) microBenchmark {
	s, top, sum := random(blockKeys*w), filled(fewLanes, 2), make([]float32, fewLanes)
	return microBenchmark{"fewSoftmax", "n=256", 0, blockKeys * fewLanes, func(p *panelKernels) {
		p.fewSoftmax(s, w, blockKeys, top, sum)
	}}
}

func benchFold(w int) microBenchmark {
	top, sum, blockMax, blockSum := filled(w, 3), filled(w, 1), filled(w, 2), random(w)
	alpha, beta := make([]float32, w), make([]float32, w)
	return microBenchmark{"fold", "n=1", 0, float64(w), func(p *panelKernels) {
		p.fold(top, sum, blockMax, blockSum, alpha, beta)
	}}
}

func benchPack(w, n, d int) microBenchmark {
	src, dst, off := random(w*d), make([]float32, w*d), rowsInOrder(w, n, d)
	return microBenchmark{"pack", fmt.Sprintf("n=%d/d=%d", n, d), 0, float64(n * d), func(p *panelKernels) {
		p.pack(dst, w, src, off, n, d, 0.125)
	}}
}

func benchUnpack(w, n, d int) microBenchmark {
	src, dst, off := random(w*d), make([]float32, w*d), rowsInOrder(w, n, d)
	sum := filled(w, 3)
	return microBenchmark{"unpack", fmt.Sprintf("n=%d/d=%d", n, d), 0, float64(n * d), func(p *panelKernels) {
		p.unpack(dst, off, src, w, n, d, sum)
	}}
}

// benchFew times a block of keys with few queries: K and V are in L2.
func benchFew(w int) (list []microBenchmark) {
	for _, n := range []int{1, 2, 4, 8, 16} {
		if n > w || n < w/2 && w > 8 {
			continue
		}
		for _, d := range []int{64, 128} {
			k, q, s, top, o := random(blockKeys*d), random(d*w), random(blockKeys*w), filled(w, 0), make([]float32, n*d)
			shape, flop := fmt.Sprintf("n=%d/d=%d", n, d), 2*float64(n*blockKeys*d)
			list = append(list, microBenchmark{"fewScores", shape, flop, 0, func(p *panelKernels) {
				p.fewScores(s, k, d, q, n, blockKeys, d, top, k, 16*d)
			}}, microBenchmark{"fewValues", shape, flop, 0, func(p *panelKernels) {
				p.fewValues(o, d, k, d, s, w, n, blockKeys, d, false, k, 16*d)
			}})
			halves, ints, scales := make([]uint16, len(k)), make([]int8, len(k)), random(blockKeys)
			for i, x := range k {
				halves[i], ints[i] = uint16(ToF16(x)), int8(i)
			}
			add := func(kernel string, call func(p *panelKernels)) {
				list = append(list, microBenchmark{kernel, shape, flop, 0, func(p *panelKernels) {
					if !p.without(kernel) {
						call(p)
					}
				}})
			}
			add("fewScoresF16", func(p *panelKernels) { p.fewScoresF16(s, halves, d, q, n, blockKeys, d, top, halves, 16*d) })
			add("fewScoresBF16", func(p *panelKernels) { p.fewScoresBF16(s, halves, d, q, n, blockKeys, d, top, halves, 16*d) })
			add("fewScoresInt8", func(p *panelKernels) { p.fewScoresInt8(s, ints, d, scales, 0, d, q, n, blockKeys, d, top, ints, 16*d) })
			add("fewValuesF16", func(p *panelKernels) { p.fewValuesF16(o, d, halves, d, s, w, n, blockKeys, d, false, halves, 16*d) })
			add("fewValuesBF16", func(p *panelKernels) { p.fewValuesBF16(o, d, halves, d, s, w, n, blockKeys, d, false, halves, 16*d) })
			add("fewValuesInt8", func(p *panelKernels) {
				p.fewValuesInt8(o, d, ints, d, scales, 1, d, s, w, n, blockKeys, d, false, ints, 16*d)
			})
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
func benchConverters() (list []microBenchmark) {
	const d = 128
	floats, halves, ints, scales := random(blockKeys*d), make([]uint16, blockKeys*d), make([]int8, blockKeys*d), random(blockKeys*d/32)
	add := func(kernel string, call func(p *panelKernels)) {
		list = append(list, microBenchmark{kernel, "n=256/d=128", 0, blockKeys * d, call})
	}
	add("widenF16", func(p *panelKernels) { p.widenF16(floats, d, halves, d, blockKeys, d) })
	add("widenBF16", func(p *panelKernels) { p.widenBF16(floats, d, halves, d, blockKeys, d) })
	add("widenInt8", func(p *panelKernels) { p.widenInt8(floats, d, ints, d, scales, 1, d, blockKeys, d) })
	add("widenQ8", func(p *panelKernels) { p.widenInt8(floats, d, ints, d, scales, d/32, 32, blockKeys, d) })
	add("narrowF16", func(p *panelKernels) { p.narrowF16(halves, d, floats, d, blockKeys, d) })
	add("narrowBF16", func(p *panelKernels) { p.narrowBF16(halves, d, floats, d, blockKeys, d) })
	return list
}
