package encoder

import (
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// A folder has three scores, and the rms error of three numbers says little of what was computed: with
// equal arithmetic one is more than 1.5 times another in a quarter of all folders. So a score is also right if
// transformers may well have had its error. How large that is follows from the states: a score's
// error is that of the state of the first token times the score's gradient, and what the classifier adds.
//
// scoreError is the rms error of transformers in float32 over the length of that gradient. It was
// 2.01e-7 for reranker-bert and 1.94e-7 for reranker-xlm-roberta over the 72 pairs of seeds 1 to 24 of
// testdata/tiny/make.py each; ours, 1.55e-7 and 1.71e-7. (The states themselves have errors of 1.2e-7.)
//
// scoreErrors is how many times that the rms of three normal numbers is reached by chance once in 1000
// folders: 16.27 is the point of chi-square with 3 degrees of freedom above which 0.001 lies.
const scoreError = 2e-7

var scoreErrors = math.Sqrt(16.27 / 3)

// gradient returns the length of the gradient of a score by the state of the first token, with tanh
// between the layers of the classifier, as the rerankers of make.py have it.
func gradient(t *testing.T, m *Reranker, ids, types []int32) float64 {
	var of [][]int32
	if m.types {
		of = [][]int32{types}
	}
	x, err := (&runner{model: m.net.model}).forward(t.Context(), &scratch{}, []int{0}, [][]int32{ids}, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := m.net.Width
	y := m.dense.apply(x[:w])
	if err := m.activation.After(y, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	g := make([]float64, w)
	for i, z := range y {
		slope := float64(m.out.weight[i]) * (1 - square(float64(z)))
		for j := range g {
			g[j] += slope * float64(m.dense.weight[i*w+j])
		}
	}
	return math.Sqrt(dot(g, g))
}

func square(x float64) float64 { return x * x }
