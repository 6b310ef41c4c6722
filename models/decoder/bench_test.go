package decoder

import (
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/precision"
)

var benchThreads = flag.Int("threads", 1, "the `number` of threads of BenchmarkPrompt, BenchmarkGenerate and BenchmarkBatch")

var benchModel = flag.String("model", "", "a GGUF `file` or folder that BenchmarkPrompt and BenchmarkGenerate take in the place of SmolLM2")

// benched loads the model of the benchmarks once.
var benched = sync.OnceValues(func() (*Model, error) { return Load(*benchModel, Options{}) })

// BenchmarkPrompt times how a prompt of 256 tokens is read, and BenchmarkGenerate how 128
// tokens follow a short one, by the real model.
func BenchmarkPrompt(b *testing.B) {
	eachActivation(b, func(b *testing.B, m *Model) {
		s, tokens := session(b, m, 1, 256), promptOf(m, 256)
		for b.Loop() {
			x := s.NewText()
			forward(b, s, Step{Text: x, Tokens: tokens})
			x.Free()
		}
		b.ReportMetric(float64(b.N*len(tokens))/b.Elapsed().Seconds(), "tokens/s")
	})
}

// eachActivation runs a benchmark of the real model with activations of float32 and of int8.
func eachActivation(b *testing.B, run func(b *testing.B, m *Model)) {
	var model *Model
	if *benchModel == "" {
		model = smollm2(b)
	} else {
		var err error
		if model, err = benched(); err != nil {
			b.Fatal(err)
		}
	}
	for _, p := range []precision.Precision{precision.Float32, precision.Int8} {
		b.Run(fmt.Sprintf("precision=%v", p), func(b *testing.B) {
			m, err := model.With(Options{Precision: p, Exec: kernel.Exec{Threads: *benchThreads}})
			if err != nil {
				b.Fatal(err)
			}
			run(b, m)
		})
	}
}

func BenchmarkGenerate(b *testing.B) {
	const n = 128
	for _, x := range []struct {
		name    string
		sampler Sampler
	}{{"greedy", Sampler{}}, {"sampled", Sampler{Temperature: 0.7, TopK: 40, TopP: 0.95}}} {
		b.Run(x.name, func(b *testing.B) {
			eachActivation(b, func(b *testing.B, m *Model) {
				s, tokens := session(b, m, 1, 8+n), promptOf(m, 8)
				b.ReportAllocs()
				for b.Loop() {
					text := s.NewText()
					forward(b, s, Step{Text: text, Tokens: tokens[:7]})
					for _, err := range s.Generate(b.Context(), GenerateOptions{MaxTokens: n, Sampler: x.sampler, Stop: []int32{}}, Step{Text: text, Tokens: tokens[7:]}) {
						if err != nil {
							b.Fatal(err)
						}
					}
					text.Free()
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "tokens/s")
			})
		})
	}
}

// BenchmarkBatch times how several texts get 32 tokens each, side by side.
func BenchmarkBatch(b *testing.B) {
	const n = 32
	m, err := smollm2(b).With(Options{Exec: kernel.Exec{Threads: *benchThreads}})
	if err != nil {
		b.Fatal(err)
	}
	for _, texts := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("texts=%d", texts), func(b *testing.B) {
			s := session(b, m, texts, 8+n)
			for b.Loop() {
				var steps []Step
				for range texts {
					steps = append(steps, Step{Text: s.NewText(), Tokens: promptOf(m, 8)})
				}
				collect(b, texts, s.Generate(b.Context(), GenerateOptions{MaxTokens: n, Stop: []int32{}}, steps...))
				for _, step := range steps {
					step.Text.Free()
				}
			}
			b.ReportMetric(float64(b.N*n*texts)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// promptOf returns n tokens of a vocabulary.
func promptOf(m *Model, n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(20 + i*7919%(m.Config().Vocab-20))
	}
	return ids
}
