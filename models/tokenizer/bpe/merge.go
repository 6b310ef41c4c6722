package bpe

// merger appends the ids of pieces. A piece begins as one symbol for each byte. The pair of
// neighbours of lowest rank, and of these the leftmost, is merged into one symbol until no pair is
// left that has a rank. For n bytes this takes time in proportion to n log n.
type merger struct {
	t   *Tokenizer
	ids []int32

	symbols []symbol
	heap    []candidate // none is before its parent: that of i is (i-1)/2
}

// symbol is a token of the piece, in a list of neighbours.
type symbol struct {
	id         int32 // -1 after it has become part of its left neighbour
	prev, next int32 // indices of neighbours, or -1
}

// candidate is a pair that can be merged, unless one of its symbols has been merged meanwhile.
type candidate struct {
	merge
	at   int32 // index of the left symbol
	pair pair
}

func (c *candidate) before(d *candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

func (m *merger) piece(piece string) {
	if id, ok := m.t.whole[piece]; ok {
		m.ids = append(m.ids, id)
		return
	}
	m.start(piece)
	for len(m.heap) > 0 {
		c := m.pop()
		if m.current(&c) {
			m.merge(&c)
		}
	}
	for _, s := range m.symbols {
		if s.id >= 0 {
			m.ids = append(m.ids, s.id)
		}
	}
}

// start makes a symbol of every byte that has a token, and a candidate of every pair.
func (m *merger) start(piece string) {
	m.symbols = m.symbols[:0]
	for i := range len(piece) {
		if id := m.t.byteIDs[piece[i]]; id >= 0 {
			n := int32(len(m.symbols))
			m.symbols = append(m.symbols, symbol{id, n - 1, n + 1})
		}
	}
	if len(m.symbols) > 0 {
		m.symbols[len(m.symbols)-1].next = -1
	}
	for i := range m.symbols {
		m.push(int32(i))
	}
}

// current returns whether the pair is still there.
func (m *merger) current(c *candidate) bool {
	left := &m.symbols[c.at]
	return left.id == c.pair.left && left.next >= 0 && m.symbols[left.next].id == c.pair.right
}

func (m *merger) merge(c *candidate) {
	left := &m.symbols[c.at]
	right := &m.symbols[left.next]
	left.id, left.next = c.id, right.next
	right.id = -1
	if left.next >= 0 {
		m.symbols[left.next].prev = c.at
	}
	if left.prev >= 0 {
		m.push(left.prev)
	}
	m.push(c.at)
}

// push adds the pair that begins at a symbol to the candidates, if it has a rank.
func (m *merger) push(at int32) {
	left := &m.symbols[at]
	if left.next < 0 {
		return
	}
	p := pair{left.id, m.symbols[left.next].id}
	to, ok := m.t.merges[p]
	if !ok {
		return
	}
	m.heap = append(m.heap, candidate{to, at, p})
	for i := len(m.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !m.heap[i].before(&m.heap[parent]) {
			return
		}
		m.heap[i], m.heap[parent] = m.heap[parent], m.heap[i]
		i = parent
	}
}

// pop removes the first candidate.
func (m *merger) pop() candidate {
	first, last := m.heap[0], len(m.heap)-1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && m.heap[child+1].before(&m.heap[child]) {
			child++
		}
		if child >= last || !m.heap[child].before(&m.heap[i]) {
			return first
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}
