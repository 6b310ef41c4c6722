package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/attn-go/attn/kernel"
)

// Attend asks a worker for what blocks contribute to rows of attention.
type Attend struct {
	Geometry Geometry
	Call     Call
	Items    []Queries
}

// Call is what all items of a message share.
type Call struct {
	Type    kernel.DType   // of the queries
	Heads   int            // query heads
	Scoring kernel.Scoring // the fields that fields says are sent
}

// Queries are the queries of one sequence, and the blocks that the worker is asked for.
type Queries struct {
	Sequence string
	Epoch    uint64 // that the sender knows: rows that a later one has replaced are not meant
	Keys     int    // of the sequence: those after them do not exist
	Start    int    // position of the first query
	Count    int    // of queries

	Ranges []Range
	Rows   []byte // [Heads, Count, KeySize]
}

// Range is Count blocks from First on.
type Range struct{ First, Count int }

// AttendOverhead is the bytes of an [Attend], its items and [ScoringBytes] aside.
const AttendOverhead = 9 + 1 + 2 + 4

// QueriesOverhead is the most bytes of [Queries] in a message, its ranges and rows aside.
const (
	QueriesOverhead = 1 + MaxName + 8 + 4*4
	RangeBytes      = 8
)

// Append appends the message to b.
func (a *Attend) Append(b []byte) []byte {
	b = a.Call.append(a.Geometry.append(b))
	b = appendU32(b, len(a.Items))
	for i := range a.Items {
		q := &a.Items[i]
		b = binary.LittleEndian.AppendUint64(appendText(b, q.Sequence), q.Epoch)
		for _, x := range [...]int{q.Keys, q.Start, q.Count, len(q.Ranges)} {
			b = appendU32(b, x)
		}
		for _, x := range q.Ranges {
			b = appendU32(appendU32(b, x.First), x.Count)
		}
		b = append(b, q.Rows...)
	}
	return b
}

func (c *Call) append(b []byte) []byte {
	b = append(b, byte(c.Type))
	b = binary.LittleEndian.AppendUint16(b, uint16(c.Heads))
	for x := range fields {
		if fields[x].put != nil {
			b = fields[x].put(b, &c.Scoring)
		}
	}
	return b
}

// ParseAttend reads an [Attend], whose rows are in the memory of data.
func ParseAttend(data []byte) (*Attend, error) {
	r := &reader{message: "attend", data: data}
	a := r.attend()
	return &a, r.end()
}

func (r *reader) attend() Attend {
	a := Attend{Geometry: r.geometry(), Call: r.call()}
	if r.err == nil && a.Call.Heads%a.Geometry.Heads != 0 {
		r.fail("%d query heads, want a multiple of %d", a.Call.Heads, a.Geometry.Heads)
	}
	for range r.count("items", 2+8+4*4) {
		q := r.queries(a.Call.Heads * a.Geometry.KeySize * Size(a.Call.Type))
		if r.err != nil {
			break
		}
		a.Items = append(a.Items, q)
	}
	return a
}

func (r *reader) call() Call {
	c := Call{Type: kernel.DType(r.u8())}
	if r.err == nil && c.Type > kernel.BFloat16 {
		r.fail("queries of element type %d", c.Type)
		return Call{}
	}
	c.Heads = r.u16()
	if r.err == nil && (c.Heads < 1 || c.Heads > MaxHeads) {
		r.fail("%d query heads, want 1 to %d", c.Heads, MaxHeads)
	}
	for x := range fields {
		if fields[x].get != nil {
			fields[x].get(r, &c)
		}
	}
	return c
}

// queries reads one item, whose queries take so many bytes each.
func (r *reader) queries(bytes int) Queries {
	q := Queries{Sequence: r.name(), Epoch: r.u64(), Keys: r.i31("the number of keys"), Start: r.i32(), Count: r.i31("the number of queries")}
	ranges := r.count("ranges", RangeBytes)
	next := 0
	for range ranges {
		x := Range{r.block(), r.i31("the number of blocks")}
		if r.err == nil && (x.First < next || x.Count < 1 || x.Count > MaxBlock+1-x.First || (x.First+x.Count-1)*BlockKeys >= q.Keys) {
			r.fail("%d blocks from %d on, want some from %d on, of %d keys", x.Count, x.First, next, q.Keys)
		}
		if r.err != nil {
			return q
		}
		next = x.First + x.Count
		q.Ranges = append(q.Ranges, x)
	}
	if r.err == nil && (q.Count < 1 || q.Count > len(r.data)/bytes) {
		r.fail("%d queries", q.Count)
	}
	q.Rows = r.bytes(q.Count * bytes)
	return q
}

// Blocks returns the number of blocks of all ranges.
func (q *Queries) Blocks() int {
	n := 0
	for _, x := range q.Ranges {
		n += x.Count
	}
	return n
}

// PartialBytes returns the bytes of the answer for one block of count queries.
func PartialBytes(g *Geometry, heads, count int) int { return 1 + heads*count*(2+g.ValueSize)*4 }

// BlockBytes is PartialBytes for an item of a message that anybody may have sent: an int of 32 bits may be too small.
func (a *Attend) BlockBytes(q *Queries) int64 {
	return 1 + int64(a.Call.Heads)*int64(q.Count)*int64(2+a.Geometry.ValueSize)*4
}

// AnswerOverhead is the bytes of an answer to [Attend], its blocks aside.
const AnswerOverhead = 8

// AnswerBytes returns the bytes of the answer, or more than limit if it is larger.
func (a *Attend) AnswerBytes(limit int) int {
	total := int64(AnswerOverhead)
	for i := range a.Items {
		q := &a.Items[i]
		one := a.BlockBytes(q)
		if total += one * int64(q.Blocks()); total > int64(limit) || one > int64(limit) {
			return limit + 1
		}
	}
	return int(total)
}

// An answer to Attend is the time that the arithmetic took, and then for every block of every
// range of every item a byte, 1 if the worker holds it and 0 if not, and if it does, m, l and
// o of all its rows: [Heads, Count], [Heads, Count], [Heads, Count, ValueSize].

// AppendTime begins an answer to [Attend].
func AppendTime(b []byte, d time.Duration) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(d))
}

// AppendBlock appends a block to an answer: the statistics and outputs of p, or a missing
// block if p is nil.
func AppendBlock(b []byte, p *kernel.Partials) []byte {
	if p == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	for _, s := range [...][]float32{p.Max, p.Sum, p.Out} {
		b = AppendFloats(b, s)
	}
	return b
}

// ParseAnswer reads the answer to a. It returns the time and calls block for every block, in
// the order of the message, with the block's number in that order and the bytes of m, l and o,
// or nil if the worker does not hold it. It calls block only if the whole answer has the right
// form.
func ParseAnswer(data []byte, a *Attend, block func(n int, partial []byte)) (time.Duration, error) {
	r := &reader{message: "attend answer", data: data}
	took := r.duration()
	var partials [][]byte
	for i := range a.Items {
		q := &a.Items[i]
		size := PartialBytes(&a.Geometry, a.Call.Heads, q.Count) - 1
		for range q.Blocks() {
			partials = append(partials, r.partial(size))
		}
	}
	if err := r.end(); err != nil {
		return 0, err
	}
	for n, partial := range partials {
		block(n, partial)
	}
	return took, nil
}

func (r *reader) duration() time.Duration { return time.Duration(min(r.u64(), math.MaxInt64)) }

func (r *reader) partial(size int) []byte {
	switch held := r.u8(); held {
	case 0:
		return nil
	case 1:
		return r.bytes(size)
	default:
		r.fail("%d, want 0 or 1", held)
		return nil
	}
}

// AppendFloats appends float32 to b.
func AppendFloats(b []byte, s []float32) []byte {
	at := len(b)
	b = slices.Grow(b, 4*len(s))[:at+4*len(s)]
	for i, x := range s {
		binary.LittleEndian.PutUint32(b[at+4*i:], math.Float32bits(x))
	}
	return b
}

// Floats reads float32 from the start of b into dst and returns the rest.
func Floats(dst []float32, b []byte) []byte {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(dst):]
}

// String describes a range of blocks.
func (x Range) String() string {
	if x.Count == 1 {
		return fmt.Sprint(x.First)
	}
	return fmt.Sprintf("%d-%d", x.First, x.First+x.Count-1)
}
