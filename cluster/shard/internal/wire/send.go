package wire

import "encoding/binary"

// Send asks a worker to send rows of a block to another one, by a [Put] with the same epoch.
type Send struct {
	Geometry Geometry
	Sequence string
	Epoch    uint64 // as in [Queries]
	Block    int
	Rows     int    // that the block should have
	Lo, Hi   int    // rows Lo to Hi-1 are sent
	To       string // worker, or "" if no rows are to be sent: then Lo is Hi, and the answer says whether the worker holds the block
}

// Append appends the message to b.
func (s *Send) Append(b []byte) []byte {
	b = appendText(s.Geometry.append(b), s.Sequence)
	b = appendU32(binary.LittleEndian.AppendUint64(b, s.Epoch), s.Block)
	for _, x := range [...]int{s.Rows, s.Lo, s.Hi} {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return appendText(b, s.To)
}

// ParseSend reads a [Send].
func ParseSend(data []byte) (*Send, error) {
	r := &reader{message: "send", data: data}
	s := &Send{r.geometry(), r.name(), r.u64(), r.block(), r.u16(), r.u16(), r.u16(), r.text()}
	if r.err == nil && !((s.Lo < s.Hi || s.Lo == s.Hi && s.To == "") && s.Hi <= s.Rows && 1 <= s.Rows && s.Rows <= BlockKeys) {
		r.fail("rows %d to %d of %d for worker %q, want some of at most %d, or none for none", s.Lo, s.Hi, s.Rows, s.To, BlockKeys)
	}
	return s, r.end()
}
