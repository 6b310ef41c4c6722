package grammar

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// longestToken is the most bytes of a token that may follow. Longer ones never may.
const longestToken = 512

// A Vocabulary has the bytes of tokens as a trie, so that one walk finds all tokens that may follow. It
// is immutable.
type Vocabulary struct {
	size  int
	nodes []node   // the root first, each before those below it
	ids   []int32  // of all tokens in the trie, by their bytes
	at    []int32  // the node of each token, 0 if it has none
	depth int      // of the deepest node
	plain []uint64 // the tokens that are characters of a JSON string which need no escape
}

// A node of the trie is what some tokens begin with.
type node struct {
	c          byte  // the last byte
	depth      int32 // the number of bytes
	parent     int32
	after      int32  // the first node that is not below it
	first, end int32  // of the ids of the tokens that are its bytes
	other      bool   // it or one below it has tokens that are not plain
	below      uint64 // by their last six bits, the bytes of the nodes below it
}

// NewVocabulary returns the trie of tokens: tokens[i] are the bytes of the token with id i. One without
// bytes never may follow, and neither may one of more than 512 bytes.
func NewVocabulary(tokens [][]byte) *Vocabulary {
	v := &Vocabulary{size: len(tokens), at: make([]int32, len(tokens)), nodes: []node{{parent: -1}}}
	for id, t := range tokens {
		if len(t) > 0 && len(t) <= longestToken {
			v.ids = append(v.ids, int32(id))
		}
	}
	slices.SortFunc(v.ids, func(a, b int32) int {
		return cmp.Or(bytes.Compare(tokens[a], tokens[b]), cmp.Compare(a, b))
	})
	path := []int32{0} // nodes of the token before
	for i, id := range v.ids {
		t := tokens[id]
		same := 0
		for same < len(path)-1 && same < len(t) && v.nodes[path[same+1]].c == t[same] {
			same++
		}
		for _, at := range path[same+1:] {
			v.nodes[at].after = int32(len(v.nodes))
		}
		path = path[:same+1]
		for _, c := range t[same:] {
			at := int32(len(v.nodes))
			v.nodes = append(v.nodes, node{c: c, depth: int32(len(path)), parent: path[len(path)-1], first: int32(i), end: int32(i)})
			path = append(path, at)
		}
		v.nodes[path[len(path)-1]].end = int32(i + 1)
		v.at[id] = path[len(path)-1]
		v.depth = max(v.depth, len(t))
	}
	for _, at := range path {
		v.nodes[at].after = int32(len(v.nodes))
	}
	for at := len(v.nodes) - 1; at > 0; at-- {
		n := &v.nodes[at]
		v.nodes[n.parent].below |= n.below | 1<<(n.c&63)
	}
	v.findPlain(tokens)
	return v
}

// findPlain finds the tokens that are plain.
func (v *Vocabulary) findPlain(tokens [][]byte) {
	v.plain = make([]uint64, (v.size+63)/64)
	for _, id := range v.ids {
		t := tokens[id]
		if utf8.Valid(t) && !bytes.ContainsFunc(t, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' }) {
			v.plain[id>>6] |= 1 << (id & 63)
			continue
		}
		for at := v.at[id]; at >= 0 && !v.nodes[at].other; at = v.nodes[at].parent {
			v.nodes[at].other = true
		}
	}
}

// Len returns the number of tokens.
func (v *Vocabulary) Len() int { return v.size }

// A mask is a set of tokens.
type mask struct {
	bits []uint64
	open []int32 // nodes at which it depends on more than the tops of stacks
}

// walker finds the tokens that may follow.
type walker struct {
	*machine
	v    *Vocabulary
	path []*set // of the node that is visited
}

// mask returns the tokens that may follow.
func (w *walker) mask(s *set) *mask {
	if s.mask != nil {
		return s.mask
	}
	m := &mask{}
	if local := w.locally(s); local == s {
		m.bits = make([]uint64, (w.v.size+63)/64)
		plain := slices.ContainsFunc(s.items, func(x item) bool { return w.positions[x.at].plain })
		if plain {
			copy(m.bits, w.v.plain)
		}
		w.walk(m, 0, s, plain)
	} else {
		known := w.mask(local)
		m.bits = slices.Clone(known.bits)
		for _, at := range known.open {
			if after := w.at(at, s); after != w.dead {
				w.walk(m, at, after, false)
			}
		}
	}
	if w.threatened(s) {
		w.prune(m, 0, s)
	}
	w.kept += len(m.bits) + len(m.open)
	s.mask = m
	return m
}

// at returns the set at a node of the trie, if s is that of its root.
func (w *walker) at(at int32, s *set) *set {
	if at == 0 {
		return s
	}
	n := &w.v.nodes[at]
	if s = w.at(n.parent, s); s == w.dead {
		return s
	}
	return w.step(s, n.c)
}

// walk adds the tokens at a node and below it, where s is the set after its bytes. Where nothing is
// known of a stack, the node is open. plain says that m has all plain tokens already.
func (w *walker) walk(m *mask, at int32, s *set, plain bool) {
	nodes, path := w.v.nodes, w.path
	base := nodes[at].depth
	path[base] = s
	m.add(w.v, &nodes[at])
	if w.calm(m, at, s) {
		return
	}
	for i, end := at+1, nodes[at].after; i < end; {
		n := &nodes[i]
		if plain && !n.other {
			i = n.after
			continue
		}
		s := w.step(path[n.depth-1], n.c)
		switch {
		case s == w.dead:
			i = n.after
		case s.flags&unknown != 0:
			m.open = append(m.open, i)
			i = n.after
		default:
			path[n.depth] = s
			m.add(w.v, n)
			if i++; w.calm(m, i-1, s) {
				i = n.after
			}
		}
	}
}

// calm adds all tokens below a node if the bytes there lead from a position of s to itself, and tells whether they do.
func (w *walker) calm(m *mask, at int32, s *set) bool {
	n := &w.v.nodes[at]
	if s.noisy == 0 || s.noisy&n.below != 0 {
		return false
	}
	last := len(w.v.ids)
	if int(n.after) < len(w.v.nodes) {
		last = int(w.v.nodes[n.after].first)
	}
	for _, id := range w.v.ids[n.first:last] {
		m.bits[id>>6] |= 1 << (id & 63)
	}
	return true
}

// prune removes the tokens after which nothing but a part that there is could follow: what is known of the tops of stacks
// does not know it.
func (w *walker) prune(m *mask, at int32, s *set) {
	nodes := w.v.nodes
	for i := at + 1; i < nodes[at].after; i = nodes[i].after {
		switch to := w.step(s, nodes[i].c); {
		case to == w.dead:
			last := int32(len(w.v.ids))
			if next := nodes[i].after; int(next) < len(nodes) {
				last = nodes[next].first
			}
			for _, id := range w.v.ids[nodes[i].first:last] {
				m.bits[id>>6] &^= 1 << (id & 63)
			}
		case w.threatened(to):
			w.prune(m, i, to)
		}
	}
}

// add adds the tokens of a node.
func (m *mask) add(v *Vocabulary, n *node) {
	for _, id := range v.ids[n.first:n.end] {
		m.bits[id>>6] |= 1 << (id & 63)
	}
}
