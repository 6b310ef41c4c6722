package grammar

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// longestToken is the most bytes of a token that may follow. Longer ones never may.
const longestToken = 512

// A Vocabulary has the bytes of tokens as a trie, so that one walk finds all tokens that may
// follow. It is immutable.
type Vocabulary struct {
	size  int
	nodes []node   // the root first, each before those below it, and one behind the last
	kids  []child  // of all nodes, in their order
	ids   []int32  // of all tokens in the trie, by their bytes
	at    []int32  // the node of each token, 0 if it has none
	plain []uint64 // the tokens that are characters of a JSON string which need no escape
}

// A node of the trie is what some tokens begin with.
type node struct {
	c          byte // the last byte
	parent     int32
	after      int32  // the first node that is not below it
	kids       int32  // the first child
	first, end int32  // of the ids of the tokens that are its bytes
	other      bool   // it or one below it has tokens that are not plain
	below      uint64 // by their last six bits, the bytes of the nodes below it
}

// A child is what a walk asks of a node before it goes there. The children of a parent lie side by
// side, as their nodes do not: most bytes lead nowhere, and a node that is only looked at costs a
// cache miss.
type child struct {
	c     byte
	other bool
	at    int32
}

// NewVocabulary returns the trie of tokens: tokens[i] are the bytes of the token with id i. A token
// without bytes, or with more than 512, may never follow.
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
			v.nodes = append(v.nodes, node{c: c, parent: path[len(path)-1], first: int32(i), end: int32(i)})
			path = append(path, at)
		}
		v.nodes[path[len(path)-1]].end = int32(i + 1)
		v.at[id] = path[len(path)-1]
	}
	for _, at := range path {
		v.nodes[at].after = int32(len(v.nodes))
	}
	for at := len(v.nodes) - 1; at > 0; at-- {
		n := &v.nodes[at]
		v.nodes[n.parent].below |= n.below | 1<<(n.c&63)
	}
	v.findPlain(tokens)
	v.findChildren()
	return v
}

// findChildren lists the children of all nodes.
func (v *Vocabulary) findChildren() {
	v.kids = make([]child, 0, len(v.nodes)-1)
	for at := range v.nodes {
		v.nodes[at].kids = int32(len(v.kids))
		for i := int32(at) + 1; i < v.nodes[at].after; i = v.nodes[i].after {
			v.kids = append(v.kids, child{v.nodes[i].c, v.nodes[i].other, i})
		}
	}
	v.nodes = append(v.nodes, node{kids: int32(len(v.kids)), first: int32(len(v.ids))})
}

// children returns the children of a node.
func (v *Vocabulary) children(at int32) []child { return v.kids[v.nodes[at].kids:v.nodes[at+1].kids] }

// here returns the tokens that are the bytes of a node, and within those that begin with them.
func (v *Vocabulary) here(at int32) []int32 { return v.ids[v.nodes[at].first:v.nodes[at].end] }
func (v *Vocabulary) within(at int32) []int32 {
	return v.ids[v.nodes[at].first:v.nodes[v.nodes[at].after].first]
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
	v *Vocabulary
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
	} else if known := w.mask(local); len(known.open) == 0 && !w.threatened(s) {
		s.mask = known // which counts once
		return known
	} else {
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

// at returns the set at a node of the trie, if s is the set of its root.
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
	m.add(w.v.here(at))
	if s.noisy != 0 && s.noisy&w.v.nodes[at].below == 0 { // the bytes there lead from a position of s to itself
		m.add(w.v.within(at))
		return
	}
	for _, x := range w.v.children(at) {
		if plain && !x.other {
			continue
		}
		switch to := w.step(s, x.c); {
		case to == w.dead:
		case to.flags&unknown != 0:
			m.open = append(m.open, x.at)
		default:
			w.walk(m, x.at, to, plain)
		}
	}
}

// prune removes the tokens after which nothing but a part that there is could follow: what is known
// of the tops of stacks does not know it.
func (w *walker) prune(m *mask, at int32, s *set) {
	for _, x := range w.v.children(at) {
		switch to := w.step(s, x.c); {
		case to == w.dead:
			for _, id := range w.v.within(x.at) {
				m.bits[id>>6] &^= 1 << (id & 63)
			}
		case w.threatened(to):
			w.prune(m, x.at, to)
		}
	}
}

// add adds tokens.
func (m *mask) add(ids []int32) {
	for _, id := range ids {
		m.bits[id>>6] |= 1 << (id & 63)
	}
}
