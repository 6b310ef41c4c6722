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
	Type    kernel.DType // of the queries
	Heads   int          // query heads
	Scoring Scoring
}

// Queries are the queries of one sequence, and the blocks that the worker is asked for.
type Queries struct {
	Sequence string
	Epoch    uint64 // that the sender knows: rows that a later one has replaced are not meant
	Keys     int    // of the sequence: those after them do not exist
	Start    int    // position of the first query
	Count    int    // of queries
	Ranges   []Range

	Rows []byte `json:"-"` // [Heads, Count, KeySize]
}

// UnmarshalJSON implements [json.Unmarshaler].
func (q *Queries) UnmarshalJSON(data []byte) error {
	type plain Queries
	return decodeItem(data, len(`{"Sequence":"","Epoch":0,"Keys":0,"Start":0,"Count":1,"Ranges":[]}`), (*plain)(q))
}

// Range is Count blocks from First on.
type Range struct{ First, Count int }

// The most bytes of an [Attend], its items and its scoring aside, of an item, its ranges and rows
// aside, and of a range.
const (
	AttendOverhead  = 192
	QueriesOverhead = 256
	RangeBytes      = 40
)

func (a *Attend) check() string {
	c := &a.Call
	problem := a.Geometry.Check()
	switch {
	case problem != "":
	case c.Type > kernel.BFloat16:
		problem = fmt.Sprintf("queries of element type %d", c.Type)
	case c.Heads < 1 || c.Heads > MaxHeads || c.Heads%a.Geometry.Heads != 0:
		problem = fmt.Sprintf("%d query heads", c.Heads)
	default:
		problem = c.Scoring.check(c.Heads)
	}
	for i := 0; i < len(a.Items) && problem == ""; i++ {
		problem = a.Items[i].check()
	}
	return problem
}

func (q *Queries) check() string {
	const most = math.MaxInt32
	if problem := checkBlock(q.Sequence, 0); problem != "" {
		return problem
	}
	if q.Keys < 0 || q.Keys > most || q.Start < -most || q.Start > most || q.Count < 1 || q.Count > most {
		return fmt.Sprintf("%d queries from %d on over %d keys", q.Count, q.Start, q.Keys)
	}
	next := 0
	for _, x := range q.Ranges {
		if x.First < next || x.Count < 1 || x.First > MaxBlock || x.Count > MaxBlock+1-x.First || (x.First+x.Count-1)*BlockKeys >= q.Keys {
			return fmt.Sprintf("%d blocks from %d on, of %d keys, after %d", x.Count, x.First, q.Keys, next)
		}
		next = x.First + x.Count
	}
	return ""
}

func (a *Attend) rows() (all []*[]byte) {
	for i := range a.Items {
		all = append(all, &a.Items[i].Rows)
	}
	return all
}

func (a *Attend) bytes(n int) int64 {
	return int64(a.Items[n].Count) * int64(a.Call.Heads*a.Geometry.KeySize*Size(a.Call.Type))
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

// AnswerOverhead is the bytes of an answer to [Attend], its blocks aside.
const AnswerOverhead = 8

// AnswerBytes returns the bytes of the answer, or more than limit if it is larger.
func (a *Attend) AnswerBytes(limit int) int {
	total := int64(AnswerOverhead)
	for i := range a.Items {
		q := &a.Items[i]
		one := 1 + int64(a.Call.Heads)*int64(q.Count)*int64(2+a.Geometry.ValueSize)*4 // PartialBytes, for which an int may be too small
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

// DecodeAnswer reads the answer to a. It returns the time and calls block for every block, in
// the order of the message, with the block's number in that order and the bytes of m, l and o,
// or nil if the worker does not hold it. It calls block only if the whole answer has the right
// form.
func DecodeAnswer(data []byte, a *Attend, block func(n int, partial []byte)) (time.Duration, error) {
	bad := format("Answer", fmt.Sprintf("%d bytes", len(data)))
	if len(data) < AnswerOverhead {
		return 0, bad
	}
	took, rest := time.Duration(min(binary.LittleEndian.Uint64(data), math.MaxInt64)), data[AnswerOverhead:]
	var partials [][]byte
	for i := range a.Items {
		q := &a.Items[i]
		size := PartialBytes(&a.Geometry, a.Call.Heads, q.Count)
		for range q.Blocks() {
			switch {
			case len(rest) > 0 && rest[0] == 0:
				partials, rest = append(partials, nil), rest[1:]
			case len(rest) >= size && rest[0] == 1:
				partials, rest = append(partials, rest[1:size]), rest[size:]
			default:
				return 0, bad
			}
		}
	}
	if len(rest) > 0 {
		return 0, bad
	}
	for n, partial := range partials {
		block(n, partial)
	}
	return took, nil
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
