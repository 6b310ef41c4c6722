//go:build moving

package kernel_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A workedExample comes from the tests of another library: see
// testdata/refs/README.md.
type workedExample struct {
	Name, Kind string
	Inputs     json.RawMessage
	Expected   struct{ Y, Weights [][]float64 }
	Tol        float64
}

type exampleInputs struct {
	Q, K, V [][]float32
	Scale   float32
}

// exampleKinds says of the kinds that are attention and nothing else what options
// they mean.
var exampleKinds = map[string]func(in *exampleInputs) kernel.Options{
	"SDPA forward": func(in *exampleInputs) kernel.Options { return kernel.Options{Scale: in.Scale} },
	"additive score sum(tanh(q+k)) i.e. Wq=Wk=I, v=1": func(in *exampleInputs) kernel.Options {
		return kernel.Options{Score: in.additive}
	},
}

// projected are the examples with projections before and after attention: package
// layer runs them.
var projected = []string{
	"ort_AttentionBatch1",
	"ort_AttentionBatch1RelativePositionBias",
	"ort_AttentionBatch1WithQKVAttr1",
	"ort_AttentionUnidirectional",
	"keras_mha_gqa_identity",
}

// TestReferences runs the examples on every tier.
func TestReferences(t *testing.T) {
	data, err := os.ReadFile("testdata/refs/small_refs.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []workedExample
	if err := json.Unmarshal(data, &examples); err != nil {
		t.Fatal(err)
	}
	for _, x := range examples {
		if slices.Contains(projected, x.Name) {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			options := exampleKinds[x.Kind]
			if options == nil {
				t.Fatalf("unknown kind %q", x.Kind)
			}
			var in exampleInputs
			if err := json.Unmarshal(x.Inputs, &in); err != nil {
				t.Fatal(err)
			}
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				o := options(&in)
				o.Tier = tier
				x.run(t, &in, o)
			})
		})
	}
}

func (x *workedExample) run(t *testing.T, in *exampleInputs, o kernel.Options) {
	out, weights := matrix(x.Expected.Y), matrix(x.Expected.Y)
	if x.Expected.Weights != nil {
		weights = matrix(x.Expected.Weights)
		o.Weights = weights
	}
	if err := kernel.Attention(out, matrix(in.Q), matrix(in.K), matrix(in.V), o); err != nil {
		t.Fatal(err)
	}
	x.compare(t, "y", &out, x.Expected.Y)
	x.compare(t, "weights", &weights, x.Expected.Weights)
}

func (x *workedExample) compare(t *testing.T, what string, got *kernel.Tensor, want [][]float64) {
	for i, row := range want {
		for e, want := range row {
			if got := contracttest.Row(got, 0, 0, i)[e]; !(math.Abs(float64(got)-want) <= x.Tol) {
				t.Errorf("%s[%d][%d] is %v, want %v", what, i, e, got, want)
			}
		}
	}
}

// matrix makes a tensor [1, 1, L, D] with the elements of x.
func matrix[E float32 | float64](x [][]E) kernel.Tensor {
	t := kernel.BHLD(make([]float32, len(x)*len(x[0])), 1, 1, len(x), len(x[0]))
	for i := range x {
		for e := range x[i] {
			contracttest.Row(&t, 0, 0, i)[e] = float32(x[i][e])
		}
	}
	return t
}

// additive is the score of Bahdanau, Cho, Bengio ("Neural Machine Translation by
// Jointly Learning to Align and Translate") without weights.
func (in *exampleInputs) additive(tile *kernel.ScoreTile) {
	for x := range tile.Keys {
		for r, row := range tile.Rows {
			sum := float32(0)
			for d, k := range in.K[tile.Key+x] {
				sum += numeric.Tanh(in.Q[row.Query][d] + k)
			}
			tile.Scores[x*tile.Stride+r] = sum * math.Log2E
		}
	}
}
