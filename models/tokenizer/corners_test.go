package tokenizer

import (
	"slices"
	"testing"
)

// TestCorners: parts of files meet in ways that are rare. The ids come from tokenizers 0.23.3.
func TestCorners(t *testing.T) {
	wordPiece := `"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
		"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "c": 2, "##c": 3}}}`
	metaspace := `"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false},
		"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["▁", -1], ["a", -1], ["\n", -1], ["▁a", -1]]}}`
	added := `{"added_tokens": [{"id": 4, "content": "ac", "special": true}], ` + wordPiece
	spaces := `{"added_tokens": [{"id": 4, "content": " ", "lstrip": true, "rstrip": true}, {"id": 5, "content": "b", "rstrip": true}], ` + wordPiece
	stripped := func(left, right string) string {
		return `{"normalizer": {"type": "Strip", "strip_left": ` + left + `, "strip_right": ` + right + `}, ` + metaspace
	}
	merged := `{"normalizer": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "a"}, ` + metaspace
	for _, x := range []struct {
		file, text string
		want       []int32
	}{
		{added, "ac a", []int32{4, 1}},
		{added, "AC a", []int32{1, 3, 1}}, // the model does not know the token
		{spaces, "a   c", []int32{1, 4, 2}},
		{spaces, "b  c", []int32{5, 2}},
		{stripped("false", "true"), "\na\n", []int32{1, 3, 2}},
		{stripped("true", "false"), "\na", []int32{2}},
		{stripped("true", "true"), "a", []int32{4}},
		{merged, "aa", []int32{2}},
		{merged, "a", []int32{4}},
		{merged, "ab", []int32{4, 0}},
	} {
		tok, err := FromJSON([]byte(x.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(x.text, Options{}); !slices.Equal(got, x.want) {
			t.Errorf("%q: got %v, want %v, by %s", x.text, got, x.want, x.file)
		}
	}
}

// TestAfterByteLevel: ByteLevel makes one text of all tokens, which the decoders after it change.
func TestAfterByteLevel(t *testing.T) {
	tok, err := FromJSON([]byte(`{"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {"Ġ": 0, "a": 1, "Ġb": 2}},
		"decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, ids := range map[string][]int32{"a": {0, 1}, "b b": {2, 2}, " a": {0, 0, 1}, "a ": {1, 0}} {
		if got := tok.Decode(ids, true); got != want {
			t.Errorf("%v: got %q, want %q", ids, got, want)
		}
	}
}
