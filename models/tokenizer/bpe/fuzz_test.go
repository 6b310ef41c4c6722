package bpe_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// The ids of a text, cut in two parts or not, give back its bytes, but for the one without a
// token; and merging is that of the definition.
func FuzzEncode(f *testing.F) {
	rules := []string{"gpt-2", "llama-bpe", "qwen2", "smollm"}
	var all []*bpe.Tokenizer
	for _, pre := range rules {
		c := small()
		c.Pre = pre
		tok, err := bpe.New(c)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, tok)
	}
	f.Add("It's aabcabcd 123 \r\n <|end|>é\x04", 4, true, byte(0))
	f.Add("aaaabcdaabcaaaabccdbcaaaaaaaaaaab", 7, false, byte(3))
	f.Fuzz(func(t *testing.T, text string, cut int, special bool, rule byte) {
		tok := all[int(rule)%len(all)]
		ids := tok.Encode(text, special)
		if got, want := string(tok.Decode(ids)), strings.ReplaceAll(text, "\x04", ""); got != want {
			t.Fatalf("ids %v are %q, want %q", ids, got, want)
		}
		if got, want := tok.Text(ids, true), tok.Text(tok.Encode(tok.Text(ids, true), special), true); got != want {
			t.Fatalf("the text %q becomes %q", got, want)
		}
		cut = min(max(cut, 0), len(text))
		plain := tok.Encode(text, false)
		parts := []tokenizer.Part{{Text: text[:cut]}, {Text: text[cut:]}}
		if got := tok.EncodeParts(parts); !slices.Equal(got, plain) {
			t.Fatalf("ids %v, in two parts %v", plain, got)
		}
		if !strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'd' }) {
			if got, want := written(tok, plain), merged(text); got != want {
				t.Fatalf("%q: got %q, want %q", text, got, want)
			}
		}
	})
}

// merged merges a word by the definition.
func merged(word string) string {
	w := strings.Split(word, "")
	merges := small().Merges
	for {
		best, at := len(merges), -1
		for i := 0; i+1 < len(w); i++ {
			if rank := slices.Index(merges, w[i]+" "+w[i+1]); rank >= 0 && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return strings.Join(w, " ")
		}
		w = slices.Replace(w, at, at+2, w[at]+w[at+1])
	}
}
