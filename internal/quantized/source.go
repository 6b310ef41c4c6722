package quantized

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Source is a format of quantized weights in GGUF files.
type Source struct {
	Name   string
	Layout ukernel.BlockFormat // what it is packed into
	Steps  int                 // weights of a block of the file
	Bytes  int                 // of such a block

	// read sets g to 32 weights of a block, number part; nil if the layout is none of grouped formats.
	read func(g *group, block []byte, part int)

	// values, if not nil, are what the numbers of the file stand for: 4 bits for 8.
	values *[16]int8

	// fits tells whether a block can be packed; nil if all can.
	fits func(block []byte) bool

	// wider packs the blocks of matrices some of which do not fit; nil if there is no such way.
	wider *Source
}

// A group is 32 weights of a grouped format: (d·s[i])·(q-offset) or (d·s[i])·q - m·t[i], where i is that of
// 16 weights.
type group struct {
	d, m uint16 // binary16
	s, t [2]int8
	q    [32]uint8
}

// Sources are the formats in the order of linear.Format. The blocks of ggml are described in
// ggml/src/ggml-common.h of github.com/ggml-org/llama.cpp, and their weights in ggml-quants.c there.
var Sources = [...]Source{
	{"Q8_0", ukernel.Q8_0, 32, 34, nil, nil, nil, nil},
	{"Q4_0", ukernel.Q4_0, 32, 18, nil, nil, nil, nil},
	{"Q4_1", ukernel.Q4_1, 32, 20, nil, nil, nil, nil},
	{"Q5_0", ukernel.K5, 32, 22, readQ5_0, nil, nil, nil},
	{"Q5_1", ukernel.K5, 32, 24, readQ5_1, nil, nil, nil},
	{"Q2_K", ukernel.K4, 256, 84, readQ2_K, nil, nil, nil},
	{"Q3_K", ukernel.K4, 256, 110, readQ3_K, nil, nil, nil},
	{"Q4_K", ukernel.K4, 256, 144, readQ4_K, nil, nil, nil},
	{"Q5_K", ukernel.K5, 256, 176, readQ5_K, nil, nil, nil},
	{"Q6_K", ukernel.K6, 256, 210, readQ6_K, nil, nil, nil},
	{"IQ4_NL", ukernel.Q8_0, 32, 18, nil, &iq4Values, nil, nil},
	{"MXFP4", ukernel.K5, 32, 17, readMXFP4, nil, fitsMXFP4, &wideMXFP4},
}

// wideMXFP4 has scales of another range than binary16.
var wideMXFP4 = Source{"MXFP4", ukernel.K5B, 32, 17, readWideMXFP4, nil, fitsWideMXFP4, nil}

// For returns how blocks are packed: s, or if some do not fit what takes a wider range. If
// there is none, it returns nil and the number of the first block that does not fit.
func (s *Source) For(blocks []byte) (fitting *Source, unfit int) {
	for ; s != nil; s = s.wider {
		if unfit = s.firstUnfit(blocks); unfit < 0 {
			return s, 0
		}
	}
	return nil, unfit
}

// firstUnfit returns the number of the first block that cannot be packed, or -1.
func (s *Source) firstUnfit(blocks []byte) int {
	for i := 0; s.fits != nil && i < len(blocks)/s.Bytes; i++ {
		if !s.fits(blocks[i*s.Bytes:][:s.Bytes]) {
			return i
		}
	}
	return -1
}

// Packed returns how the blocks of a layout are packed.
func (s *Source) Packed(layout ukernel.BlockFormat) *Source {
	for s != nil && s.Layout != layout {
		s = s.wider
	}
	return s
}

// iq4Values are those of IQ4_NL: kvalues_iq4nl in ggml-common.h.
var iq4Values = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// lookUp sets to, a block of 34 bytes, to one of the file with what its numbers stand for.
func (s *Source) lookUp(to, from []byte) {
	copy(to[:2], from)
	for i, b := range from[2:18] {
		to[2+i], to[18+i] = byte(s.values[b&15]), byte(s.values[b>>4])
	}
}

func half(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }

// readFifths sets q to 16 bytes of numbers of 4 bits with 32 fifth bits.
func (g *group) readFifths(high uint32, low []byte) {
	for i, b := range low[:16] {
		g.q[i] = b&15 | uint8(high>>i&1)<<4
		g.q[i+16] = b>>4 | uint8(high>>(i+16)&1)<<4
	}
}

// readQ5_0: d, the fifth bits and the others. The offset 16 is a minimum of d·16.
func readQ5_0(g *group, b []byte, _ int) {
	g.d, g.m, g.s, g.t = half(b), half(b), [2]int8{1, 1}, [2]int8{16, 16}
	g.readFifths(binary.LittleEndian.Uint32(b[2:]), b[6:])
}

// readQ5_1: d, m, the fifth bits and the others. m is added.
func readQ5_1(g *group, b []byte, _ int) {
	g.d, g.m, g.s, g.t = half(b), half(b[2:]), [2]int8{1, 1}, [2]int8{-1, -1}
	g.readFifths(binary.LittleEndian.Uint32(b[4:]), b[8:])
}

// mx4Numbers are the 16 values of MXFP4, doubled, plus 16: those of OCP's E2M1 are 0, 0.5, 1, 1.5, 2, 3, 4 and 6
// (Open Compute Project: "OCP Microscaling Formats (MX) Specification", version 1.0). Number 8, -0, is 0.
var mx4Numbers = [16]uint8{16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4}

// mx4Zero is the number of 0.
const mx4Zero = 16

// readMXFP4: the exponent of the scale, 127 too large, and 16 bytes as in Q4_0. The scale is half of that, as the
// values are doubled; it is 0 if all of them are. The offset 16 is a minimum of d·16.
func readMXFP4(g *group, b []byte, _ int) {
	g.d, g.s, g.t = 0, [2]int8{1, 1}, [2]int8{16, 16}
	if !isZeroMXFP4(b) {
		g.d = powerOf2(int(b[0]) - 128)
	}
	g.m = g.d
	for i, x := range b[1:17] {
		g.q[i], g.q[i+16] = mx4Numbers[x&15], mx4Numbers[x>>4]
	}
}

// fitsMXFP4: the scale is a binary16, or all values are zeros, which have any.
func fitsMXFP4(b []byte) bool { return powerOf2(int(b[0])-128) != 0 || isZeroMXFP4(b) }

// fitsWideMXFP4: the minimum, 16 times the scale, is finite, or the scale is NaN, or all
// values are zeros.
func fitsWideMXFP4(b []byte) bool { return b[0] <= mostMXFP4 || b[0] == nanMXFP4 || isZeroMXFP4(b) }

// The exponents of the scale 2^123, and of NaN.
const mostMXFP4, nanMXFP4 = 251, 255

func isZeroMXFP4(b []byte) bool {
	for _, x := range b[1:17] {
		if x&0x77 != 0 { // the magnitudes
			return false
		}
	}
	return true
}

// readWideMXFP4 is readMXFP4 with a scale of bfloat16. Weights below 2^-126 become 0.
func readWideMXFP4(g *group, b []byte, part int) {
	readMXFP4(g, b, part)
	if isZeroMXFP4(b) {
		return
	}
	d := math.Ldexp(1, int(b[0])-128)
	if b[0] == nanMXFP4 {
		d = math.NaN()
	}
	g.d = scalar.ToBF16(float32(d))
	g.m = g.d
	for i, q := range g.q {
		if math.Abs(float64(int(q)-mx4Zero))*d < 0x1p-126 {
			g.q[i] = mx4Zero
		}
	}
}

// powerOf2 returns 2^x as binary16, or 0 if that has no such number.
func powerOf2(x int) uint16 {
	switch {
	case x < -24 || x > 15:
		return 0
	case x < -14: // subnormal
		return 1 << (x + 24)
	}
	return uint16(x+15) << 10
}

// readQ2_K: a byte for each 16 weights, whose halves are s and t; 64 bytes with 2 bits; d and m.
func readQ2_K(g *group, b []byte, part int) {
	g.d, g.m = half(b[80:]), half(b[82:])
	for i := range 2 {
		x := b[2*part+i]
		g.s[i], g.t[i] = int8(x&15), int8(x>>4)
	}
	for i := range g.q {
		g.q[i] = b[16+part/4*32+i] >> (part % 4 * 2) & 3
	}
}

// readQ3_K: 32 bytes with the third bits, 64 with the two lower ones, 12 bytes with 16 s of 6 bits, 32
// too large, and d. The numbers are 4 too large, which is a minimum of d·4s.
func readQ3_K(g *group, b []byte, part int) {
	g.d, g.m = half(b[108:]), half(b[108:])
	for i := range 2 {
		n := 2*part + i
		s := b[96+n%8]>>(n/8*4)&15 | b[104+n%4]>>(n/4*2)&3<<4
		g.s[i] = int8(s) - 32
		g.t[i] = 4 * g.s[i]
	}
	for i := range g.q {
		g.q[i] = b[32+part/4*32+i]>>(part%4*2)&3 | b[i]>>part&1<<2
	}
}

// readScales: s and t of 32 weights of Q4_K and Q5_K, 6 bits each, in 12 bytes.
func (g *group) readScales(b []byte, part int) {
	s, t := b[part%4]&63, b[part%4+4]&63
	if part >= 4 {
		s, t = b[part+4]&15|b[part-4]>>6<<4, b[part+4]>>4|b[part]>>6<<4
	}
	g.s, g.t = [2]int8{int8(s), int8(s)}, [2]int8{int8(t), int8(t)}
}

// readQ4_K: d, m, the scales and 128 bytes with 4 bits.
func readQ4_K(g *group, b []byte, part int) {
	g.d, g.m = half(b), half(b[2:])
	g.readScales(b[4:], part)
	for i := range g.q {
		g.q[i] = b[16+part/2*32+i] >> (part % 2 * 4) & 15
	}
}

// readQ5_K: as Q4_K, with 32 bytes of fifth bits before the others.
func readQ5_K(g *group, b []byte, part int) {
	g.d, g.m = half(b), half(b[2:])
	g.readScales(b[4:], part)
	for i := range g.q {
		g.q[i] = b[48+part/2*32+i]>>(part%2*4)&15 | b[16+i]>>part&1<<4
	}
}

// readQ6_K: 128 bytes with 4 bits, 64 with the 2 upper ones, 16 int8 that are s, and d.
func readQ6_K(g *group, b []byte, part int) {
	g.d = half(b[208:])
	for i := range 2 {
		g.s[i] = int8(b[192+2*part+i])
	}
	for i := range g.q {
		low, high := b[part/4*64+part%2*32+i], b[128+part/4*32+i]
		g.q[i] = low>>(part/2%2*4)&15 | high>>(part%4*2)&3<<4
	}
}
