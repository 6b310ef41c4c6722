package encoder

import (
	"math"
	"testing"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/reranking"
)

// A folder has three scores, and the rms error of three numbers says little of what was computed:
// with equal arithmetic one is more than 1.5 times another in a quarter of all folders. So a score
// is also right if transformers may well have had its error. How large that is follows from the
// states: a score's error is the error of the first token's state times the score's gradient, and
// what the classifier adds.
//
// scoreError is the rms error of transformers in float32 over the length of that gradient. It was
// 2.01e-7 for reranker-bert and 1.94e-7 for reranker-xlm-roberta over the 72 pairs of seeds 1 to 24
// of testdata/tiny/make.py each; ours, 1.55e-7 and 1.71e-7. For DeBERTa it was 1.60e-7 over 24
// pairs of rerankers.py, and for ModernBERT 1.41e-7 over 15; ours, 1.30e-7 and 1.35e-7. (The states
// themselves have errors of 1.2e-7.)
//
// scoreErrors is how many times that the rms of three normal numbers is reached by chance once in
// 1000 folders: 16.27 is the point of chi-square with 3 degrees of freedom above which 0.001 lies.
const scoreError = 2e-7

var scoreErrors = math.Sqrt(16.27 / 3)

// gradient returns the length of the gradient of a score by the pooled state of a pair, by
// differences of the head's results: its numbers of float32 have errors of 1e-7, so that a slope
// has an error of 1e-5.
func gradient(t *testing.T, p *reranking.Parts, ids, types []int32) float64 {
	var of [][]int32
	if p.Typed {
		of = [][]int32{types}
	}
	var pooled []float32
	err := p.Model.States(t.Context(), [][]int32{ids}, of, &Options{}, p.Head.Pooling, func(_ int, states []float32) error {
		v := make([]float64, len(p.Head.Out.Weight))
		embedding.Pool(v, states, p.Head.Pooling)
		for _, y := range v {
			pooled = append(pooled, float32(y))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	one := *p.Head
	one.Pooling = embedding.PoolFirst
	sum := 0.0
	for i, y := range pooled {
		var z [2]float64
		for side, step := range [...]float32{-0x1p-7, 0x1p-7} {
			pooled[i] = y + step
			out, err := one.Logits(pooled)
			if err != nil {
				t.Fatal(err)
			}
			z[side] = out[0]
		}
		pooled[i] = y
		sum += square((z[1] - z[0]) / 0x1p-6)
	}
	return math.Sqrt(sum)
}

func square(x float64) float64 { return x * x }
