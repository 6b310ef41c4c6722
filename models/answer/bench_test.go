package answer_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/grammar"
)

// large is a vocabulary of 150,000 tokens: the bytes, and words of up to 9 letters, half of them
// with a space before.
func large() (*grammar.Vocabulary, [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	var list [][]byte
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			list = append(list, []byte(text))
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for _, text := range []string{"<tool_call>", "</tool_call>", `{"`, `":`, `"}`, `, "`, "<think>", "</think>", "}}", `": {"`} {
		add(text)
	}
	for len(list) < 150000 {
		text := ""
		if r.IntN(2) == 0 {
			text = " "
		}
		for range 2 + r.IntN(8) {
			text += string("etaoinshrdlucmfwypvbgkqjxz<>/{}\"_0123456789"[min(r.IntN(43), r.IntN(43))])
		}
		add(text)
	}
	return grammar.NewVocabulary(list), list
}

// BenchmarkToken is the time that a grammar takes for a token of 150,000, in its median over a text
// of 400 tokens: free text, a call, and calls that are required.
func BenchmarkToken(b *testing.B) {
	v, list := large()
	f := formatOf(b, templates["hermes"])
	for name, text := range map[string]string{
		"free": "the weather in the city is so so, and i think that it may rain a little later on in the afternoon or not at all ",
		"call": "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a city of the north and of the west\", \"days\": 3}}\n</tool_call>",
	} {
		b.Run(name, func(b *testing.B) {
			var all []time.Duration
			for b.Loop() {
				g, err := f.Grammar(answer.Asked{Tools: tools, Required: name == "call"})
				if err != nil {
					b.Fatal(err)
				}
				x, err := g.Matcher(v)
				if err != nil {
					b.Fatal(err)
				}
				for rest := text; rest != ""; {
					begin := time.Now()
					words, err := x.Mask()
					if err != nil {
						b.Fatal(err)
					}
					took := time.Since(begin)
					best := -1
					for id, t := range list {
						if len(t) <= len(rest) && rest[:len(t)] == string(t) && words[id>>6]>>(id&63)&1 == 1 && (best < 0 || len(t) > len(list[best])) {
							best = id
						}
					}
					begin = time.Now()
					if err := x.Accept(int32(best)); err != nil {
						b.Fatal(err)
					}
					all = append(all, took+time.Since(begin))
					rest = rest[len(list[best]):]
				}
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "ns/token-median")
			b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds()), "ns/token-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}
