package grammar

import (
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer"
)

// BenchmarkMask times the tokens of SmolLM2's vocabulary, 49152, that may follow, at every token of
// texts of a schema: in one that is new, for a grammar that has seen none, and for one that has.
func BenchmarkMask(b *testing.B) {
	f, err := gguf.Open(testweights.Path(b, testweights.SmolLM2))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	t, err := tokenizer.FromGGUF(f)
	if err != nil {
		b.Fatal(err)
	}
	var list [][]byte
	for id := range int32(t.Len()) {
		list = append(list, t.TokenBytes(id))
	}
	v := NewVocabulary(list)
	const schema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string","maxLength":20}},"any":true},"required":["name","age","tags","any"]}`
	text := []byte(`{"name": "A name of some words", "age": 42, "tags": ["one", "two and more"], "any": {"a": [1, 2.5, null, "x\ny"], "b": {}}}`)
	for _, x := range []struct {
		name  string
		fresh bool
	}{{"first", true}, {"again", false}} {
		b.Run(x.name, func(b *testing.B) {
			g := fromSchema(b, schema)
			random, tokens := rand.New(rand.NewPCG(1, 2)), 0
			for b.Loop() {
				if x.fresh {
					b.StopTimer()
					g = fromSchema(b, schema)
					b.StartTimer()
				}
				m, err := g.Matcher(v)
				if err != nil {
					b.Fatal(err)
				}
				for at := 0; at < len(text); tokens++ {
					if _, err := m.Mask(); err != nil {
						b.Fatal(err)
					}
					id := v.some(text[at:], random)
					if err := m.Accept(id); err != nil {
						b.Fatal(err)
					}
					at += len(list[id])
				}
				if !m.MayEnd() {
					b.Fatal("the text may not end")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(tokens), "us/token")
		})
	}
}

// BenchmarkVocabulary times the trie of SmolLM2's tokens.
func BenchmarkVocabulary(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([][]byte, 49152)
	for i := range list {
		for range 1 + random.IntN(9) {
			list[i] = append(list[i], "etaoin shrdlu"[random.IntN(13)])
		}
	}
	for b.Loop() {
		NewVocabulary(list)
	}
}

// some returns a token that a text begins with.
func (v *Vocabulary) some(text []byte, random *rand.Rand) int32 {
	var found []int32
	at := int32(0)
next:
	for _, c := range text {
		for i := at + 1; i < v.nodes[at].after; i = v.nodes[i].after {
			if v.nodes[i].c == c {
				at = i
				found = append(found, v.ids[v.nodes[i].first:v.nodes[i].end]...)
				continue next
			}
		}
		break
	}
	return found[random.IntN(len(found))]
}
