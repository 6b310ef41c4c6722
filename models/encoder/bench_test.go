package encoder

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
)

// BenchmarkEmbed measures texts of a given number of tokens, on one thread and on all. The
// GFLOP/s are those of the matrix products, attention included.
func BenchmarkEmbed(b *testing.B) {
	e := miniLM(b)
	for _, s := range []struct{ texts, tokens int }{{1, 16}, {8, 64}, {32, 128}} {
		for _, threads := range []int{1, 0} {
			b.Run(fmt.Sprintf("%dx%d/threads=%d", s.texts, s.tokens, threads), func(b *testing.B) {
				benchmarkEmbed(b, e.With(Options{Exec: kernel.Exec{Threads: threads}}), randomTokens(s.texts, s.tokens, e.Vocab()))
			})
		}
	}
}

func benchmarkEmbed(b *testing.B, e *Encoder, ids [][]int32) {
	flop := 0.0
	for _, text := range ids {
		flop += e.net.flop(len(text))
	}
	begin := time.Now()
	for b.Loop() {
		if _, err := e.EmbedTokens(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
	}
	seconds := time.Since(begin).Seconds() / float64(b.N)
	b.ReportMetric(float64(len(ids))/seconds, "sentences/s")
	b.ReportMetric(flop/seconds/1e9, "GFLOP/s")
}

// flop returns the number of floating-point operations in the matrix products of a text.
func (m *model) flop(tokens int) float64 {
	n, w := float64(tokens), float64(m.Width)
	linear := 2 * n * w * (4*w + 2*float64(m.Inner))
	return float64(m.Layers) * (linear + 4*n*n*w)
}

func randomTokens(texts, tokens, vocab int) [][]int32 {
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([][]int32, texts)
	for i := range ids {
		ids[i] = make([]int32, tokens)
		for j := range ids[i] {
			ids[i][j] = r.Int32N(int32(vocab))
		}
	}
	return ids
}
