package wire

import "encoding/binary"

// Fetch asks a worker for rows of a block. The answer is what [Keys] has as Rows.
type Fetch struct {
	Geometry Geometry
	Sequence string
	Epoch    uint64 // as in [Queries]
	Block    int
	Rows     int // that the block should have
	Lo, Hi   int // rows Lo to Hi-1 are wanted
}

// Append appends the message to b.
func (f *Fetch) Append(b []byte) []byte {
	b = appendText(f.Geometry.append(b), f.Sequence)
	b = appendU32(binary.LittleEndian.AppendUint64(b, f.Epoch), f.Block)
	for _, x := range [...]int{f.Rows, f.Lo, f.Hi} {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return b
}

// ParseFetch reads a [Fetch].
func ParseFetch(data []byte) (*Fetch, error) {
	r := &reader{message: "fetch", data: data}
	f := &Fetch{r.geometry(), r.name(), r.u64(), r.block(), r.u16(), r.u16(), r.u16()}
	if r.err == nil && !(f.Lo < f.Hi && f.Hi <= f.Rows && f.Rows <= BlockKeys) {
		r.fail("rows %d to %d of %d, want some of at most %d", f.Lo, f.Hi, f.Rows, BlockKeys)
	}
	return f, r.end()
}
