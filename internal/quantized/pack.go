package quantized

import (
	"encoding/binary"

	"github.com/attn-go/attn/contract"
)

// Pack writes the blocks of some rows into those of a packed panel. rows has one row of
// k/contract.WeightBlock blocks for each of the first lanes, as GGUF files have them: d, then m if the
// format has one, then 32 bytes, or 16 of which byte i holds the numbers i (the lower half)
// and i+16. The other lanes stay as they are.
func (f *Format) Pack(panel, rows []byte, lanes, k int) {
	from, to, blocks := f.Bytes(1), f.Bytes(lanes), k/contract.WeightBlock
	for block := range blocks {
		for row := range len(rows) / (blocks * from) {
			f.packBlock(panel[block*to:][:to], rows[(row*blocks+block)*from:][:from], lanes, row)
		}
	}
}

// packBlock writes a block of one row into lane of a panel's.
func (f *Format) packBlock(to, from []byte, lanes, lane int) {
	halves := f.halves()
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
