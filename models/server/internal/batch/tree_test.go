package batch

import "testing"

// What was used least recently goes first, from the end of a text, but nothing that is in use.
func TestTree(t *testing.T) {
	f := newFake(t, 20, 2)
	tree := newTree(2)
	keep := func(tokens ...int32) {
		text, have := f.NewText(), 0
		if n := tree.find(tokens); n != nil {
			text, have = n.text, 2*n.depth
		}
		text, err := text.Fork(have)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Forward(t.Context(), []Step{{text, tokens[have:], false}}); err != nil {
			t.Fatal(err)
		}
		if err := tree.keep(text, tokens); err != nil {
			t.Fatal(err)
		}
		text.Free()
	}
	depth := func(tokens ...int32) int {
		if n := tree.find(tokens); n != nil {
			return n.depth
		}
		return 0
	}
	keep(1, 2, 3, 4, 5)
	keep(1, 2, 7, 8)
	keep(9, 9, 9, 9)
	if free := f.FreePages(); free != 15 {
		t.Errorf("%d pages are free, want 15: one is shared", free)
	}
	if a, b, c, d := depth(1, 2, 3, 4, 5, 6), depth(1, 2, 7), depth(9, 9, 9, 9), depth(2, 2); a != 2 || b != 1 || c != 2 || d != 0 {
		t.Errorf("found %d, %d, %d, %d pages, want 2, 1, 2, 0", a, b, c, d)
	}
	used := tree.find([]int32{1, 2, 3, 4})
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
	if f.FreePages() != 20 || len(tree.root.children) != 0 {
		t.Errorf("%d pages are free, want 20", f.FreePages())
	}
}
