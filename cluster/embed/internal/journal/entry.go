package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// An Entry is the result of one record of the input. The n-th entry is that of the n-th
// record.
type Entry struct {
	Key    [sha256.Size]byte // of what the input has, so that a resumed run finds a changed input
	Source string            // where the text is
	ID     string            // JSON of the input's id, or ""
	Reason string            // why there is no vector, "" if there is one
	Vector []float32         // [Header.Width], nil with a Reason
}

// append appends the payload of a frame: the key; the lengths of the three strings, 4 bytes
// each; the strings; the vector, if any.
func (e Entry) append(b []byte) []byte {
	b = append(b, e.Key[:]...)
	for _, s := range []string{e.Source, e.ID, e.Reason} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	}
	b = append(append(append(b, e.Source...), e.ID...), e.Reason...)
	for _, x := range e.Vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// parseEntry reads what append writes.
func parseEntry(b []byte, width int) (e Entry, ok bool) {
	const head = sha256.Size + 3*4
	if len(b) < head {
		return e, false
	}
	copy(e.Key[:], b)
	lengths, rest := b[sha256.Size:head], b[head:]
	for i, s := range []*string{&e.Source, &e.ID, &e.Reason} {
		n := int64(binary.LittleEndian.Uint32(lengths[4*i:]))
		if n > int64(len(rest)) {
			return e, false
		}
		*s, rest = string(rest[:n]), rest[n:]
	}
	if e.Reason != "" {
		return e, len(rest) == 0
	}
	if len(rest) != 4*width {
		return e, false
	}
	e.Vector = make([]float32, width)
	for i := range e.Vector {
		e.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
	}
	return e, true
}
