package kept

import (
	"fmt"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestShelf: a key has its own values alone, and loses the oldest ones when it has the most and all
// are too many.
func TestShelf(t *testing.T) {
	s := New(10 * (overhead + 100))
	has := func(key string, want ...int) {
		t.Helper()
		for i := range 40 {
			v, ok := s.Get(key, fmt.Sprint(i))
			wanted := false
			for _, w := range want {
				wanted = wanted || w == i
			}
			if ok != wanted || ok && v != i {
				t.Errorf("%s has %d: %v, %v, want %v", key, i, ok, v, wanted)
			}
		}
	}
	put := func(key string, list ...int) {
		for _, i := range list {
			s.Put(key, fmt.Sprint(i), i, int64(100-len(key)-len(fmt.Sprint(i))))
		}
	}
	put("a", 1, 2)
	put("b", 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	has("a", 1, 2)
	has("b", 5, 6, 7, 8, 9, 10, 11, 12)
	put("b", 5) // which is the youngest now
	put("c", 1)
	has("b", 5, 7, 8, 9, 10, 11, 12)
	if s.Delete("a", "3") || s.Delete("d", "1") || !s.Delete("a", "1") || s.Delete("a", "1") {
		t.Error("what is deleted is what is there")
	}
	has("a", 2)
	s.Put("c", "20", 20, 1<<20)
	has("c")
	has("a", 2)
	s.Delete("a", "2")
	for i := range 13 {
		s.Delete("b", fmt.Sprint(i))
	}
	if s.bytes != 0 || len(s.rows) != 0 {
		t.Errorf("in the end: %d bytes, %d keys", s.bytes, len(s.rows))
	}
	var none *Shelf
	none.Put("a", "b", 1, 1)
	if _, ok := none.Get("a", "b"); ok || none.Delete("a", "b") || none.Most() != 0 {
		t.Error("no shelf has something")
	}
}
