package tokenizer

import "testing"

// TestReplaceAfterFuse: replacements in the whole text, where tokens meet, as the decoder of
// Lucie-7B has them. The texts come from tokenizers 0.23.3.
func TestReplaceAfterFuse(t *testing.T) {
	tok, err := FromJSON([]byte(`{"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
		{"type": "Replace", "pattern": {"String": "\n "}, "content": "\n"}, {"type": "Replace", "pattern": {"String": "' "}, "content": "'"},
		{"type": "Replace", "pattern": {"String": "xxx"}, "content": "y"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
		"model": {"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "a", "merges": [],
		"vocab": {"a": 0, "\n": 1, " ": 2, " b": 3, "\n ": 4, "x": 5, " x": 6, "'": 7, "xx": 8, "<0xC3>": 9, "<0xA9>": 10}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		ids  []int32
		want string
	}{
		{[]int32{0, 1, 3, 7, 2, 6, 6}, "a\nb' x x"},
		{[]int32{2, 2, 1, 2, 2, 1}, " \n \n"},
		{[]int32{5, 5, 5, 5, 5, 5, 5}, "yyx"},
		{[]int32{5, 8, 8, 8, 0}, "yyxa"},
		{[]int32{8, 8}, "yx"},
		{[]int32{1, 1, 4, 4, 2}, "\n\n\n\n "},
		{[]int32{9, 10, 7, 3}, "é'b"},
		{[]int32{2, 1}, "\n"},
		{[]int32{7}, "'"},
		{[]int32{4, 2, 0}, "\n a"},
	} {
		if got := tok.Decode(x.ids, true); got != x.want {
			t.Errorf("%v: got %q, want %q", x.ids, got, x.want)
		}
		s, got := tok.Stream(true), ""
		for _, id := range x.ids {
			got += s.Next(id)
		}
		if got += s.Flush(); got != x.want {
			t.Errorf("%v, one by one: got %q, want %q", x.ids, got, x.want)
		}
	}
}
