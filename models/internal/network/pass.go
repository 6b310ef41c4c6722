package network

import (
	"cmp"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/rope"
)

// A Settings is how the passes of a model are computed.
type Settings struct {
	kernel.Exec
	Int8  bool // inputs of layers with quantized weights are rounded, see linear.Options
	Int12 bool // queries and weights of attention are, see kernel.Options
	Ropes []Rotation
}

// A Rotation rotates queries and keys. Queries are multiplied by Square afterwards, if
// that is not 0: what their scores gain by the magnitude of the cosines and sines of
// both.
type Rotation struct {
	*rope.Rope
	Dims   int // elements of a head
	Square float32
	growth *growth // of queries by their position, or nil
}

// A Pass is tokens of some texts, one text after the other, that run through a network
// together. The memory that it computes in stays for the next ones.
type Pass struct {
	Settings
	Cache     Cache
	Tokens    []int32
	Types     []int32 // of the tokens
	Positions []int   // of the tokens in their texts
	Starts    []int   // the row of the first token of each text, and the number of rows
	Seen      []int   // how many tokens of each text others see, its first ones; then all have as many tokens. Empty: all
	Wanted    []int   // the rows whose states are wanted, in ascending order, without All
	All       bool
	Before    []float32 // the state before each token, [tokens, Width], for Embedding.Ahead

	See func(name string, layer int, x []float32) // sees intermediate rows, if not nil

	only   bool      // the layer computes outputs of the wanted rows alone
	inputs []float32 // of layers, beside the states
	stream stream
	floats stack[float32]
	ints   stack[int]
}

// Reset removes the tokens.
func (p *Pass) Reset() {
	p.Tokens, p.Types, p.Positions, p.Wanted = p.Tokens[:0], p.Types[:0], p.Positions[:0], p.Wanted[:0]
	p.Starts, p.Seen, p.Before = append(p.Starts[:0], 0), p.Seen[:0], p.Before[:0]
}

// Add adds the tokens of a text, of which the first has a position. types may be nil,
// which means 0.
func (p *Pass) Add(tokens, types []int32, position int) {
	p.Tokens = append(p.Tokens, tokens...)
	p.Starts = append(p.Starts, len(p.Tokens))
	for i := range tokens {
		t := int32(0)
		if types != nil {
			t = types[i]
		}
		p.Types, p.Positions = append(p.Types, t), append(p.Positions, position+i)
	}
}

func (p *Pass) see(name string, layer int, x []float32) {
	if p.See != nil {
		p.See(name, layer, x)
	}
}

// texts is the number of texts.
func (p *Pass) texts() int { return len(p.Starts) - 1 }

// count is the number of tokens of a text.
func (p *Pass) count(text int) int { return p.Starts[text+1] - p.Starts[text] }

// longest is the number of tokens of the longest text.
func (p *Pass) longest() int {
	n := 0
	for i := range p.texts() {
		n = max(n, p.count(i))
	}
	return n
}

// even tells whether all texts have as many tokens as the first one.
func (p *Pass) even() bool { return p.longest()*p.texts() == len(p.Tokens) }

// heads returns the view of heads of a size that lie in rows of width numbers, from
// offset on, as attention takes them: one batch row for each text.
func (p *Pass) heads(x []float32, offset, heads, size, width int) kernel.Tensor {
	if p.even() {
		n := p.count(0)
		return kernel.Strided(x[offset:], [4]int{p.texts(), heads, n, size}, [3]int{n * width, size, width})
	}
	return inRows(x[offset:], len(p.Tokens), heads, size, width).Ragged(p.Starts)
}

// inRows is the view of heads in some rows, as one batch row.
func inRows(x []float32, rows, heads, size, width int) kernel.Tensor {
	return kernel.Strided(x, [4]int{1, heads, rows, size}, [3]int{rows * width, size, width})
}

// A stack is memory of a pass, which parts of layers take and release in turn.
type stack[E any] struct {
	parts [][]E
	used  int
}

// take returns memory for n numbers, which hold anything.
func (s *stack[E]) take(n int) []E {
	if s.used == len(s.parts) {
		s.parts = append(s.parts, nil)
	}
	part := &s.parts[s.used]
	if cap(*part) < n {
		*part = nil // before there is another one
		*part = make([]E, n)
	}
	s.used++
	return (*part)[:n]
}

// A mark is how much of both stacks is taken.
type mark struct{ floats, ints int }

func (p *Pass) mark() mark { return mark{p.floats.used, p.ints.used} }

// release gives back what has been taken since a mark.
func (p *Pass) release(m mark) { p.floats.used, p.ints.used = m.floats, m.ints }

// oneThread is how functions of some rows compute, of which several run at once.
func (p *Pass) oneThread() kernel.Exec { return kernel.Exec{Tier: p.Tier, Threads: 1} }

// leastWork is how many numbers are worth another thread.
const leastWork = 1 << 15

// spread does some work on rows of a width, on several threads if it is much. For single tokens it
// allocates nothing.
func spread[A any](p *Pass, rows, width int, args A, work func(p *Pass, args A, lo, hi int) error) error {
	if p.Threads == 1 || rows < 2 || rows*width < leastWork {
		return work(p, args, 0, rows)
	}
	var mu sync.Mutex
	var failed error // the first rows'
	first := rows
	err := p.Split(rows, rows*width, func(lo, hi int) {
		if err := work(p, args, lo, hi); err != nil {
			mu.Lock()
			defer mu.Unlock()
			if lo < first {
				first, failed = lo, err
			}
		}
	})
	return cmp.Or(err, failed)
}
