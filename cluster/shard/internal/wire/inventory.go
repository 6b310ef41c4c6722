package wire

import "encoding/binary"

// AppendNames writes a message that asks a worker to forget sequences.
func AppendNames(b []byte, names []string) []byte {
	b = appendU32(b, len(names))
	for _, s := range names {
		b = appendText(b, s)
	}
	return b
}

// ParseNames reads what [AppendNames] writes.
func ParseNames(data []byte) ([]string, error) {
	r := &reader{message: "free", data: data}
	var names []string
	for range r.count("names", 2) {
		s := r.name()
		if r.err != nil {
			break
		}
		names = append(names, s)
	}
	return names, r.end()
}

// Drop asks a worker to forget some blocks of a sequence, which others hold.
type Drop struct {
	ID       uint64 // of the message: what arrives a second time is ignored
	Sequence string
	Blocks   []int
}

// Append appends the message to b.
func (d *Drop) Append(b []byte) []byte {
	b = appendText(binary.LittleEndian.AppendUint64(b, d.ID), d.Sequence)
	b = appendU32(b, len(d.Blocks))
	for _, n := range d.Blocks {
		b = appendU32(b, n)
	}
	return b
}

// ParseDrop reads a [Drop].
func ParseDrop(data []byte) (*Drop, error) {
	r := &reader{message: "drop", data: data}
	d := &Drop{ID: r.u64(), Sequence: r.name()}
	for range r.count("blocks", 4) {
		n := r.block()
		if r.err != nil {
			break
		}
		d.Blocks = append(d.Blocks, n)
	}
	return d, r.end()
}
