package quantized

import (
	"encoding/binary"

	"github.com/attn-go/attn/contract"
)

// Pack writes the blocks of some rows into those of a packed panel. rows has one row of k/Steps blocks
// for each of the first lanes, as GGUF files have them. The other lanes stay as they are.
func (s *Source) Pack(panel, rows []byte, lanes, k int) {
	f := Of(s.Layout)
	to, blocks, parts := f.Bytes(lanes), k/s.Steps, s.Steps/contract.WeightBlock
	var bytes [34]byte
	for block := range blocks {
		for row := range len(rows) / (blocks * s.Bytes) {
			from := rows[(row*blocks+block)*s.Bytes:][:s.Bytes]
			if s.values != nil {
				s.lookUp(bytes[:], from)
				from = bytes[:]
			}
			for part := range parts {
				at := panel[(block*parts+part)*to:][:to]
				if s.read == nil {
					f.packBlock(at, from, lanes, row)
					continue
				}
				var g group
				s.read(&g, from, part)
				f.packGroup(at, &g, lanes, row)
			}
		}
	}
}

// packGroup writes a block of a grouped format.
func (f *Format) packGroup(to []byte, g *group, lanes, lane int) {
	put := func(i int, x uint16) { binary.LittleEndian.PutUint16(to[2*(i*lanes+lane):], x) }
	pair := func(x [2]int8) uint16 { return uint16(uint8(x[0])) | uint16(uint8(x[1]))<<8 }
	put(0, g.d)
	if f.Offset == 0 {
		put(1, g.m)
		put(3, pair(g.t))
	}
	put(f.Halves(), pair(g.s))
	var words [8]uint32
	more := f.Bits - 4
	for step, q := range g.q {
		i, g, upper := step/8*8, step%4, step%8/4*4
		words[g] |= uint32(q&15) << (i + upper)
		if more > 0 {
			words[4+g*more/4] |= uint32(q>>4) << (i + g*more%4 + upper)
		}
	}
	numbers := to[f.header()*lanes:]
	for i, word := range words[:f.Bits] {
		binary.LittleEndian.PutUint32(numbers[4*(i*lanes+lane):], word)
	}
}

// packBlock writes a block of one row into lane of a panel's, of a format that is no grouped one: d, then m
// if the format has one, then 32 bytes, or 16 of which byte i holds the numbers i (the lower half) and i+16.
func (f *Format) packBlock(to, from []byte, lanes, lane int) {
	halves := f.Halves()
	for i := range halves {
		copy(to[2*(i*lanes+lane):][:2], from[2*i:])
	}
	to, from = to[2*halves*lanes:], from[2*halves:]
	for g := range f.Bits {
		var word uint32
		if f.Bits == 8 {
			const unsigned = 0x80808080 // adds 128 to each int8
			word = uint32(from[g]) | uint32(from[g+8])<<8 | uint32(from[g+16])<<16 | uint32(from[g+24])<<24 ^ unsigned
		} else { // the lower halves are steps g, g+4, g+8 and g+12, the upper ones those after 16
			b0, b1, b2, b3 := uint32(from[g]), uint32(from[g+4]), uint32(from[g+8]), uint32(from[g+12])
			word = b0&15 | b1&15<<4 | b2&15<<8 | b3&15<<12 | b0>>4<<16 | b1>>4<<20 | b2>>4<<24 | b3>>4<<28
		}
		binary.LittleEndian.PutUint32(to[4*(g*lanes+lane):], word)
	}
}
