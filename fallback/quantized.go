package fallback

import "encoding/binary"

// Quantized weights are integers with a scale, and perhaps a minimum, for every block of
// BlockSteps inputs of an output. A packed panel of them has some lanes, one per output,
// a multiple of 16. Its blocks follow each other. A block is
//
//	d [lanes]           the scales, binary16, little-endian
//	m [lanes]           the minima, the same; BlockQ4_1 alone
//	q [32][lanes]       BlockQ8_0: int8, one row per step
//	q [4][lanes] words  the others: number j of word g, in bits 4j to 4j+3 of a little-endian uint32, is that of step 4j+g
//
// So the words of a lane hold four neighbouring steps at the same bits.
const BlockSteps = 32

// A BlockFormat says what the numbers of a block stand for.
type BlockFormat int

// The formats, which the GGUF file format calls Q8_0, Q4_0 and Q4_1.
const (
	BlockQ8_0 BlockFormat = iota // d·q, q an int8
	BlockQ4_0                    // d·q - 8d, q of 4 bits
	BlockQ4_1                    // d·q + m, q of 4 bits, rounded once
)

// Bytes returns the size of a block of lanes.
func (f BlockFormat) Bytes(lanes int) int { return lanes * [...]int{34, 18, 20}[f] }

// scales is the number of binary16 per lane at the start of a block.
func (f BlockFormat) scales() int { return [...]int{1, 1, 2}[f] }

// Weight returns one weight of a block. It is exact but for BlockQ4_1, where the sum is rounded.
func (f BlockFormat) Weight(block []byte, lanes, step, lane int) float32 {
	half := func(i int) float32 { return F16(binary.LittleEndian.Uint16(block[2*(i*lanes+lane):])) }
	numbers, d := block[2*f.scales()*lanes:], half(0)
	if f == BlockQ8_0 {
		return float32(float32(int8(numbers[step*lanes+lane])) * d)
	}
	m := float32(-8 * d)
	if f == BlockQ4_1 {
		m = half(1)
	}
	word := binary.LittleEndian.Uint32(numbers[4*(step%4*lanes+lane):])
	return float32(float32(word>>(step/4*4)&15)*d) + m // the product is exact
}

// WidenQ8_0 converts the k rows of a packed panel of [BlockQ8_0] to float32, lanes wide
// and without gaps. k is a multiple of BlockSteps.
func WidenQ8_0(dst []float32, b []byte, lanes, k int) { BlockQ8_0.Widen(dst, lanes, b, 0, lanes, k) }

// WidenQ4_0 is WidenQ8_0 for [BlockQ4_0].
func WidenQ4_0(dst []float32, b []byte, lanes, k int) { BlockQ4_0.Widen(dst, lanes, b, 0, lanes, k) }

// WidenQ4_1 is WidenQ8_0 for [BlockQ4_1].
func WidenQ4_1(dst []float32, b []byte, lanes, k int) { BlockQ4_1.Widen(dst, lanes, b, 0, lanes, k) }

// Widen converts the k rows of n lanes of a packed panel, from the first one on, without gaps.
func (f BlockFormat) Widen(dst []float32, n int, b []byte, first, lanes, k int) {
	size := f.Bytes(lanes)
	for x := range k {
		block, row := window(b, x/BlockSteps*size, size), window(dst, x*n, n)
		for lane := range row {
			row[lane] = f.Weight(block, lanes, x%BlockSteps, first+lane)
		}
	}
}

// WeightGemmQ8_0 is WeightGemm with a packed panel of [BlockQ8_0]. k is a multiple of
// BlockSteps, and not 0.
func WeightGemmQ8_0(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	BlockQ8_0.gemm(c, ldc, a, rs, cs, b, m, k, load)
}

// WeightGemmQ4_0 is WeightGemmQ8_0 for [BlockQ4_0].
func WeightGemmQ4_0(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	BlockQ4_0.gemm(c, ldc, a, rs, cs, b, m, k, load)
}

// WeightGemmQ4_1 is WeightGemmQ8_0 for [BlockQ4_1].
func WeightGemmQ4_1(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	BlockQ4_1.gemm(c, ldc, a, rs, cs, b, m, k, load)
}

// gemm widens one segment of some lanes at a time, for all rows of a.
func (f BlockFormat) gemm(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
	if m == 0 {
		return
	}
	var wide [InputSegment * Lanes]float32
	for x := 0; x < k; x += InputSegment {
		n := min(InputSegment, k-x)
		for lane := 0; lane < PanelLanes; lane += Lanes {
			f.Widen(wide[:], Lanes, b[x/BlockSteps*f.Bytes(PanelLanes):], lane, PanelLanes, n)
			Gemm(c[lane:], ldc, a[x*cs:], rs, cs, wide[:], Lanes, m, n, InputSegment, load || x > 0)
		}
	}
}

// Pack writes the blocks of some rows into those of a packed panel. rows has one row of
// k/BlockSteps blocks for each of the first lanes, as GGUF files have them: d, then m if the
// format has one, then 32 bytes, or 16 of which byte i holds the numbers i (the lower half)
// and i+16. The other lanes stay as they are.
func (f BlockFormat) Pack(panel, rows []byte, lanes, k int) {
	from, to, blocks := f.Bytes(1), f.Bytes(lanes), k/BlockSteps
	for block := range blocks {
		for row := range len(rows) / (blocks * from) {
			f.packBlock(panel[block*to:][:to], rows[(row*blocks+block)*from:][:from], lanes, row)
		}
	}
}

// packBlock writes a block of one row into lane of a panel's.
func (f BlockFormat) packBlock(to, from []byte, lanes, lane int) {
	for i := range f.scales() {
		copy(to[2*(i*lanes+lane):][:2], from[2*i:])
	}
	to, from = to[2*f.scales()*lanes:], from[2*f.scales():]
	if f == BlockQ8_0 {
		for step, q := range from {
			to[step*lanes+lane] = q
		}
		return
	}
	for g := range 4 { // the lower halves are steps g, g+4, g+8 and g+12, the upper ones those after 16
		b0, b1, b2, b3 := uint32(from[g]), uint32(from[g+4]), uint32(from[g+8]), uint32(from[g+12])
		word := b0&15 | b1&15<<4 | b2&15<<8 | b3&15<<12 | b0>>4<<16 | b1>>4<<20 | b2>>4<<24 | b3>>4<<28
		binary.LittleEndian.PutUint32(to[4*(g*lanes+lane):], word)
	}
}
