// Package bpe applies a vocabulary of byte pair encoding to pieces of a text: neighbours are merged
// in the order of the vocabulary's merges.
package bpe

import (
	"maps"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/neighbours"
)

// MaxToken is the largest length of a token in bytes by which neighbours are merged if there is no
// list of merges. It bounds the work for every byte of a text.
const MaxToken = 512

// Config is a vocabulary.
type Config struct {
	// IDs are the tokens that a text may have, by their bytes.
	IDs map[string]int32

	// Merges are pairs of tokens, the one to merge first before all others. If they are nil,
	// neighbours are merged whose texts together are a token, those with the highest score first.
	Merges []Merge
	Scores []float32 // by id, if there are no merges

	Bytes        bool       // a piece begins as bytes, not as characters
	ByteIDs      [256]int32 // the token of every byte, or -1: of Bytes, and of ByteFallback
	ByteFallback bool       // an unknown character becomes its bytes
	Unknown      int32      // the token of what is unknown, or -1, which leaves it out
	FuseUnknown  bool       // one token for unknown characters after each other
	Whole        bool       // a piece that is a token is that token, whatever merges lead to

	// Longest is the length in bytes that no token's text exceeds, those outside IDs included.
	Longest int
}

// Merge are the ids of two neighbours, and of what they become.
type Merge struct{ Left, Right, To int32 }

type pair struct{ left, right int32 }

type merge struct{ rank, id int32 }

// Model is a vocabulary, ready for use. It does not change and is safe for concurrent use.
type Model struct {
	Config
	merges map[pair]merge
	ascii  [utf8.RuneSelf]int32 // the token of a character, or -1

	// direct says of every token whether merging its bytes leads to it: 0 if that is not known,
	// then 1 if it does and 2 otherwise.
	direct []atomic.Uint32

	within func() neighbours.Set // of the tokens
}

// New returns the model of a vocabulary with ids below size. Of two merges that are equal the last
// counts, as in the reference implementation.
func New(c Config, size int) *Model {
	m := &Model{Config: c, direct: make([]atomic.Uint32, size)}
	if c.Merges != nil {
		m.merges = make(map[pair]merge, len(c.Merges))
		for rank, x := range c.Merges {
			m.merges[pair{x.Left, x.Right}] = merge{int32(rank), x.To}
		}
	}
	for i := range m.ascii {
		m.ascii[i] = m.token(string(rune(i)))
	}
	m.Merges = nil
	m.within = sync.OnceValue(func() neighbours.Set { return neighbours.Of(maps.Keys(m.IDs), m.Bytes) })
	return m
}

// token returns the id of a text, or -1.
func (m *Model) token(text string) int32 {
	if id, ok := m.IDs[text]; ok {
		return id
	}
	return -1
}

// Encoder encodes pieces one after another. One goroutine at a time may use it.
type Encoder struct {
	m       *Model
	symbols []symbol
	short   []merge     // of the pair that begins at a symbol
	heap    []candidate // none is before its parent, (i-1)/2 for i
	text    string      // the piece
}

// Encoder returns an encoder.
func (m *Model) Encoder() *Encoder { return &Encoder{m: m} }

// Append appends the tokens of a piece.
func (e *Encoder) Append(ids []int32, piece string) []int32 {
	id, ok := e.m.IDs[piece]
	if !ok {
		return e.merged(ids, piece)
	}
	if e.m.Whole {
		return append(ids, id)
	}
	switch e.m.direct[id].Load() {
	case 1:
		return append(ids, id)
	case 2:
		return e.merged(ids, piece)
	}
	from := len(ids)
	ids = e.merged(ids, piece)
	if len(ids) == from+1 && ids[from] == id {
		e.m.direct[id].Store(1)
	} else {
		e.m.direct[id].Store(2)
	}
	return ids
}

// maxShort is the number of symbols up to which looking at all pairs is faster than a heap.
const maxShort = 24

// merged appends what merging leads to.
func (e *Encoder) merged(ids []int32, piece string) []int32 {
	e.start(piece)
	if len(e.symbols) <= maxShort {
		e.mergeShort()
	} else {
		e.mergeLong()
	}
	for i := range e.symbols {
		if s := &e.symbols[i]; s.size >= 0 {
			ids = e.m.appendSymbol(ids, s, piece)
		}
	}
	return ids
}
