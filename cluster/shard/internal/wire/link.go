package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/attn-go/attn/kernel"
)

// A ChainID names the chain of one unit of a call. It is random, and only the client and the workers of the chain hear
// it, so that nobody else can give a state to the chain.
type ChainID [16]byte

// Link asks a worker for one link of a chain: to merge what its blocks contribute into the state of the
// link before, and to hand that on.
type Link struct {
	Chain  ChainID
	Number int           // in the chain; link 0 begins with the state of rows that have seen no key
	Wait   time.Duration // how long the state before may take, to the millisecond
	Next   string        // worker of the next link, or "" for the last one, whose answer has the state
	Attend               // with one item, whose ranges are in the order of the merge
}

// LinkOverhead is the most bytes of a [Link] in addition to those of an [Attend].
const LinkOverhead = 16 + 2 + 4 + 1 + MaxName

// MaxLinks is the most links of a chain.
const MaxLinks = 1 << 12

// Append appends the message to b.
func (l *Link) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, l.Chain[:]...), uint16(l.Number))
	b = appendText(appendU32(b, int(l.Wait/time.Millisecond)), l.Next)
	return l.Attend.Append(b)
}

// ParseLink reads a [Link], whose rows are in the memory of data.
func ParseLink(data []byte) (*Link, error) {
	r := &reader{message: "link", data: data}
	l := &Link{Chain: r.chain(), Number: r.link(), Wait: time.Duration(r.i31("the time")) * time.Millisecond, Next: r.text()}
	l.Attend = r.attend()
	if r.err == nil && len(l.Items) != 1 {
		r.fail("%d items, want 1", len(l.Items))
	}
	return l, r.end()
}

func (r *reader) chain() (id ChainID) {
	copy(id[:], r.bytes(len(id)))
	return id
}

func (r *reader) link() int {
	n := r.u16()
	if r.err == nil && n >= MaxLinks {
		r.fail("link %d, want at most %d", n, MaxLinks-1)
	}
	return n
}

// StateBytes returns the bytes of the state of a [Link]: the partials of one block.
func (l *Link) StateBytes() int { return PartialBytes(&l.Geometry, l.Call.Heads, l.Items[0].Count) - 1 }

// An answer to Link is one to its Attend with one block, which is missing unless the link is the last one.

// AppendLinkAnswer appends the answer to a [Link]: the time that the arithmetic took, and the state if the link
// is the last one.
func AppendLinkAnswer(b []byte, l *Link, took time.Duration, state *kernel.Partials) []byte {
	if l.Next != "" {
		state = nil
	}
	return AppendBlock(AppendTime(b, took), state)
}

// ParseLinkAnswer reads the answer to l. The state is nil unless l is the last link.
func ParseLinkAnswer(data []byte, l *Link) (took time.Duration, state []byte, err error) {
	r := &reader{message: "link answer", data: data}
	took = r.duration()
	state = r.partial(l.StateBytes())
	if r.err == nil && (state != nil) != (l.Next == "") {
		r.fail("a state from another link than the last one, or none from that one")
	}
	if err := r.end(); err != nil {
		return 0, nil, err
	}
	return took, state, nil
}

// StateKind says what a [State] means.
type StateKind uint8

const (
	StateIs   StateKind = iota // it has the state of the link before
	StateNone                  // there will be none: the client has given up the chain
	StateAsk                   // does the worker work on the link?
	stateKinds
)

// State tells a worker of the state before a link.
type State struct {
	Chain  ChainID
	Number int // of the link that waits for it
	Kind   StateKind
	Rows   []byte // if StateIs: m, l and o as in an answer to [Attend]
}

// StateOverhead is the bytes of a [State], its rows aside.
const StateOverhead = 16 + 2 + 1

// Append appends the message to b.
func (s *State) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, s.Chain[:]...), uint16(s.Number))
	return append(append(b, byte(s.Kind)), s.Rows...)
}

// ParseState reads a [State], whose rows are in the memory of data.
func ParseState(data []byte) (*State, error) {
	r := &reader{message: "state", data: data}
	s := &State{Chain: r.chain(), Number: r.link(), Kind: StateKind(r.u8())}
	switch {
	case r.err == nil && s.Kind >= stateKinds:
		r.fail("kind %d, want at most %d", s.Kind, stateKinds-1)
	case s.Kind == StateIs:
		if s.Rows = r.bytes(len(data) - r.at); r.err == nil && len(s.Rows) == 0 {
			r.fail("no rows")
		}
	}
	return s, r.end()
}

// String names the link.
func (s *State) String() string { return fmt.Sprintf("link %d of chain %x", s.Number, s.Chain[:4]) }
