// Package wire has the messages between the clients and the workers of package shard: a head in
// JSON, its length before it in 4 bytes, little-endian, and then rows of numbers as they are.
// Reading checks everything: a message that is accepted is the one that writing its contents makes,
// byte by byte, and nothing is allocated that is much larger than the message itself.
package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// ErrFormat is the kind of a [kernel.Error] about a message that no program of this version writes.
// It names the message.
var ErrFormat = errors.New("shard: a message of another form")

// A Message is the head of a message.
type Message interface {
	check() string     // what is wrong with it, or ""
	rows() []*[]byte   // that follow it
	bytes(n int) int64 // of rows number n, if nothing is wrong with it
}

// Encode writes a message.
func Encode(m Message) []byte {
	head, err := json.Marshal(m)
	if err != nil {
		panic(err) // all of its fields have a form in JSON
	}
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	for _, rows := range m.rows() {
		b = append(b, *rows...)
	}
	return b
}

// headLength is the bytes before a head.
const headLength = 4

// Decode reads a message, whose rows are in the memory of data.
func Decode[T any, M interface {
	*T
	Message
}](data []byte) (*T, error) {
	x := new(T)
	if problem := decode(data, M(x)); problem != "" {
		return nil, format(reflect.TypeFor[T]().Name(), problem)
	}
	return x, nil
}

func format(message, problem string) error {
	return &kernel.Error{Where: "shard: message " + message, Got: problem, Want: "what programs of this version write", Kind: ErrFormat}
}

// decode reads a message into m. It returns what is wrong with it, or "".
func decode(data []byte, m Message) string {
	if len(data) < headLength || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-headLength) {
		return fmt.Sprintf("a head that %d bytes do not have", len(data))
	}
	n := headLength + int(binary.LittleEndian.Uint32(data))
	head, rest := data[headLength:n], data[n:]
	if err := json.Unmarshal(head, m); err != nil {
		return err.Error()
	}
	if problem := m.check(); problem != "" {
		return problem
	}
	if again, err := json.Marshal(m); err != nil || !bytes.Equal(again, head) {
		return "a head that is written in another way"
	}
	for n, rows := range m.rows() {
		size := m.bytes(n)
		if size > int64(len(rest)) {
			return fmt.Sprintf("%d bytes too few", size-int64(len(rest)))
		}
		*rows, rest = rest[:size:size], rest[size:]
	}
	if len(rest) > 0 {
		return fmt.Sprintf("%d bytes too many", len(rest))
	}
	return ""
}

// decodeItem reads an item of a message into a value without methods. An item of no more than least
// bytes, or with lists that are shorter than any program writes them, is refused before the next
// one is read: in memory they would take many times the bytes of the message.
func decodeItem(data []byte, least int, item any) error {
	if commas := bytes.Count(data, []byte(",")); len(data) <= least || commas > len(data)/10 {
		return fmt.Errorf("an item of %d bytes with %d commas", len(data), commas)
	}
	return json.Unmarshal(data, item)
}

// noRows is the part of a message that is a head alone.
type noRows struct{}

func (noRows) rows() []*[]byte { return nil }
func (noRows) bytes(int) int64 { return 0 }

// MaxName is the most bytes of the name of a sequence, and MaxBlock the number of the last block
// that a position can be in.
const (
	MaxName  = 64
	MaxBlock = 1<<22 - 1
)

// nameLetters are the characters of a name: JSON has them as they are.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"

// checkBlock returns what is wrong with a sequence and the number of a block.
func checkBlock(sequence string, block int) string {
	if sequence == "" || len(sequence) > MaxName || strings.Trim(sequence, nameLetters) != "" {
		return fmt.Sprintf("the name %q", sequence)
	}
	if block < 0 || block > MaxBlock {
		return fmt.Sprintf("block %d", block)
	}
	return ""
}

// Put asks a worker to hold keys and values. The answer is a [Status] for each item, a byte.
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
	Rows []byte `json:"-"`
}

// The most bytes of a [Put], its items aside, and of an item, its rows aside.
const (
	PutOverhead  = 192
	KeysOverhead = 192
)

// UnmarshalJSON is that of [json.Unmarshaler].
func (k *Keys) UnmarshalJSON(data []byte) error {
	type plain Keys
	return decodeItem(data, len(`{"Sequence":"","Block":0,"Epoch":0,"Offset":0,"Count":1}`), (*plain)(k))
}

func (p *Put) check() string {
	problem := p.Geometry.Check()
	for i := range p.Items {
		k := &p.Items[i]
		if problem == "" {
			problem = checkBlock(k.Sequence, k.Block)
		}
		if problem == "" && (k.Count < 1 || k.Offset < 0 || k.Offset > BlockKeys-k.Count) {
			problem = fmt.Sprintf("%d rows from %d on in a block of %d", k.Count, k.Offset, BlockKeys)
		}
	}
	return problem
}

func (p *Put) rows() (all []*[]byte) {
	for i := range p.Items {
		all = append(all, &p.Items[i].Rows)
	}
	return all
}

func (p *Put) bytes(n int) int64 { return int64(p.Items[n].Count) * int64(p.Geometry.RowBytes()) }

// Status is what a worker answers to an item of a [Put].
type Status byte

// What a Status can be.
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

// String says what is wrong.
func (s Status) String() string {
	return [...]string{"ok", "rows before these are missing", "other rows are there", "a later writer was there",
		"the worker's memory limit is reached", "the sequence has other head sizes or elements", "it takes no more blocks", "unknown"}[min(s, statuses)]
}

// DecodeStatuses reads the answer to a [Put] of n items.
func DecodeStatuses(data []byte, n int) ([]Status, error) {
	s := make([]Status, len(data))
	for i, x := range data {
		if s[i] = Status(x); s[i] >= statuses {
			return nil, format("Status", fmt.Sprint(x))
		}
	}
	if len(s) != n {
		return nil, format("Status", fmt.Sprintf("%d of them, want %d", len(s), n))
	}
	return s, nil
}

// Send asks a worker to send rows of a block to another one, by a [Put] with the same epoch.
type Send struct {
	noRows
	Geometry Geometry
	Sequence string
	Epoch    uint64 // as in [Queries]
	Block    int
	Rows     int    // that the block should have
	Lo, Hi   int    // rows Lo to Hi-1 are sent
	To       string // worker, or "" if no rows are to be sent: then Lo is Hi, and the answer says whether the worker holds the block
}

func (s *Send) check() string {
	problem := s.Geometry.Check()
	if problem == "" {
		problem = checkBlock(s.Sequence, s.Block)
	}
	if problem == "" && (s.Lo < 0 || s.Lo > s.Hi || s.Lo == s.Hi && s.To != "" || s.Hi > s.Rows || s.Rows < 1 || s.Rows > BlockKeys) {
		problem = fmt.Sprintf("rows %d to %d of %d for worker %q", s.Lo, s.Hi, s.Rows, s.To)
	}
	return problem
}

// Free asks a worker to forget a sequence.
type Free struct {
	noRows
	Sequence string
}

func (f *Free) check() string { return checkBlock(f.Sequence, 0) }
