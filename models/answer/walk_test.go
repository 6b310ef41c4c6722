package answer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/grammar"
)

// letters is a vocabulary of the printable bytes of ASCII and some texts of several.
var letters, texts = func() (*grammar.Vocabulary, []string) {
	var all []string
	for b := 0x20; b < 0x7f; b++ {
		all = append(all, string(rune(b)))
	}
	all = append(append(all, "\n", "</", "arameter>", "call", `"}`, "｜", "▁"), closers...)
	bytes := make([][]byte, len(all))
	for i, text := range all {
		bytes[i] = []byte(text)
	}
	return grammar.NewVocabulary(bytes), all
}()

// closers end what is open.
var closers = []string{"</think>", "[/THINK]", "<channel|>", "<|end|>", "</parameter>", "</arg_value>", `<|"|>`, "<escape>", `"`, "}", "]", ")"}

// walk returns a text of a grammar: at first any tokens follow that may, and then those that bring
// it to an end soon.
func walk(t *testing.T, g *grammar.Grammar, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	x, err := g.Matcher(letters)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for n := 0; !x.MustEnd(); n++ {
		words, err := x.Mask()
		if err != nil {
			t.Fatal(err)
		}
		var may []int32
		for id := range texts {
			if words[id>>6]>>(id&63)&1 == 1 {
				may = append(may, int32(id))
			}
		}
		if x.MayEnd() && (len(may) == 0 || n > 40 || r.IntN(10) == 0) {
			break
		}
		if len(may) == 0 || n > 6000 {
			t.Fatalf("no end of %q", text)
		}
		id := may[r.IntN(len(may))]
		if n > 40 {
			for range 6 {
				if at := int32(slices.Index(texts, closers[r.IntN(len(closers))])); slices.Contains(may, at) {
					id = at
				}
			}
		}
		if err := x.Accept(id); err != nil {
			t.Fatal(err)
		}
		text += texts[id]
	}
	return text
}
