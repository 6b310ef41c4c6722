package wordpiece_test

import (
	"testing"

	"github.com/attn-go/attn/models/tokenizer/wordpiece"
)

// Whatever the text, ids are those of tokens, the special tokens surround them, and a limit only
// cuts them.
func FuzzEncode(f *testing.F) {
	f.Add("Unaffable É 中文[MASK].", 4, byte(0))
	f.Add("e\u0301\u0323\u302e\xff각", 1, byte(3))
	f.Fuzz(func(t *testing.T, text string, limit int, settings byte) {
		opts := wordpiece.Options{KeepCase: settings&1 != 0, KeepAccents: settings&2 != 0, KeepCJK: settings&4 != 0, PlainText: settings&8 != 0}
		tok, err := wordpiece.New(small, opts)
		if err != nil {
			t.Fatal(err)
		}
		all := tok.Encode(text, 0)
		got := tok.Encode(text, limit)
		if want := len(all); limit > 0 && len(got) != min(want, max(limit, 2)) || limit <= 0 && len(got) != want {
			t.Fatalf("%d ids with limit %d, %d without one", len(got), limit, want)
		}
		for i, id := range got {
			if id < 0 || int(id) >= tok.Len() || i+1 < len(got) && id != all[i] {
				t.Fatalf("id %d is %d of %v", i, id, all)
			}
		}
		if tok.Token(got[0]) != "[CLS]" || tok.Token(got[len(got)-1]) != "[SEP]" {
			t.Fatalf("ids %v", got)
		}
	})
}
