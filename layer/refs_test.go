package layer

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

var refs = flag.String("refs", "../kernel/testdata/refs/small_refs.json", "worked examples of other libraries for TestRefs: a file of this form")

// A reference is a worked example from the tests of another library, which may have
// projections; ../kernel/testdata/refs/README.md says where they come from.
type reference struct {
	Name, Kind       string
	Inputs, Expected map[string]json.RawMessage
	Tol              float64
}

// A referenceKind computes what the examples of a kind expect, by name.
type referenceKind func(t *testing.T, r *reference, tier string) map[string]kernel.Tensor

var referenceKinds = map[string]referenceKind{
	"qkv-projection (columns Q|K|V, per-head contiguous) + bias + SDPA, no output projection":                              packedProjection,
	"additive score sum(tanh(q+k)) i.e. Wq=Wk=I, v=1":                                                                      additiveSum,
	"MHA in/out projection, 8 heads, identity kernels[d,h,e]=delta(d,e); out kernel [h,e,o]=delta(h,o); float16 in source": identityHeads,
	"SDPA forward": scaledDot,
}

// TestRefs runs all examples of a file on every tier, to their own tolerances. A kind that it
// does not know is a failure.
func TestRefs(t *testing.T) {
	data, err := os.ReadFile(*refs)
	must(t, err)
	var list []reference
	must(t, json.Unmarshal(data, &list))
	if len(list) == 0 {
		t.Fatal("no examples")
	}
	for _, r := range list {
		t.Run(r.Name, func(t *testing.T) {
			kind := referenceKinds[r.Kind]
			if kind == nil {
				t.Fatalf("unknown kind %q", r.Kind)
			}
			eachTier(t, func(t *testing.T, tier string) { r.compare(t, kind(t, &r, tier)) })
		})
	}
}

// compare compares all that is expected with what was computed. An expected matrix is that
// of every head.
func (r *reference) compare(t *testing.T, got map[string]kernel.Tensor) {
	for name := range r.Expected {
		out, ok := got[name]
		if !ok {
			t.Fatalf("%s is expected and not computed", name)
		}
		want := r.matrix(t, r.Expected, name)
		eachRow(out.Shape(), func(b, h, l int) {
			for e, x := range row(&out, b, h, l) {
				if w := float64(want[l][e]); !(math.Abs(float64(x)-w) <= r.Tol) {
					t.Errorf("%s: element %d of row %d of head %d is %v, want %v", name, e, l, h, x, w)
				}
			}
		})
	}
}

// matrix returns a matrix of from: numbers, or one of the texts that stand for some.
func (r *reference) matrix(t *testing.T, from map[string]json.RawMessage, name string) (m [][]float32) {
	switch string(from[name]) {
	case `"eye(8)"`:
		return square(8, func(i, j int) float32 { return float32(1 - min(1, max(i-j, j-i))) })
	case `"arange(64).reshape(8,8)/100"`:
		return square(8, func(i, j int) float32 { return float32(8*i+j) / 100 })
	}
	must(t, json.Unmarshal(from[name], &m))
	return m
}

func square(n int, f func(i, j int) float32) [][]float32 {
	m := make([][]float32, n)
	for i := range m {
		m[i] = make([]float32, n)
		for j := range m[i] {
			m[i][j] = f(i, j)
		}
	}
	return m
}

// input returns a matrix of the inputs as a tensor [1, 1, L, D].
func (r *reference) input(t *testing.T, name string) kernel.Tensor {
	return rows(r.matrix(t, r.Inputs, name)...)
}

// field reads an input of another form, if there is one.
func (r *reference) field(t *testing.T, name string, into any) {
	if data := r.Inputs[name]; data != nil {
		must(t, json.Unmarshal(data, into))
	}
}

func scaledDot(t *testing.T, r *reference, tier string) map[string]kernel.Tensor {
	q, k, v := r.input(t, "q"), r.input(t, "k"), r.input(t, "v")
	opts := kernel.Options{Exec: kernel.Exec{Tier: tier}}
	r.field(t, "scale", &opts.Scale)
	return attend(t, ScaledDot{}, q, k, v, opts)
}

func additiveSum(t *testing.T, r *reference, tier string) map[string]kernel.Tensor {
	q, k, v := r.input(t, "q"), r.input(t, "k"), r.input(t, "v")
	ones := make([]float32, q.Shape()[3])
	for i := range ones {
		ones[i] = 1
	}
	return attend(t, Additive{V: ones}, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
}

func attend(t *testing.T, s Similarity, q, k, v kernel.Tensor, opts kernel.Options) map[string]kernel.Tensor {
	y, weights := newTensor(1, 1, q.Shape()[2], v.Shape()[3]), newTensor(1, 1, q.Shape()[2], k.Shape()[2])
	opts.Weights = weights
	must(t, s.Attend(y, q, k, v, opts))
	return map[string]kernel.Tensor{"y": y, "weights": weights}
}

// packedProjection has the weights of ONNX Runtime's operator Attention: [inputs, outputs]
// with the columns of queries, keys and values side by side.
func packedProjection(t *testing.T, r *reference, tier string) map[string]kernel.Tensor {
	x, w := r.input(t, "x"), r.matrix(t, r.Inputs, "w")
	m := &MultiHead{}
	var sizes []int
	var bias, added []float32
	var causal bool
	r.field(t, "heads", &m.Heads)
	r.field(t, "qkv_sizes", &sizes)
	r.field(t, "b", &bias)
	r.field(t, "bias", &added)
	r.field(t, "causal", &causal)
	if len(sizes) != 3 {
		t.Fatalf("%d sizes", len(sizes))
	}
	first := 0
	for i, l := range [...]**linear.Linear{&m.Q, &m.K, &m.V} {
		var columns []float32
		for _, row := range w {
			columns = append(columns, row[first:first+sizes[i]]...)
		}
		var err error
		*l, err = linear.New(linear.DenseMatrix(columns, len(w), sizes[i]).T(), bias[first:first+sizes[i]])
		must(t, err)
		first += sizes[i]
	}
	opts := kernel.Options{Exec: kernel.Exec{Tier: tier}}
	n := x.Shape()[2]
	if causal {
		opts.Mask = LookAhead()
	}
	if added != nil {
		opts.Bias = kernel.BHLD(added, 1, m.Heads, n, n)
	}
	y := newTensor(1, 1, n, sizes[2])
	must(t, m.Attend(y, x, x, x, opts))
	return map[string]kernel.Tensor{"y": y}
}

// identityHeads is the one of Keras' examples in which every head projects by the
// identity, and number o of the result is the sum of all numbers of head o.
func identityHeads(t *testing.T, r *reference, tier string) map[string]kernel.Tensor {
	var heads, size int
	r.field(t, "heads", &heads)
	r.field(t, "head_dim", &size)
	w, sums := make([]float32, heads*size*size), make([]float32, heads*heads*size)
	for i := range heads * size {
		w[i*size+i%size] = 1
		sums[i/size*heads*size+i] = 1
	}
	in, err := linear.New(linear.DenseMatrix(w, heads*size, size), nil)
	must(t, err)
	out, err := linear.New(linear.DenseMatrix(sums, heads, heads*size), nil)
	must(t, err)
	m := &MultiHead{Heads: heads, Q: in, K: in, V: in, O: out}
	query, key, value := r.input(t, "query"), r.input(t, "key"), r.input(t, "value")
	n := query.Shape()[2]
	y, weights := newTensor(1, 1, n, heads), newTensor(1, heads, n, key.Shape()[2])
	must(t, m.Attend(y, query, key, value, kernel.Options{Exec: kernel.Exec{Tier: tier}, Weights: weights}))
	return map[string]kernel.Tensor{"y": y, "weights_each_head": weights}
}
