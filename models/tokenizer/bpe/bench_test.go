package bpe_test

import (
	"strings"
	"testing"
)

// Prose is the common case. A piece of letters without an end and one of the same sign are what
// makes merging slow if it takes quadratic time.
var benchTexts = map[string]string{
	"prose":   strings.Repeat("The quick brown fox doesn't jump over 12 lazy dogs, because it's raining in Paris; übrigens auch in Köln.\n", 1000),
	"code":    strings.Repeat("\tfor i := range n {\n\t\tsum += float64(x[i]) * 0.5\n\t}\n", 2000),
	"letters": strings.Repeat("abcdefghijklmnopqrstuvwxyz", 40000),
	"signs":   strings.Repeat("=", 1<<20),
	"spaces":  strings.Repeat(" ", 1<<20),
	"chinese": strings.Repeat("人人生而自由，在尊严和权利上一律平等。", 2000),
}

func BenchmarkEncode(b *testing.B) {
	tok := load(b)
	for name, text := range benchTexts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text, true)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := load(b)
	ids := tok.Encode(benchTexts["prose"], false)
	b.SetBytes(int64(len(benchTexts["prose"])))
	for b.Loop() {
		tok.Text(ids, false)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}
