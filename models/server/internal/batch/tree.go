package batch

import (
	"container/list"
	"encoding/binary"
)

// A tree keeps the computed prefixes of texts, a node for each full page. The node of a page has
// a text that ends with it, so that its pages stay. What is not in use goes in the order of the last
// use, pages at the end of a text first.
type tree struct {
	page  int // tokens of a page
	root  node
	order *list.List // nodes, the last used first; a node stands before its children
	used  int        // nodes that are pinned
	key   []byte
}

// A node is a page of tokens after the pages of its parents.
type node struct {
	parent   *node
	key      string
	depth    int // pages, its own included
	text     Text
	children map[string]*node
	pins     int // running requests that share the page
	place    *list.Element
}

func newTree(page int) *tree { return &tree{page: page, order: list.New()} }

// keyOf returns the tokens of page i as the key of a map. It is valid until the next call.
func (t *tree) keyOf(tokens []int32, i int) []byte {
	t.key = t.key[:0]
	for _, id := range tokens[i*t.page : (i+1)*t.page] {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(id))
	}
	return t.key
}

// find returns the node of the longest prefix of tokens that is kept, or nil.
func (t *tree) find(tokens []int32) *node {
	at := &t.root
	for i := range len(tokens) / t.page {
		next := at.children[string(t.keyOf(tokens, i))]
		if next == nil {
			break
		}
		at = next
	}
	if at == &t.root {
		return nil
	}
	return at
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

// keep adds the full pages of a text whose first tokens these are.
func (t *tree) keep(text Text, tokens []int32) error {
	at := &t.root
	for i := range len(tokens) / t.page {
		key := t.keyOf(tokens, i)
		next := at.children[string(key)]
		if next == nil {
			fork, err := text.Fork((i + 1) * t.page)
			if err != nil {
				return err
			}
			next = &node{parent: at, key: string(key), depth: i + 1, text: fork}
			next.place = t.order.PushFront(next)
			if at.children == nil {
				at.children = map[string]*node{}
			}
			at.children[next.key] = next
		}
		at = next
	}
	t.touch(at)
	return nil
}

// idle returns how many pages drop could give back.
func (t *tree) idle() int { return t.order.Len() - t.used }

// drop gives back a page that no running request shares, the one that was used least recently, and
// tells whether there was one. Nodes behind it are pinned, so that none of them is a child of it.
func (t *tree) drop() bool {
	for e := t.order.Back(); e != nil; e = e.Prev() {
		if n := e.Value.(*node); n.pins == 0 {
			t.order.Remove(e)
			delete(n.parent.children, n.key)
			n.text.Free()
			return true
		}
	}
	return false
}
