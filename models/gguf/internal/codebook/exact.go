package codebook

import "github.com/attn-go/attn/linear"

// An Exact is a type whose weights blocks of a format of package linear can hold.
type Exact struct {
	Format linear.Format
	append func(dst, block []byte) []byte // the blocks of one
}

// Exacts are such types, by their numbers in files.
var Exacts = map[uint32]Exact{21: {linear.Q6_K, appendIQ3S}, 34: {linear.Q4_0, appendTQ1}, 35: {linear.Q4_0, appendTQ2}}

// Append appends the blocks of the format that are blocks of so many bytes of the type.
func (e Exact) Append(dst, data []byte, size int) []byte {
	for ; len(data) > 0; data = data[size:] {
		dst = e.append(dst, data[:size])
	}
	return dst
}

// appendIQ3S makes a block of Q6_K: 128 bytes with 4 bits, 64 with the 2 upper ones, a scale for
// each 16 weights, and d. A block of IQ3_S is d, the lower bits of a row for each 4 weights, the
// ninth bits, the signs, and a scale for each 32.
func appendIQ3S(dst, b []byte) []byte {
	var x block
	for i := range 32 {
		high := int(b[66+i/4]) >> (i % 4 * 2)
		x.eight(i, &grid3S, int(b[2+2*i])|high&1<<8, int(b[3+2*i])|high&2<<7, b[74+i])
	}
	var out [210]byte
	for i, y := range x.q {
		q, part := uint8(y+32), i/32
		out[part/4*64+part%2*32+i%32] |= q & 15 << (part / 2 % 2 * 4)
		out[128+part/4*32+i%32] |= q >> 4 << (part % 4 * 2)
	}
	for i := range 16 {
		out[192+i] = byte(1 + 2*nibble(b[106:], i/2))
	}
	copy(out[208:], b[:2])
	return append(dst, out[:]...)
}

// appendTQ2 makes 8 blocks of Q4_0 of 64 bytes with 2 bits and d. A weight is d·(q-1).
func appendTQ2(dst, b []byte) []byte {
	return ternary(dst, b[64:66], func(i int) uint8 { return b[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3 })
}

// appendTQ1 is appendTQ2 for numbers of 0 to 2, of which a byte has 5 or, at the end, 4: the first
// digits of a fraction to the base 3.
func appendTQ1(dst, b []byte) []byte {
	return ternary(dst, b[52:54], func(i int) uint8 {
		at, digit := i%32, i/32
		switch {
		case i >= 240:
			at, digit = 48+i%4, (i-240)/4
		case i >= 160:
			at, digit = 32+i%16, (i-160)/16
		}
		return uint8(uint16(b[at]*[5]uint8{1, 3, 9, 27, 81}[digit]) * 3 >> 8)
	})
}

// ternary appends blocks of Q4_0 with one scale: d, and 16 bytes, of which byte i has weights i, in
// its lower half, and i+16.
func ternary(dst, d []byte, q func(i int) uint8) []byte {
	for i := 0; i < Weights; i += 32 {
		dst = append(dst, d...)
		for j := range 16 {
			dst = append(dst, q(i+j)+7|(q(i+j+16)+7)<<4)
		}
	}
	return dst
}
