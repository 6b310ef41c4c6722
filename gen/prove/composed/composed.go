// Package composed has, in Go, the kernels that package fallback lacks because a tier without them
// takes others: products with narrow types, which are those for float32 on widened rows, and
// products of integers. They say what package ukernel says of these kernels. Package reference
// executes them; nothing calls them.
package composed

import (
	"math"
	"unsafe"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/ukernel"
)

// Numbers of element types in arrays of package ukernel.
const (
	float16  = 1
	bfloat16 = 2
	e4m3     = 4
)

// fma is x·y+z, rounded once. Package reference knows it.
func fma(x, y, z float32) float32 { return x*y + z }

func larger(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

// words returns the bytes of words. Package reference knows it.
func bytesOf(w []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 2*len(w))
}

// QKF16 and QKBF16 are Skinny.QKF16 and QKBF16.
func QKF16(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
	qk(float16, s, k, ldk, q, n, m, d, max)
}

func QKBF16(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
	qk(bfloat16, s, k, ldk, q, n, m, d, max)
}

func qk(typ int, s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32) {
	wide := make([]float32, m*d)
	fallback.Convert().Widen[typ](wide, d, bytesOf(k), 2*ldk, m, d)
	fallback.Skinny().QK(s, wide, d, q, n, m, d, max, nil, 0)
}

// PVF16 and PVBF16 are Skinny.PVF16 and PVBF16.
func PVF16(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
	pv(float16, o, ldo, v, ldv, p, ldp, n, m, dv, load)
}

func PVBF16(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
	pv(bfloat16, o, ldo, v, ldv, p, ldp, n, m, dv, load)
}

func pv(typ int, o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool) {
	wide := make([]float32, m*dv)
	fallback.Convert().Widen[typ](wide, dv, bytesOf(v), 2*ldv, m, dv)
	fallback.Skinny().PV(o, ldo, wide, dv, p, ldp, n, m, dv, load, nil, 0)
}

// HalvesE4M3 is Skinny.HalvesE4M3.
func HalvesE4M3(dst []uint16, ldd int, src []byte, lds, n, d int) {
	wide := make([]float32, n*d)
	fallback.Convert().Widen[e4m3](wide, d, src, lds, n, d)
	for i := range wide {
		half := uint16(math.Float32bits(wide[i]) >> 16)
		if b := src[i/d*lds+i%d]; b&0x7f == 0x7f {
			half = uint16(b)<<8&0x8000 | 0x7ff0
		}
		dst[i/d*ldd+i%d] = half
	}
}

// HalvesE5M2 is Skinny.HalvesE5M2.
func HalvesE5M2(dst []uint16, ldd int, src []byte, lds, n, d int) {
	for i := range n * d {
		dst[i/d*ldd+i%d] = uint16(src[i/d*lds+i%d]) << 8
	}
}

// unpacked returns int8 of int4.
func unpacked(x []int8) []int8 {
	codes := make([]int8, 2*len(x))
	for i := range x {
		codes[2*i], codes[2*i+1] = x[i]<<4>>4, x[i]>>4
	}
	return codes
}

// QKInt8 is Skinny.QKInt8.
func QKInt8(s []float32, k []int8, ldk int, scales []float32, lsc, group int, q []float32, n, m, d int, max []float32, _ []int8, _ int) {
	wide := make([]float32, m*d)
	for j := range m {
		for x := range d {
			wide[j*d+x] = float32(float32(k[j*ldk+x]) * scales[x/group*lsc+j])
		}
	}
	fallback.Skinny().QK(s, wide, d, q, n, m, d, max, nil, 0)
}

// PVInt8 is Skinny.PVInt8.
func PVInt8(o []float32, ldo int, v []int8, ldv int, scales []float32, lsc, group int, p []float32, ldp, n, m, dv int, load bool, _ []int8, _ int) {
	wide := make([]float32, m*dv)
	fallback.Convert().WidenInt8(wide, dv, v, ldv, scales, lsc, group, m, dv)
	fallback.Skinny().PV(o, ldo, wide, dv, p, ldp, n, m, dv, load, nil, 0)
}

// gathered returns rows of d numbers that take size bytes each, in order.
func gathered[E any](x []E, size int, off []int, d int) []E {
	rows := make([]E, len(off)*d)
	for j, at := range off {
		for e := range d {
			rows[j*d+e] = x[at/size+e]
		}
	}
	return rows
}

// QKRows and the functions after it are Skinny.QKRows, QKRowsF16 and so on.
func QKRows(s, k []float32, off []int, q []float32, n, d int, max []float32, _ []int) {
	fallback.Skinny().QK(s, gathered(k, 4, off, d), d, q, n, len(off), d, max, nil, 0)
}

func QKRowsF16(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, _ []int) {
	qk(float16, s, gathered(k, 2, off, d), d, q, n, len(off), d, max)
}

func QKRowsBF16(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, _ []int) {
	qk(bfloat16, s, gathered(k, 2, off, d), d, q, n, len(off), d, max)
}

func QKRowsInt8(s []float32, k []int8, off []int, scales []float32, lsc, group int, q []float32, n, d int, max []float32, _ []int) {
	QKInt8(s, gathered(k, 1, off, d), d, scales, lsc, group, q, n, len(off), d, max, nil, 0)
}

func QKRowsF8E4M3(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, _ []int) {
	halves := make([]uint16, len(off)*d)
	HalvesE4M3(halves, d, gathered(k, 1, off, d), d, len(off), d)
	qk(bfloat16, s, halves, d, q, n, len(off), d, max)
}

func QKRowsF8E5M2(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, _ []int) {
	halves := make([]uint16, len(off)*d)
	HalvesE5M2(halves, d, gathered(k, 1, off, d), d, len(off), d)
	qk(float16, s, halves, d, q, n, len(off), d, max)
}

func QKRowsInt4(s []float32, k []int8, off []int, scales []float32, lsc, group int, q []float32, n, d int, max []float32, _ []int) {
	QKInt8(s, unpacked(gathered(k, 1, off, d/2)), d, scales, lsc, group, q, n, len(off), d, max, nil, 0)
}

func PVRowsF8E4M3(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	halves := make([]uint16, len(off)*dv)
	HalvesE4M3(halves, dv, gathered(v, 1, off, dv), dv, len(off), dv)
	pv(bfloat16, o, ldo, halves, dv, p, ldp, n, len(off), dv, load)
}

func PVRowsF8E5M2(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	halves := make([]uint16, len(off)*dv)
	HalvesE5M2(halves, dv, gathered(v, 1, off, dv), dv, len(off), dv)
	pv(float16, o, ldo, halves, dv, p, ldp, n, len(off), dv, load)
}

func PVRowsInt4(o []float32, ldo int, v []int8, off []int, scales []float32, lsc, group int, p []float32, ldp, n, dv int, load bool, _ []int) {
	PVInt8(o, ldo, unpacked(gathered(v, 1, off, dv/2)), dv, scales, lsc, group, p, ldp, n, len(off), dv, load, nil, 0)
}

func PVRows(o []float32, ldo int, v []float32, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	fallback.Skinny().PV(o, ldo, gathered(v, 4, off, dv), dv, p, ldp, n, len(off), dv, load, nil, 0)
}

func PVRowsF16(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	pv(float16, o, ldo, gathered(v, 2, off, dv), dv, p, ldp, n, len(off), dv, load)
}

func PVRowsBF16(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	pv(bfloat16, o, ldo, gathered(v, 2, off, dv), dv, p, ldp, n, len(off), dv, load)
}

func PVRowsInt8(o []float32, ldo int, v []int8, off []int, scales []float32, lsc, group int, p []float32, ldp, n, dv int, load bool, _ []int) {
	PVInt8(o, ldo, gathered(v, 1, off, dv), dv, scales, lsc, group, p, ldp, n, len(off), dv, load, nil, 0)
}

// QKCodes is Skinny.QKCodes.
func QKCodes(s []float32, k []int8, off []int, scales []float32, lsc, group int, q []int32, unit []float32, n, d int, max []float32, _ []int) {
	qkCodes(s, scales, lsc, group, unit, n, len(off), d, max, func(lane, j, x int) int32 {
		at, half := (x/4*2+x%2)*len(max)+lane, x/2%2
		if n == 1 {
			at, half = x/2, x%2
		}
		return int32(int16(q[at]>>(half*16))) * int32(k[off[j]+x])
	})
}

// QKCodes4 is Skinny.QKCodes4.
func QKCodes4(s []float32, k []int8, off []int, scales []float32, lsc, group int, q []int32, unit []float32, n, d int, max []float32, _ []int) {
	qkCodes(s, scales, lsc, group, unit, n, len(off), d, max, func(lane, j, x int) int32 {
		return int32(int16(q[(x/8*4+x%4)*len(max)+lane]>>(x/4%2*16))) * int4(k[off[j]:], x)
	})
}

// int4 is column x of a row of integers of 4 bits.
func int4(row []int8, x int) int32 {
	return int32(int8(row[x/2]<<(4-x%2*4)) >> 4)
}

// qkCodes is QKCodes with a function for the product of a query and column x of key j.
func qkCodes(s, scales []float32, lsc, group int, unit []float32, n, m, d int, max []float32, product func(lane, j, x int) int32) {
	w := len(max)
	for j := range m {
		for lane := range (n + 3) / 4 * 4 {
			from, y := min(lane, n-1), float32(0)
			for g := range d / group {
				sum := int32(0)
				for x := g * group; x < (g+1)*group; x++ {
					sum += product(from, j, x)
				}
				product := float32(float32(sum) * unit[from])
				if g == 0 {
					y = float32(product * scales[j])
				} else {
					y = fma(product, scales[g*lsc+j], y)
				}
			}
			s[j*w+lane], max[lane] = y, larger(y, max[lane])
		}
	}
}

// PVCodes is Skinny.PVCodes.
func PVCodes(o []float32, ldo int, v []int8, off []int, pairs []int32, ldp, lpg int, unit []float32, group, n, dv int, load bool, _ []int) {
	pvCodes(o, ldo, func(j, e int) int32 { return int32(v[off[j]+e]) }, pairs, ldp, lpg, unit, group, n, len(off), dv, load)
}

// PVCodes4 is Skinny.PVCodes4.
func PVCodes4(o []float32, ldo int, v []int8, off []int, pairs []int32, ldp, lpg int, unit []float32, group, n, dv int, load bool, _ []int) {
	pvCodes(o, ldo, func(j, e int) int32 { return int4(v[off[j]:], e) }, pairs, ldp, lpg, unit, group, n, len(off), dv, load)
}

// pvCodes is PVCodes with a function for column e of value j.
func pvCodes(o []float32, ldo int, v func(j, e int) int32, pairs []int32, ldp, lpg int, unit []float32, group, n, m, dv int, load bool) {
	for i := range n {
		for e := range dv {
			sum, g := int32(0), e/group
			for j := range m {
				sum += int32(int16(pairs[g*lpg+j/2*ldp+i]>>(j%2*16))) * v(j, e)
			}
			if load {
				o[i*ldo+e] = fma(float32(sum), unit[g*ldp+i], o[i*ldo+e])
			} else {
				o[i*ldo+e] = float32(float32(sum) * unit[g*ldp+i])
			}
		}
	}
}

// dot is the sum of the products of n pairs of integers, which lie so far apart.
func dot(a, b []int32, lda, ldb, n int) float32 {
	total := int32(0)
	for i := range n {
		x, y := a[i*lda], b[i*ldb]
		total += int32(int16(x))*int32(int16(y)) + x>>16*(y>>16)
	}
	return float32(total)
}

// CodeScores is Lanes.CodeScores.
func CodeScores(s []float32, k []int32, scales []float32, lsc int, q []int32, unit []float32, m, d int, max []float32) {
	w := len(max)
	for j := range m {
		for lane := range w {
			y := float32(float32(dot(k[j*d/2:], q[lane:], 1, w, d/2)*unit[lane]) * scales[j*lsc])
			s[j*w+lane], max[lane] = y, larger(y, max[lane])
		}
	}
}

// CodeValues is Lanes.CodeValues.
func CodeValues(o []float32, v, p []int32, unit []float32, pairs, dv int, load bool) {
	w := len(unit)
	for e := range dv {
		for lane, u := range unit {
			x, to := dot(v[e:], p[lane:], dv, w, pairs), &o[e*w+lane]
			if !load {
				*to = 0
			}
			*to = fma(x, u, *to)
		}
	}
}

// CodeMerge is Lanes.CodeMerge.
func CodeMerge(o, part []float32, n int, alpha, beta []float32) {
	for i := range n * len(alpha) {
		lane := i % len(alpha)
		o[i] = fma(part[i], beta[lane], float32(o[i]*alpha[lane]))
	}
}

const tileRows = 16

// TileInt8 is Machine.TileInt8.
func TileInt8(c []int32, a, b []uint32) {
	for i := range c {
		for g := range tileRows {
			x, y := a[i/tileRows*tileRows+g], b[g*tileRows+i%tileRows]
			for n := range 4 {
				c[i] += int32(int8(x>>(8*n))) * int32(int8(y>>(8*n)))
			}
		}
	}
}

// TileBF16 is Machine.TileBF16.
func TileBF16(c []float32, a, b []uint32) {
	for i := range c {
		var even, odd float32
		for g := range tileRows {
			x, y := a[i/tileRows*tileRows+g], b[g*tileRows+i%tileRows]
			even = fma(math.Float32frombits(x<<16), math.Float32frombits(y<<16), even)
			odd = fma(math.Float32frombits(x>>16<<16), math.Float32frombits(y>>16<<16), odd)
		}
		c[i] += even + odd
	}
}

// GemmTiles is Unit.GemmTiles. Its sums begin with +0 if they do not begin with c.
func GemmTiles(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, _ []byte) {
	rows, columns := make([]float32, m*k), make([]float32, k*lanes)
	for i := range m {
		for x := range k {
			rows[i*k+x] = math.Float32frombits(uint32(a[i*lda+x]) << 16)
		}
		for lane := range lanes {
			if !load {
				c[i*ldc+lane] = 0
			}
		}
	}
	for i, w := range b {
		at := i/lanes*2*lanes + i%lanes
		columns[at], columns[at+lanes] = math.Float32frombits(w<<16), math.Float32frombits(w>>16<<16)
	}
	fallback.Products(lanes).GemmEvenOdd(c, ldc, rows, k, 1, columns, lanes, m, k, true)
}

// GemmHalves is Unit.GemmHalves. Its sums begin with +0, as GemmTiles has them.
func GemmHalves(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
	sums := make([]float32, m*lanes)
	for x := 0; x < k; x += 32 {
		for i := range sums {
			sums[i] = 0
		}
		for half := range 2 {
			first := (x + 16*half) * lanes
			if m > 0 {
				GemmTiles(sums, lanes, a[x:], lda, b[first:first+16*lanes], lanes, m, 32, true, nil)
			}
		}
		for i := range m {
			for lane := range lanes {
				y := &c[i*ldc+lane]
				if !load && x == 0 {
					*y = 0
				}
				*y += sums[i*lanes+lane]
			}
		}
	}
}

// RoundHalves is Unit.RoundHalves. As in Pairs, 1.5·2^23 units make a number round to one.
func RoundHalves(first, other []uint32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	rounded := make([]float32, n*ld)
	fallback.Lanes().Round(rounded, s, ld, n, scales, lsc, bits, unit)
	for lane, u := range unit {
		magic := math.Float32frombits(math.Float32bits(u) + 23<<23 | 1<<22)
		for j := 0; j < n; j += 2 {
			at, nan := j/2*len(unit)+lane, uint32(0x7fc0)
			var upper, rest uint32
			for i := range min(2, n-j) {
				x := float32(s[(j+i)*ld+lane]*scales[(j+i)*lsc]) + magic - magic
				y := math.Float32frombits(math.Float32bits(x) & 0xffff0000)
				upper |= math.Float32bits(y) >> 16 << (16 * i)
				rest |= math.Float32bits(x-y) >> 16 << (16 * i)
				nan |= 0x7fc0 << (16 * i)
			}
			if u == 0 {
				upper, rest = 0, 0
			} else if u != u {
				upper, rest = nan, nan
			}
			first[at], other[at] = upper, rest
		}
	}
}

// ScoreHalves is Unit.ScoreHalves.
func ScoreHalves(s []float32, a []uint16, lda int, first, other []uint32, scales []float32, lsc, m, k int, load bool, max []float32) {
	w := len(max)
	sums := make([]float32, m*w)
	for x := 0; x < k; x += 32 {
		GemmTiles(sums, w, a[x:], lda, first[x/2*w:(x+32)/2*w], w, m, 32, true, nil)
		GemmTiles(sums, w, a[x:], lda, other[x/2*w:(x+32)/2*w], w, m, 32, true, nil)
	}
	for i := range sums {
		y, lane, scale := &s[i], i%w, scales[i/w*lsc]
		if load {
			*y = fma(sums[i], scale, *y)
		} else {
			*y = float32(sums[i] * scale)
		}
		max[lane] = larger(*y, max[lane])
	}
}

// QKEvenOdd is Skinny.QKEvenOdd.
func QKEvenOdd(s []float32, k []uint16, off []int, q []float32, n, d int, scale float32, max []float32, _ []int) {
	w, wide := len(max), factors(gathered(k, 2, off, d), d)
	for j := range off {
		for lane := range (n + 3) / 4 * 4 {
			x := scale * evenOdd(0, true, wide[j*d:], 1, q[min(lane, n-1):], w, d)
			s[j*w+lane] = x
			max[lane] = larger(x, max[lane])
		}
	}
}

// PVEvenOdd is Skinny.PVEvenOdd.
func PVEvenOdd(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
	wide := factors(gathered(v, 2, off, dv), dv)
	for i := range n {
		for e := range dv {
			o[i*ldo+e] = evenOdd(o[i*ldo+e], load, wide[e:], dv, p[i:], ldp, len(off))
		}
	}
}

// factors are rows of bfloat16 as products in bfloat16 take them.
func factors(x []uint16, d int) []float32 {
	wide, n := make([]float32, len(x)), len(x)/d
	fallback.Convert().Widen[bfloat16](wide, d, bytesOf(x), 2*d, n, d)
	fallback.Convert().Flush(wide, d, wide, d, n, d, 0x1p-56)
	return wide
}

// evenOdd adds a product in bfloat16 of k ≥ 1 numbers to sum, or replaces it.
func evenOdd(sum float32, load bool, a []float32, lda int, b []float32, ldb, k int) float32 {
	for x := 0; x < k; x += 32 {
		var even, odd float32
		for y := x; y < min(x+32, k); y += 2 {
			even = fma(a[y*lda], b[y*ldb], even)
			if y+1 < k {
				odd = fma(a[(y+1)*lda], b[(y+1)*ldb], odd)
			}
		}
		if x > 0 || load {
			sum += odd + even
		} else {
			sum = odd + even
		}
	}
	return sum
}

// U5x32Unpack and the next ones are BlockKernels.Unpack.
func U5x32Unpack(dst []uint32, b []byte, lanes, k int)    { unpack(ukernel.U5x32, dst, b, lanes, k) }
func U4x16Unpack(dst []uint32, b []byte, lanes, k int)    { unpack(ukernel.U4x16, dst, b, lanes, k) }
func U5x16Unpack(dst []uint32, b []byte, lanes, k int)    { unpack(ukernel.U5x16, dst, b, lanes, k) }
func S6x16Unpack(dst []uint32, b []byte, lanes, k int)    { unpack(ukernel.S6x16, dst, b, lanes, k) }
func S5x16F32Unpack(dst []uint32, b []byte, lanes, k int) { unpack(ukernel.S5x16F32, dst, b, lanes, k) }
func S8x16F32Unpack(dst []uint32, b []byte, lanes, k int) { unpack(ukernel.S8x16F32, dst, b, lanes, k) }

func unpack(f ukernel.PackedFormat, dst []uint32, b []byte, lanes, k int) {
	for block := range k / ukernel.BlockSteps {
		from, to := quantized.BlockAt(f, lanes, b, block), dst[block*ukernel.UnpackedRows*lanes:]
		for lane := range lanes {
			d, m := from.Scales(lane)
			to[lane], to[lanes+lane] = math.Float32bits(d[0]), math.Float32bits(-m[0])
			to[2*lanes+lane], to[3*lanes+lane] = math.Float32bits(float32(d[1]*0x1p-16)), math.Float32bits(-m[1])
			for g, word := range from.Words(lane) {
				to[(4+g)*lanes+lane] = word
			}
		}
	}
}

// U4x32Gemm is BlockKernels.Gemm.
func U4x32Gemm(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	const lanes = ukernel.PanelLanes
	wide := make([]float32, k*lanes)
	quantized.Widen(ukernel.U4x32, wide, lanes, b, 0, lanes, k)
	fallback.Weights().Gemm(c, ldc, a, rs, cs, wide, lanes, m, k, load, nil)
}

// GemmUnpacked is Weights.GemmUnpacked.
func GemmUnpacked(c []float32, ldc int, a []float32, rs, cs int, b []uint32, m, k int, load bool, _ []byte) {
	const lanes = ukernel.PanelLanes
	wide := make([]float32, k*lanes)
	for x := range k {
		block, step := b[x/ukernel.BlockSteps*ukernel.UnpackedRows*lanes:], x%ukernel.BlockSteps
		for lane := range lanes {
			d, m := math.Float32frombits(block[lane]), math.Float32frombits(block[lanes+lane])
			if step >= 16 {
				d, m = math.Float32frombits(block[2*lanes+lane])*0x1p16, math.Float32frombits(block[3*lanes+lane])
			}
			wide[x*lanes+lane] = fma(float32(block[(4+step%8)*lanes+lane]>>(step/8*8)&255), d, -m)
		}
	}
	fallback.Weights().Gemm(c, ldc, a, rs, cs, wide, lanes, m, k, load, nil)
}

// Pairs is Skinny.Pairs.
func Pairs(pairs []int32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	integerPairs(pairs, len(unit), s, ld, n, scales, lsc, bits, unit)
}

// GroupPairs is Skinny.GroupPairs.
func GroupPairs(pairs []int32, lpg int, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	const w = 4
	for g := range len(unit) / w {
		integerPairs(pairs[g*lpg:], w, s, ld, n, scales[g:], lsc, bits, unit[w*g:][:w])
	}
}

// integerPairs is Pairs with rows of pairs ldp apart. A number and 1.5·2^23 units add up to a
// float32 whose last bit is worth one unit. So its lower bits are the integer's.
func integerPairs(pairs []int32, ldp int, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	rounded := make([]float32, n*ld)
	fallback.Lanes().Round(rounded, s, ld, n, scales, lsc, bits, unit)
	for lane, u := range unit {
		magic := math.Float32frombits(math.Float32bits(u) + 23<<23 | 1<<22)
		integer := func(j int) int32 {
			if j >= n || u == 0 || u != u {
				return 0
			}
			return int32(math.Float32bits(float32(s[j*ld+lane]*scales[j*lsc])+magic)) & 0xffff
		}
		for j := 0; j < n; j += 2 {
			pairs[j/2*ldp+lane] = integer(j) | integer(j+1)<<16
		}
	}
}
