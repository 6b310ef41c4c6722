package bpe

import "math"

// pair returns what the symbol at an index and its right neighbour become, if they can be merged.
// The pair of lowest rank, and of these the leftmost, is merged first.
func (e *Encoder) pair(at int32) (merge, bool) {
	left := &e.symbols[at]
	if left.next < 0 {
		return merge{}, false
	}
	right := &e.symbols[left.next]
	if e.m.merges != nil {
		to, ok := e.m.merges[pair{left.id, right.id}]
		return to, ok
	}
	if left.size+right.size > MaxToken {
		return merge{}, false
	}
	id, ok := e.m.IDs[e.text[left.from:right.from+right.size]]
	if !ok {
		return merge{}, false
	}
	return merge{rank(e.m.Scores[id]), id}, true
}

// rank returns a number that is lower for a higher score. For numbers that are none it is the
// highest.
func rank(score float32) int32 {
	if score != score {
		return math.MaxInt32
	}
	bits := int32(math.Float32bits(score + 0)) // -0 becomes 0
	if bits < 0 {
		bits ^= math.MaxInt32
	}
	return ^bits
}

// join makes one symbol of a symbol and its right neighbour.
func (e *Encoder) join(at, id int32) {
	left := &e.symbols[at]
	right := &e.symbols[left.next]
	left.id, left.next, left.size = id, right.next, left.size+right.size
	right.size = -1
	if left.next >= 0 {
		e.symbols[left.next].prev = at
	}
}

// mergeShort merges by looking at all pairs again and again.
func (e *Encoder) mergeShort() {
	e.short = e.short[:0]
	for i := range e.symbols {
		e.short = append(e.short, e.merge(int32(i)))
	}
	for {
		best, at := none, int32(-1)
		for i := int32(0); i >= 0 && len(e.symbols) > 0; i = e.symbols[i].next {
			if m := e.short[i]; m.id >= 0 && (at < 0 || m.rank < best.rank) {
				best, at = m, i
			}
		}
		if at < 0 {
			return
		}
		e.join(at, best.id)
		e.short[at] = e.merge(at)
		if prev := e.symbols[at].prev; prev >= 0 {
			e.short[prev] = e.merge(prev)
		}
	}
}

var none = merge{id: -1}

func (e *Encoder) merge(at int32) merge {
	if m, ok := e.pair(at); ok {
		return m
	}
	return none
}

// candidate is a pair that can be merged, unless either symbol has been merged meanwhile.
type candidate struct {
	merge
	at  int32 // index of the left symbol
	key pair  // what it is made of, see Encoder.key
}

func (c *candidate) before(d *candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// mergeLong merges with a heap of pairs. For n bytes this takes time in proportion to n log n.
func (e *Encoder) mergeLong() {
	e.heap = e.heap[:0]
	for i := range e.symbols {
		e.push(int32(i))
	}
	for len(e.heap) > 0 {
		c := e.pop()
		if !e.current(&c) {
			continue
		}
		e.join(c.at, c.id)
		if prev := e.symbols[c.at].prev; prev >= 0 {
			e.push(prev)
		}
		e.push(c.at)
	}
}

// current returns whether the pair is still there.
func (e *Encoder) current(c *candidate) bool {
	return e.symbols[c.at].size >= 0 && e.symbols[c.at].next >= 0 && e.key(c.at) == c.key
}

// key tells apart the pairs that can begin at a symbol: by the ids of both, or, without a list of
// merges, by the end of the text of both.
func (e *Encoder) key(at int32) pair {
	left := &e.symbols[at]
	right := &e.symbols[left.next]
	if e.m.merges != nil {
		return pair{left.id, right.id}
	}
	return pair{right.from, right.size + right.from}
}

// push adds the pair that begins at a symbol to the candidates, if it can be merged.
func (e *Encoder) push(at int32) {
	to, ok := e.pair(at)
	if !ok {
		return
	}
	e.heap = append(e.heap, candidate{to, at, e.key(at)})
	for i := len(e.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !e.heap[i].before(&e.heap[parent]) {
			return
		}
		e.heap[i], e.heap[parent] = e.heap[parent], e.heap[i]
		i = parent
	}
}

// pop removes the first candidate.
func (e *Encoder) pop() candidate {
	first, last := e.heap[0], len(e.heap)-1
	e.heap[0] = e.heap[last]
	e.heap = e.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && e.heap[child+1].before(&e.heap[child]) {
			child++
		}
		if child >= last || !e.heap[child].before(&e.heap[i]) {
			return first
		}
		e.heap[i], e.heap[child] = e.heap[child], e.heap[i]
		i = child
	}
}
