// Package unigram applies a vocabulary of SentencePiece's unigram model to a text: of all sequences
// of tokens that make the text it finds the one whose scores have the largest sum (Kudo 2018,
// arXiv:1804.10959), in time in proportion to the lengths of the text and the longest token.
package unigram

import (
	"maps"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/neighbours"
)

// MaxToken is the largest length of a token in bytes, which bounds the work for every byte of a
// text.
const MaxToken = 512

// unknownPenalty is how much an unknown character is worse than the worst token.
const unknownPenalty = 10

// Config is a vocabulary.
type Config struct {
	Tokens       []string  // by id; an empty one never matches, and none has more than MaxToken bytes
	Scores       []float64 // as many
	Unknown      int32     // the token for what no other makes
	ByteFallback bool      // what is unknown becomes tokens of bytes, if there are such
	ByteIDs      [256]int32
	Matches      func(id int32) bool // which tokens a text may have; nil for all
	Worst        func(id int32) bool // of which tokens the score of an unknown character is derived; nil for all
}

// Model is a vocabulary, ready for use. It does not change and is safe for concurrent use.
type Model struct {
	trie    *trie
	scores  []float64
	ids     map[string]int32
	unknown int32
	score   float64 // of an unknown character
	bytes   *[256]int32

	longest int                   // bytes of a token
	within  func() neighbours.Set // of the tokens
}

// New returns the model of a vocabulary. Of two tokens with the same text, the later counts.
func New(c Config) *Model {
	m := &Model{scores: c.Scores, ids: make(map[string]int32, len(c.Tokens)), unknown: c.Unknown}
	worst := math.Inf(1)
	for i, text := range c.Tokens {
		id := int32(i)
		if c.Worst == nil || c.Worst(id) {
			worst = min(worst, c.Scores[i])
		}
		if text != "" && (c.Matches == nil || c.Matches(id)) {
			m.ids[text] = id
		}
	}
	m.score = worst - unknownPenalty
	tokens := make([]token, 0, len(m.ids))
	for text, id := range m.ids {
		tokens = append(tokens, token{text, id})
	}
	m.trie = newTrie(tokens)
	if c.ByteFallback {
		m.bytes = &c.ByteIDs
	}
	for _, text := range c.Tokens {
		m.longest = max(m.longest, len(text))
	}
	m.within = sync.OnceValue(func() neighbours.Set { return neighbours.Of(maps.Keys(m.ids), false) })
	return m
}

// node is the best way to the end of a token.
type node struct {
	score float64
	from  int32 // where the token begins, or -1
	id    int32
}

// Encoder encodes texts one after another. One goroutine at a time may use it.
type Encoder struct {
	m    *Model
	best []node  // by byte of the text
	path []node  // back from the end; score is not used, id is where the token ends
	sum  float64 // the score of what is before the text
}

// Encoder returns an encoder.
func (m *Model) Encoder() *Encoder { return &Encoder{m: m} }

// Append appends the tokens of a text, which is UTF-8.
func (e *Encoder) Append(ids []int32, text string) []int32 { return e.AppendPart(ids, text, true) }

// AppendPart appends the tokens of a part of a text that ends and begins where it can be cut, after
// the part before it. first says that there is none.
func (e *Encoder) AppendPart(ids []int32, text string, first bool) []int32 {
	if first {
		e.sum = 0
	}
	if text == "" {
		return ids
	}
	e.search(text)
	e.sum = e.best[len(text)].score // so that sums are rounded as in one text
	e.path = e.path[:0]
	for end := int32(len(text)); end > 0; {
		n := e.best[end]
		e.path = append(e.path, node{from: n.from, id: end})
		end = n.from
	}
	for i := len(e.path) - 1; i >= 0; i-- {
		from, to := e.path[i].from, e.path[i].id
		id := e.best[to].id
		if id != e.m.unknown {
			ids = append(ids, id)
			continue
		}
		for i > 0 && e.best[e.path[i-1].id].id == id { // what is unknown is one piece
			i--
			to = e.path[i].id
		}
		ids = e.m.appendUnknown(ids, text[from:to])
	}
	return ids
}

// search finds the best way to every byte at which a token can end.
func (e *Encoder) search(text string) {
	m := e.m
	if cap(e.best) <= len(text) {
		e.best = make([]node, len(text)+1, 2*len(text)+64)
	}
	e.best = e.best[:len(text)+1]
	for i := range e.best {
		e.best[i].from = -1
	}
	e.best[0].score = e.sum
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		score, single := e.best[i].score, false
		at := int32(0)
		for j := i; j < len(text); {
			if at = m.trie.child(at, text[j]); at == 0 {
				break
			}
			j++
			if id := m.trie.ids[at]; id >= 0 {
				e.reach(j, node{score + m.scores[id], int32(i), id})
				single = single || j == i+size
			}
		}
		if !single {
			e.reach(i+size, node{score + m.score, int32(i), m.unknown})
		}
		i += size
	}
}

// reach keeps the better of two ways, the first one if they are equally good.
func (e *Encoder) reach(end int, n node) {
	if b := &e.best[end]; b.from < 0 || n.score > b.score {
		*b = n
	}
}

// appendUnknown appends the tokens of a text without one.
func (m *Model) appendUnknown(ids []int32, text string) []int32 {
	if id, ok := m.ids[text]; ok {
		return append(ids, id)
	}
	if m.bytes == nil {
		return append(ids, m.unknown)
	}
	known := len(ids)
	for i := range len(text) {
		id := m.bytes[text[i]]
		if id < 0 {
			return append(ids[:known], m.unknown)
		}
		ids = append(ids, id)
	}
	return ids
}
