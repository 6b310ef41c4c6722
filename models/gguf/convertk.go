package gguf

// The K types have blocks of 256 elements, with one or two scales in binary16 for all of them,
// and a small integer scale for each group of 16 or 32. In Q2_K, Q4_K and Q5_K a group also has
// a minimum, which is subtracted.

// fromQ2_K: 16 bytes with the scale of a group of 16 in the low half and its minimum in the
// high one, 64 bytes with elements of 2 bits, the scale of scales and that of minimums.
func fromQ2_K(dst []float32, b []byte) {
	scales, quants, d, dmin := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for i, s := range scales {
		scale, least := d*float32(s&15), float32(dmin*float32(s>>4))
		q := quants[i/8*32+i%2*16:]
		for j := range 16 {
			dst[i*16+j] = float32(scale*float32(q[j]>>(i/2%4*2)&3)) - least
		}
	}
}

// fromQ3_K: 32 bytes with the high bits of the elements, 64 bytes with their 2 low bits, 12
// bytes with 16 scales of 6 bits, and the scale of these. An element is 4 too large if its
// high bit is set, and a scale is 32 too large.
func fromQ3_K(dst []float32, b []byte) {
	high, quants, scales, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for i := range 16 {
		s := scales[i%8]>>(i/8*4)&15 | scales[8+i%4]>>(i/4*2)&3<<4
		scale := d * float32(int(s)-32)
		q, h := quants[i/8*32+i%2*16:], high[i%2*16:]
		for j := range 16 {
			v := q[j]>>(i/2%4*2)&3 | h[j]>>(i/2)&1<<2
			dst[i*16+j] = scale * float32(int(v)-4)
		}
	}
}

// scaleAndMin returns scale and minimum of group i of a Q4_K or Q5_K block, 6 bits each. They
// lie in 12 bytes: those of the first four groups in the low bits of bytes 0-3 and 4-7, those
// of the others in the halves of bytes 8-11 and the high bits of bytes 0-7.
func scaleAndMin(b []byte, i int) (scale, least float32) {
	if i < 4 {
		return float32(b[i] & 63), float32(b[i+4] & 63)
	}
	return float32(b[i+4]&15 | b[i-4]>>6<<4), float32(b[i+4]>>4 | b[i]>>6<<4)
}

// fromQ4_K: the scale of scales, that of minimums, 12 bytes with 8 of each, and 128 bytes with
// elements of 4 bits.
func fromQ4_K(dst []float32, b []byte) {
	d, dmin, scales, quants := half(b), half(b[2:]), b[4:16], b[16:144]
	for i := range 8 {
		s, m := scaleAndMin(scales, i)
		scale, least := d*s, float32(dmin*m)
		q := quants[i/2*32:]
		for j := range 32 {
			dst[i*32+j] = float32(scale*float32(q[j]>>(i%2*4)&15)) - least
		}
	}
}

// fromQ5_K: as Q4_K, with 32 bytes before the elements that have their fifth bits.
func fromQ5_K(dst []float32, b []byte) {
	d, dmin, scales, high, quants := half(b), half(b[2:]), b[4:16], b[16:48], b[48:176]
	for i := range 8 {
		s, m := scaleAndMin(scales, i)
		scale, least := d*s, float32(dmin*m)
		q := quants[i/2*32:]
		for j := range 32 {
			v := q[j]>>(i%2*4)&15 | high[j]>>i&1<<4
			dst[i*32+j] = float32(scale*float32(v)) - least
		}
	}
}

// fromQ6_K: 128 bytes with the low 4 bits of the elements, 64 bytes with their high 2 bits, 16
// int8 scales, and the scale of these. An element is 32 too large.
func fromQ6_K(dst []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for i, s := range scales {
		scale := d * float32(int8(s))
		l, h := low[i/8*64+i%4*16:], high[i/8*32+i%2*16:]
		for j := range 16 {
			v := l[j]>>(i/4%2*4)&15 | h[j]>>(i/2%4*2)&3<<4
			dst[i*16+j] = scale * float32(int(v)-32)
		}
	}
}
