package wire

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Entry is what the directory says of a sequence.
type Entry struct {
	Wire, Contract int    // version of the program that wrote it
	ID             string // name of the sequence on the workers
	Geometry       Geometry
	Replicas       int        // workers that should hold a block
	Writer         string     // whose changes count
	Epoch          uint64     // of the last change
	Cut            uint64     // epoch of the last change that took keys away, so that later ones may replace them
	Length         int        // keys
	Blocks         [][]string // workers that hold each block
}

// MaxReplicas is the most workers that an [Entry] has for a block.
const MaxReplicas = 255

// Append appends the entry to b, with its CRC-32C at the end. Names of workers are written once.
func (e *Entry) Append(b []byte) []byte {
	start := len(b)
	b = appendU32(appendU32(b, e.Wire), e.Contract)
	b = e.Geometry.append(appendText(b, e.ID))
	b = appendText(append(b, byte(e.Replicas)), e.Writer)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, e.Epoch), e.Cut)
	b = appendU32(b, e.Length)
	var names []string
	index := map[string]int{}
	for _, block := range e.Blocks {
		for _, w := range block {
			if _, known := index[w]; !known {
				index[w] = len(names)
				names = append(names, w)
			}
		}
	}
	b = AppendNames(b, names)
	for _, block := range e.Blocks {
		b = append(b, byte(len(block)))
		for _, w := range block {
			b = binary.LittleEndian.AppendUint16(b, uint16(index[w]))
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// castagnoli is the polynomial of CRC-32C (RFC 3720, appendix B.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EntryVersion returns the version at the start of an entry, of whatever form the rest is, or
// zeros.
func EntryVersion(data []byte) (wire, contract int) {
	r := &reader{message: "entry", data: data}
	return r.i31("the version"), r.i31("the contract")
}

// ParseEntry reads an [Entry].
func ParseEntry(data []byte) (*Entry, error) {
	body := data[:max(len(data)-4, 0)]
	r := &reader{message: "entry", data: data, at: len(body)}
	if sum := r.bytes(4); r.err == nil && binary.LittleEndian.Uint32(sum) != crc32.Checksum(body, castagnoli) {
		r.fail("the checksum is that of other bytes")
	}
	r.data, r.at = body, 0
	e := &Entry{Wire: r.i31("the version"), Contract: r.i31("the contract"), ID: r.name(), Geometry: r.geometry(),
		Replicas: r.u8(), Writer: r.name(), Epoch: r.u64(), Cut: r.u64(), Length: r.i31("the length")}
	var names []string
	known := map[string]bool{}
	for range r.count("names", 2) {
		name := r.name()
		if r.err == nil && known[name] {
			r.fail("worker %q twice", name)
		}
		if r.err != nil {
			return e, r.err
		}
		names, known[name] = append(names, name), true
	}
	blocks := (e.Length + BlockKeys - 1) / BlockKeys
	if r.err == nil && blocks > len(data)-r.at {
		r.fail("%d blocks cannot follow", blocks)
	}
	seen := 0 // names come in the order in which blocks need them
	for i := 0; i < blocks && r.err == nil; i++ {
		var block []string
		for range r.u8() {
			n := r.u16()
			if r.err == nil && (n >= len(names) || n > seen || slices.Contains(block, names[n])) {
				r.fail("worker %d of %d", n, len(names))
			}
			if r.err != nil {
				return e, r.err
			}
			seen = max(seen, n+1)
			block = append(block, names[n])
		}
		e.Blocks = append(e.Blocks, block)
	}
	if r.err == nil && seen != len(names) {
		r.fail("%d workers hold no block", len(names)-seen)
	}
	return e, r.end()
}
