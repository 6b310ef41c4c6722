package tokenizer

import (
	"strings"
	"testing"
)

// Prose and code are the common case. The others are what makes tokenizers slow if they take
// quadratic time.
var benchTexts = map[string]string{
	"prose":   strings.Repeat("The quick brown fox doesn't jump over 12 lazy dogs, because it's raining in Paris; übrigens auch in Köln.\n", 1000),
	"code":    strings.Repeat("\tfor i := range n {\n\t\tsum += float64(x[i]) * 0.5\n\t}\n", 2000),
	"chinese": strings.Repeat("人人生而自由，在尊严和权利上一律平等。", 2000),
	"letters": strings.Repeat("abcdefghijklmnopqrstuvwxyz", 40000),
	"signs":   strings.Repeat("=", 1<<20),
	"spaces":  strings.Repeat(" ", 1<<20),
	"accents": strings.Repeat("é", 1000) + "a" + strings.Repeat("\u0301\u0323", 100000),
}

func BenchmarkEncode(b *testing.B) {
	all := map[string]*Tokenizer{"minilm": miniLM(b), "smollm2": smolLM2File(b)}
	for _, name := range []string{"llama2", "unigram", "charsmap"} {
		all[name] = fromFile(b, name)
	}
	for name, tok := range all {
		for what, text := range benchTexts {
			b.Run("model="+name+"/text="+what, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					tok.Encode(text, Options{})
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := smolLM2File(b)
	ids := tok.Encode(benchTexts["prose"], Options{})
	b.SetBytes(int64(len(benchTexts["prose"])))
	for b.Loop() {
		tok.Decode(ids, false)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.Run("model=minilm", func(b *testing.B) {
		for b.Loop() {
			miniLM(b)
		}
	})
	b.Run("model=smollm2", func(b *testing.B) {
		for b.Loop() {
			smolLM2File(b)
		}
	})
}
