package encoder

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/reranking"
)

// BenchmarkEmbed measures texts of a given number of tokens, on one thread and on all. The GFLOP/s
// count the matrix products, attention included.
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

// BenchmarkRerank scores 100 passages for a query in one call, with a cross-encoder of MiniLM's
// sizes: its weights and a random classifier. All passages have 128 tokens, or 16 to 128 of them.
func BenchmarkRerank(b *testing.B) {
	e := miniLM(b)
	w := e.net.Width
	r := rand.New(rand.NewPCG(3, 4))
	floats := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		return x
	}
	head := &reranking.Head{
		Pooling: embedding.PoolFirst, Dense: &reranking.Matrix{Weight: floats(w * w), Bias: floats(w)}, Activation: activations.Tanh.Alone,
		Out: reranking.Matrix{Weight: floats(w), Bias: floats(1)}, Padding: -1,
	}
	if err := head.SetLabels("", nil, 1); err != nil {
		b.Fatal(err)
	}
	m := reranking.New(reranking.Parts{
		Model: &runner{model: e.net.model}, Prompt: &reranking.TwoTexts{Tokenizer: e.Tokenizer()}, Head: head,
		Typed: true, Vocab: e.Vocab(), MaxTokens: e.MaxTokens(), Positions: e.MaxTokens(),
	})
	words := strings.Fields("the cat sits on a mat and looks at some water while two dogs run over green fields near an old house")
	for _, least := range []int{128, 16} {
		passages := make([]string, 100)
		tokens := 0
		for i := range passages {
			var text []string
			for range least + i*(128-least)/99 {
				text = append(text, words[r.IntN(len(words))])
			}
			passages[i] = strings.Join(text, " ")
			tokens += e.CountTokens(passages[i]) - 2
		}
		if least == 128 && tokens != 12800 {
			b.Fatalf("passages of %d tokens", tokens)
		}
		for _, threads := range []int{1, 0} {
			b.Run(fmt.Sprintf("tokens=%d-128/threads=%d", least, threads), func(b *testing.B) {
				m := m.With(reranking.Options{Exec: kernel.Exec{Threads: threads}})
				begin := time.Now()
				for b.Loop() {
					if _, err := m.Score(b.Context(), "where do the cats sit in winter", passages); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(100*float64(b.N)/time.Since(begin).Seconds(), "passages/s")
			})
		}
	}
}

// flop returns the number of floating-point operations in the matrix products of a text.
func (m *model) flop(tokens int) float64 {
	n, w := float64(tokens), float64(m.Width)
	linear := 2 * n * w * (4*w + 2*float64(m.Layers[0].Feed.(*arch.Dense).Inner))
	return float64(len(m.Layers)) * (linear + 4*n*n*w)
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
