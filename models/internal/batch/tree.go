package batch

import (
	"container/list"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
)

// A tree keeps the computed prefixes of texts, a node for each page. The node of a page has a text
// that ends with it, so that its pages stay. The last page of a text may have fewer tokens than
// others: its node has no children, and is never pinned, as a text that goes on there gets a copy
// of the page. What is not in use goes in the order of the last use, pages at the end of a text
// first. Where a text had dropped windows, or drops them while it shares a node, the node has
// tokens without pages: nobody goes on there, but there may be pages at nodes behind it.
type tree struct {
	page  int // tokens of a page
	root  node
	order *list.List // nodes, the last used first; a node stands before its children
	used  int        // nodes that are pinned
	key   []byte
	saves bool    // fresh is wanted
	fresh []*node // whole pages that are to be saved, parents first
}

// A node is a page of tokens after the pages of its parents.
type node struct {
	parent   *node
	key      string
	depth    int // pages, its own included
	text     *decoder.Text
	children map[string]*node
	pins     int // running requests that share the page
	place    *list.Element
	gone     bool
	saved    promptcache.Key // see [Scheduler.keyOf]
}

func newTree(page int) *tree { return &tree{page: page, order: list.New()} }

// keyOf returns the tokens of page i, which may be the last ones, as the key of a map. It is valid
// until the next call.
func (t *tree) keyOf(tokens []int32, i int) []byte {
	t.key = t.key[:0]
	for _, id := range tokens[i*t.page : min((i+1)*t.page, len(tokens))] {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(id))
	}
	return t.key
}

// find returns how many tokens of the longest prefix of tokens that is kept there are, and the node
// whose text begins with them, or nil if there are none.
func (t *tree) find(tokens []int32) (n *node, have int) {
	at, i := &t.root, 0
	for ; i < len(tokens)/t.page; i++ {
		next := at.children[string(t.keyOf(tokens, i))]
		if next == nil {
			break
		}
		at, n = next, next
	}
	have = i * t.page
	if next, more := at.closest(t.keyOf(tokens, i)); more > 0 {
		return next, have + more
	}
	return n, have
}

// closest returns the child whose page begins with the most tokens of a key, and how many. Of
// several it takes the one whose key is first: the order of a map must not decide what is computed
// again.
func (n *node) closest(key []byte) (best *node, tokens int) {
	for _, child := range n.children {
		same := 0
		for same < min(len(key), len(child.key)) && key[same] == child.key[same] {
			same++
		}
		if same /= 4; same > tokens || same > 0 && same == tokens && child.key < best.key {
			best, tokens = child, same
		}
	}
	return best, tokens
}

// pin says that a running request shares the pages up to n, which is nil for none.
func (t *tree) pin(n *node) {
	for ; n != nil && n.parent != nil; n = n.parent {
		if n.pins++; n.pins == 1 {
			t.used++
		}
	}
}

// unpin takes pin back. The pages are those that were used last.
func (t *tree) unpin(n *node) {
	t.touch(n)
	for ; n != nil && n.parent != nil; n = n.parent {
		if n.pins--; n.pins == 0 {
			t.used--
		}
	}
}

// touch moves a node and its parents to the front, parents before children.
func (t *tree) touch(n *node) {
	for ; n != nil && n.parent != nil; n = n.parent {
		t.order.MoveToFront(n.place)
	}
}

// A span is the tokens from begin up to end.
type span struct{ begin, end int }

// keep adds the pages of a text whose first tokens these are, the last one if it has enough tokens.
// Those in loaded are saved already. Earlier pages may come from a text that still runs, and are
// not.
func (t *tree) keep(text *decoder.Text, tokens []int32, loaded span) error {
	at := &t.root
	for begin := 0; begin < len(tokens); begin += t.page {
		key, end := t.keyOf(tokens, begin/t.page), min(begin+t.page, len(tokens))
		next := at.children[string(key)]
		if part := end - begin; next == nil && part < t.page {
			closest, same := at.closest(key)
			if same == part {
				next = closest
			} else if part < worthwhile {
				break
			}
		}
		switch {
		case next == nil:
			fork, err := text.Fork(end)
			if err != nil {
				return err
			}
			next = t.add(at, string(key), fork)
			if t.saves && end-begin == t.page && (begin < loaded.begin || end > loaded.end) {
				t.fresh = append(t.fresh, next)
			}
		case len(next.key) == len(key) && next.text.Checkpoint(end) < text.Checkpoint(end): // windows were dropped
			fork, err := text.Fork(end)
			if err != nil {
				return err
			}
			next.text.Free()
			next.text = fork
		}
		at = next
	}
	t.touch(at)
	return nil
}

// add adds a child to a node and removes those whose tokens it begins with, as it has them too.
func (t *tree) add(parent *node, key string, text *decoder.Text) *node {
	for _, child := range parent.children { // from which one may be deleted on the way
		if strings.HasPrefix(key, child.key) {
			t.remove(child)
		}
	}
	n := &node{parent: parent, key: key, depth: parent.depth + 1, text: text}
	n.place = t.order.PushFront(n)
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[key] = n
	return n
}

// remove removes a node that has no children and is not pinned.
func (t *tree) remove(n *node) {
	t.order.Remove(n.place)
	delete(n.parent.children, n.key)
	n.text.Free()
	n.gone = true
	if len(t.fresh) > 2*t.order.Len()+64 {
		t.fresh = slices.DeleteFunc(t.fresh, func(n *node) bool { return n.gone })
	}
}

// idle returns how many pages drop could give back.
func (t *tree) idle() int { return t.order.Len() - t.used }

// drop gives back a page that no running request shares, the one that was used least recently, and
// tells whether there was one. Nodes behind it are pinned, so that none of them is a child of it.
func (t *tree) drop() bool {
	for e := t.order.Back(); e != nil; e = e.Prev() {
		if n := e.Value.(*node); n.pins == 0 {
			t.remove(n)
			return true
		}
	}
	return false
}
