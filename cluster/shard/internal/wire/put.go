package wire

import "encoding/binary"

// Put asks a worker to hold keys and values.
type Put struct {
	Geometry Geometry
	Items    []Keys
}

// Keys are some keys and values of a block. Sending them twice changes nothing.
type Keys struct {
	Sequence string
	Block    int
	Epoch    uint64 // of the writer: a later one may replace rows, an earlier one may not
	Offset   int    // of the first row in the block
	Count    int    // of rows

	// Rows hold, in this order: the elements of the keys [Heads, Count, KeySize], those of the
	// values, the scales of the keys [Heads, Count, scales], those of the values.
	Rows []byte
}

// KeysOverhead is the most bytes of [Keys] in a message, its rows aside.
const KeysOverhead = 1 + MaxName + 4 + 8 + 2 + 2

// PutOverhead is the bytes of a [Put], its items aside.
const PutOverhead = 9 + 4

// Append appends the message to b.
func (p *Put) Append(b []byte) []byte {
	b = p.Geometry.append(b)
	b = appendU32(b, len(p.Items))
	for i := range p.Items {
		k := &p.Items[i]
		b = appendText(b, k.Sequence)
		b = appendU32(b, k.Block)
		b = binary.LittleEndian.AppendUint64(b, k.Epoch)
		b = binary.LittleEndian.AppendUint16(b, uint16(k.Offset))
		b = binary.LittleEndian.AppendUint16(b, uint16(k.Count))
		b = append(b, k.Rows...)
	}
	return b
}

// ParsePut reads a [Put], whose rows are in the memory of data.
func ParsePut(data []byte) (*Put, error) {
	r := &reader{message: "put", data: data}
	p := &Put{Geometry: r.geometry()}
	n := r.count("items", 2+4+8+4)
	for range n {
		k := Keys{Sequence: r.name(), Block: r.block(), Epoch: r.u64(), Offset: r.u16(), Count: r.u16()}
		if r.err == nil && (k.Count < 1 || k.Offset+k.Count > BlockKeys) {
			r.fail("rows %d to %d of a block, want 1 or more of %d", k.Offset, k.Offset+k.Count, BlockKeys)
		}
		k.Rows = r.bytes(k.Count * p.Geometry.RowBytes())
		if r.err != nil {
			break
		}
		p.Items = append(p.Items, k)
	}
	return p, r.end()
}

// MaxBlock is the number of the last block that a position can be in.
const MaxBlock = 1<<22 - 1

func (r *reader) block() int {
	x := r.i31("the number of a block")
	if r.err == nil && x > MaxBlock {
		r.fail("block %d, want at most %d", x, MaxBlock)
	}
	return x
}

// A Status is what a worker says of one item.
type Status uint8

const (
	OK       Status = iota
	Gap             // rows before these are missing
	Conflict        // other rows are there
	Stale           // of an epoch that is over
	Full            // the worker's limit of bytes is reached
	Misfit          // the sequence has another geometry
	Leaving         // the worker takes no more blocks
	statuses
)

// String says what the status means.
func (s Status) String() string {
	return [...]string{"ok", "rows before these are missing", "other rows are there", "a later writer was there",
		"the worker's memory limit is reached", "the sequence has other head sizes or elements", "it takes no more blocks", "unknown"}[min(s, statuses)]
}

// AppendStatuses appends the answer to a [Put].
func AppendStatuses(b []byte, s []Status) []byte {
	b = appendU32(b, len(s))
	for _, x := range s {
		b = append(b, byte(x))
	}
	return b
}

// ParseStatuses reads the answer to a [Put] of n items.
func ParseStatuses(data []byte, n int) ([]Status, error) {
	r := &reader{message: "put answer", data: data}
	if got := r.count("items", 1); r.err == nil && got != n {
		r.fail("%d items, want %d", got, n)
	}
	s := make([]Status, 0, n)
	for range n {
		x := Status(r.u8())
		if r.err == nil && x >= statuses {
			r.fail("status %d does not exist", x)
		}
		s = append(s, x)
	}
	return s, r.end()
}
