package unigram

import (
	"cmp"
	"slices"
	"sort"
)

// token is a token with its id. Its text is not empty.
type token struct {
	text string
	id   int32
}

// trie finds all tokens that a text begins with. The children of a node are neighbours, in the
// order of their bytes.
type trie struct {
	labels []byte  // the byte that leads to a node
	first  []int32 // the first child of a node; the last one is before the first of the next node
	ids    []int32 // the token that ends at a node, or -1
}

// newTrie returns the trie of tokens with different texts.
func newTrie(tokens []token) *trie {
	slices.SortFunc(tokens, func(a, b token) int { return cmp.Compare(a.text, b.text) })
	t := &trie{labels: []byte{0}, ids: []int32{-1}}
	type group struct{ from, to, depth int } // the tokens below a node
	groups := []group{{0, len(tokens), 0}}
	for node := 0; node < len(groups); node++ {
		g := groups[node]
		t.first = append(t.first, int32(len(t.labels)))
		if g.from < g.to && len(tokens[g.from].text) == g.depth {
			t.ids[node] = tokens[g.from].id
			g.from++
		}
		for g.from < g.to {
			c := tokens[g.from].text[g.depth]
			end := g.from + sort.Search(g.to-g.from, func(i int) bool { return tokens[g.from+i].text[g.depth] > c })
			t.labels = append(t.labels, c)
			t.ids = append(t.ids, -1)
			groups = append(groups, group{g.from, end, g.depth + 1})
			g.from = end
		}
	}
	t.first = append(t.first, int32(len(t.labels)))
	return t
}

// child returns the node that byte c leads to from a node, or 0.
func (t *trie) child(node int32, c byte) int32 {
	from, to := t.first[node], t.first[node+1]
	for from < to {
		middle := int32(uint32(from+to) / 2)
		switch l := t.labels[middle]; {
		case l == c:
			return middle
		case l < c:
			from = middle + 1
		default:
			to = middle
		}
	}
	return 0
}
