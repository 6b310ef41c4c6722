package wordpiece_test

import (
	"strings"
	"testing"
)

var benchTexts = map[string]string{
	"prose":   strings.Repeat("The quick brown fox doesn't jump over 12 lazy dogs, because it's raining in Paris; übrigens auch in Köln.\n", 1000),
	"code":    strings.Repeat("\tfor i := range n {\n\t\tsum += float64(x[i]) * 0.5\n\t}\n", 2000),
	"letters": strings.Repeat("abcdefghijklmnopqrstuvwxyz", 40000),
	"unknown": strings.Repeat(strings.Repeat("ab", 49)+"\u2603 ", 1000),
	"accents": strings.Repeat("é", 1000) + "a" + strings.Repeat("\u0301\u0323", 100000),
	"chinese": strings.Repeat("人人生而自由，在尊严和权利上一律平等。", 2000),
}

func BenchmarkEncode(b *testing.B) {
	tok := load(b)
	for name, text := range benchTexts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text, 0)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}
