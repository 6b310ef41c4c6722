package batch

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/models/decoder"
)

// What was used least recently goes first, from the end of a text, but nothing that is in use.
func TestTree(t *testing.T) {
	f := newFake(t, 20, 2)
	tree := newTree(2)
	keep := func(tokens ...int32) {
		text := f.NewText()
		n, have := tree.find(tokens)
		if n != nil {
			text = n.text
		}
		text, err := text.Fork(have)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Forward(t.Context(), decoder.Step{Text: text, Tokens: tokens[have:], Logits: decoder.LogitsNone}); err != nil {
			t.Fatal(err)
		}
		if err := tree.keep(text, tokens, span{}); err != nil {
			t.Fatal(err)
		}
		text.Free()
	}
	depth := func(tokens ...int32) int {
		_, have := tree.find(tokens)
		return have / 2
	}
	keep(1, 2, 3, 4, 5)
	keep(1, 2, 7, 8)
	keep(9, 9, 9, 9)
	if free := f.freePages(); free != 15 {
		t.Errorf("%d pages are free, want 15: one is shared", free)
	}
	if a, b, c, d := depth(1, 2, 3, 4, 5, 6), depth(1, 2, 7), depth(9, 9, 9, 9), depth(2, 2); a != 2 || b != 1 || c != 2 || d != 0 {
		t.Errorf("found %d, %d, %d, %d pages, want 2, 1, 2, 0", a, b, c, d)
	}
	used, _ := tree.find([]int32{1, 2, 3, 4})
	tree.pin(used)
	tree.pin(used.parent)
	if n := tree.idle(); n != 3 {
		t.Errorf("%d pages are idle, want 3", n)
	}
	for i, want := range [][3]int{{2, 1, 2}, {2, 1, 1}, {2, 1, 0}} { // after each drop
		if !tree.drop() {
			t.Fatalf("drop %d found nothing", i)
		}
		if got := [3]int{depth(1, 2, 3, 4), depth(1, 2, 7, 8), depth(9, 9, 9, 9)}; got != want {
			t.Errorf("after drop %d: %v, want %v", i, got, want)
		}
	}
	if tree.drop() {
		t.Error("a page was dropped that is in use")
	}
	tree.unpin(used)
	if tree.used != 1 || tree.idle() != 1 {
		t.Errorf("%d pages are in use, %d idle, want 1 and 1", tree.used, tree.idle())
	}
	tree.unpin(used.parent)
	for tree.drop() {
	}
	if f.freePages() != 20 || len(tree.root.children) != 0 {
		t.Errorf("%d pages are free, want 20", f.freePages())
	}
}

// Texts have tokens in common that fill no page, and the last page of a text stays until a longer
// one has its tokens.
func TestPartsOfPages(t *testing.T) {
	const page = 32
	f := newFake(t, 20, page)
	tree := newTree(page)
	count := func(n int, last ...int32) (tokens []int32) {
		for i := range n {
			tokens = append(tokens, int32(i))
		}
		return append(tokens, last...)
	}
	keep := func(tokens []int32) {
		t.Helper()
		text := f.NewText()
		if _, err := f.Forward(t.Context(), decoder.Step{Text: text, Tokens: tokens, Logits: decoder.LogitsNone}); err != nil {
			t.Fatal(err)
		}
		if err := tree.keep(text, tokens, span{}); err != nil {
			t.Fatal(err)
		}
		text.Free()
	}
	check := func(tokens []int32, want int) {
		t.Helper()
		n, have := tree.find(tokens)
		if have != want || (n == nil) != (want == 0) {
			t.Fatalf("%d tokens of %v are kept, want %d", have, tokens, want)
		}
		if n == nil {
			return
		}
		if got := n.text.Tokens(); len(got) < have || !slices.Equal(got[:have], tokens[:have]) {
			t.Fatalf("the text of the node begins with %v, want %v", got, tokens[:have])
		}
	}
	pages := func(want int) {
		t.Helper()
		if got := 20 - f.freePages(); got != want || tree.idle() != want {
			t.Fatalf("%d pages are kept, of which %d are idle, want %d", got, tree.idle(), want)
		}
	}
	keep(count(worthwhile - 1)) // too few
	pages(0)
	check(count(10), 0)
	keep(count(20))
	pages(1)
	check(count(20), 20)
	check(count(12, 90, 91), 12)
	keep(count(20)) // again
	keep(count(18)) // is the beginning of another one
	pages(1)
	keep(count(17, 80)) // another text
	pages(2)
	check(count(17, 80, 81), 18)
	keep(count(25)) // has more tokens than one that is kept
	pages(2)
	check(count(24, 70), 24)
	keep(count(page + 20)) // has them in a full page, and a part of the next one
	pages(3)
	check(count(page+20, 1), page+20)
	check(count(page+5, 70), page+5)
	check(count(page, 70), page)
	check(count(page-1, 70), page-1)
	for tree.drop() {
	}
	pages(0)
}

// checkTree checks what drop relies on: parents stand before their children, nodes whose page is
// not full have neither children nor pins, and there are no more nodes than pages in use.
func checkTree(t *testing.T, x *tree, pages int) {
	t.Helper()
	before := map[*node]bool{&x.root: true}
	for e := x.order.Front(); e != nil; e = e.Next() {
		n := e.Value.(*node)
		if !before[n.parent] || n.parent.children[n.key] != n {
			t.Fatalf("a node of page %d stands before its parent, or is none of its children", n.depth)
		}
		if len(n.key) < 4*x.page && (n.pins > 0 || len(n.children) > 0) {
			t.Fatalf("a page of %d of %d tokens has %d pins and %d children", len(n.key)/4, x.page, n.pins, len(n.children))
		}
		before[n] = true
	}
	if n := x.order.Len(); n > pages {
		t.Fatalf("%d nodes for %d pages", n, pages)
	}
}

// TestKeepSaves: pages that were not read from saved ones are saved, also before those, as they may
// come from a text that still runs.
func TestKeepSaves(t *testing.T) {
	f := newFake(t, 20, 2)
	tree := newTree(2)
	tree.saves = true
	tokens := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	text := f.NewText()
	if _, err := f.Forward(t.Context(), decoder.Step{Text: text, Tokens: tokens, Logits: decoder.LogitsNone}); err != nil {
		t.Fatal(err)
	}
	if err := tree.keep(text, tokens, span{2, 6}); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, n := range tree.fresh {
		got = append(got, n.depth)
	}
	if want := []int{1, 4}; !slices.Equal(got, want) {
		t.Errorf("pages %d are to be saved, want %d", got, want)
	}
}
