package layer

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

var refs = flag.String("refs", "../kernel/testdata/refs/small_refs.json", "file of worked examples for TestRefs")

// A reference is a worked example from the tests of another library. See
// ../kernel/testdata/refs/README.md.
type reference struct {
	Name     string
	Kind     string                     // a key of referenceKinds
	Inputs   json.RawMessage            // an object whose fields the kind knows
	Expected map[string]json.RawMessage // matrices by name
	Tol      float64

	// For people: the test does not use them.
	Source, License, Note string
	RecomputedMaxAbsErr   map[string]float64 `json:"recomputed_max_abs_err"`
}

// A referenceKind computes the results of the examples of a kind, by name.
type referenceKind func(t *testing.T, r *reference, tier kernel.Tier) map[string]kernel.Tensor

var referenceKinds = map[string]referenceKind{
	"qkv-projection (columns Q|K|V, per-head contiguous) + bias + SDPA, no output projection":                              packedProjection,
	"additive score sum(tanh(q+k)) i.e. Wq=Wk=I, v=1":                                                                      additiveSum,
	"MHA in/out projection, 8 heads, identity kernels[d,h,e]=delta(d,e); out kernel [h,e,o]=delta(h,o); float16 in source": identityHeads,
	"SDPA forward": scaledDot,
}

func readReferences(t *testing.T) (list []reference) {
	data, err := os.ReadFile(*refs)
	must(t, err)
	must(t, unmarshalKnown(data, &list))
	if len(list) == 0 {
		t.Fatalf("no examples in %s", *refs)
	}
	return list
}

// unmarshalKnown is json.Unmarshal, but a field that x does not have is an error: to
// ignore it would be to test something else.
func unmarshalKnown(data []byte, x any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(x)
}

// TestRefs compares all examples of the file on every tier with the results that they
// expect, to their own tolerances. An unknown kind, input or result is a failure.
func TestRefs(t *testing.T) {
	for _, r := range readReferences(t) {
		t.Run(r.Name, func(t *testing.T) {
			kind := referenceKinds[r.Kind]
			if kind == nil {
				t.Fatalf("unknown kind %q", r.Kind)
			}
			eachTier(t, func(t *testing.T, tier kernel.Tier) { r.compare(t, kind(t, &r, tier)) })
		})
	}
}

// The input mask_len limits the keys. Of two tokens with mask_len 1, both see the first
// one alone, so that the result of both is its value: x[0]·Wv + bv.
func TestRefsMaskLen(t *testing.T) {
	list := readReferences(t)
	i := slices.IndexFunc(list, func(r reference) bool { return r.Name == "ort_AttentionBatch1" })
	if i < 0 {
		t.Skip("the file has no example ort_AttentionBatch1")
	}
	r := list[i]
	var in packedInputs
	must(t, unmarshalKnown(r.Inputs, &in))
	first := in.QKVSizes[0] + in.QKVSizes[1]
	value := make([]float64, in.QKVSizes[2])
	for e := range value {
		value[e] = float64(in.B[first+e])
		for j, x := range in.X[0] {
			value[e] += float64(x) * float64(in.W[j][first+e])
		}
	}
	for _, length := range []string{"1", "[1]"} {
		r.Inputs = bytes.Replace(list[i].Inputs, []byte("{"), []byte(`{"mask_len": `+length+","), 1)
		got := packedProjection(t, &r, kernel.Tier{})["y"]
		near(t, "y", all(&got), r.Tol, slices.Concat(value, value)...)
	}
}

// A field that a kind does not know is an error.
func TestRefsUnknownField(t *testing.T) {
	for _, x := range []any{new(packedInputs), new(scaledInputs), new(tensorInputs), new(headInputs), new(reference)} {
		if err := unmarshalKnown([]byte(`{"past": 1}`), x); err == nil {
			t.Errorf("%T: an unknown field is no error", x)
		}
	}
}

// compare compares every expected matrix with the tensor of that name, head by head.
func (r *reference) compare(t *testing.T, got map[string]kernel.Tensor) {
	for name, data := range r.Expected {
		out, ok := got[name]
		if !ok {
			t.Fatalf("the example expects %s, which the test does not compute", name)
		}
		var want matrix
		must(t, json.Unmarshal(data, &want))
		if s := out.Shape(); len(want) != s[2] || len(want[0]) != s[3] {
			t.Fatalf("%s is [%d, %d], want [%d, %d]", name, s[2], s[3], len(want), len(want[0]))
		}
		eachRow(out.Shape(), func(b, h, l int) {
			for e, x := range row(&out, b, h, l) {
				if w := float64(want[l][e]); !(math.Abs(float64(x)-w) <= r.Tol) {
					t.Errorf("%s: element %d of row %d of head %d is %v, want %v", name, e, l, h, x, w)
				}
			}
		})
	}
}

// A matrix is a list of rows, or a text that stands for some.
type matrix [][]float32

// UnmarshalJSON implements [json.Unmarshaler].
func (m *matrix) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"eye(8)"`:
		*m = square(8, func(i, j int) float32 { return float32(1 - min(1, max(i-j, j-i))) })
		return nil
	case `"arange(64).reshape(8,8)/100"`:
		*m = square(8, func(i, j int) float32 { return float32(8*i+j) / 100 })
		return nil
	}
	if err := json.Unmarshal(data, (*[][]float32)(m)); err != nil {
		return err
	}
	for _, row := range *m {
		if len(row) == 0 || len(row) != len((*m)[0]) {
			return fmt.Errorf("a row of %d numbers beside one of %d", len(row), len((*m)[0]))
		}
	}
	if len(*m) == 0 {
		return errors.New("a matrix without rows")
	}
	return nil
}

func square(n int, f func(i, j int) float32) matrix {
	m := make(matrix, n)
	for i := range m {
		m[i] = make([]float32, n)
		for j := range m[i] {
			m[i][j] = f(i, j)
		}
	}
	return m
}

// keyLengths is a number of valid keys, or a list of one for each batch row.
type keyLengths []int

// UnmarshalJSON implements [json.Unmarshaler].
func (l *keyLengths) UnmarshalJSON(data []byte) error {
	var n int
	if json.Unmarshal(data, &n) == nil {
		*l = []int{n}
		return nil
	}
	return json.Unmarshal(data, (*[]int)(l))
}

// tensorInputs are the inputs of attention without parameters.
type tensorInputs struct{ Q, K, V matrix }

// scaledInputs are the inputs of scaled dot product attention.
type scaledInputs struct {
	tensorInputs
	Scale float32
}

func scaledDot(t *testing.T, r *reference, tier kernel.Tier) map[string]kernel.Tensor {
	var in scaledInputs
	must(t, unmarshalKnown(r.Inputs, &in))
	return attend(t, ScaledDot{}, &in.tensorInputs, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Scale: in.Scale}})
}

func additiveSum(t *testing.T, r *reference, tier kernel.Tier) map[string]kernel.Tensor {
	var in tensorInputs
	must(t, unmarshalKnown(r.Inputs, &in))
	ones := testutil.Filled(len(in.Q[0]), 1)
	return attend(t, Additive{V: ones}, &in, kernel.Options{Exec: kernel.Exec{Tier: tier}})
}

func attend(t *testing.T, s Similarity, in *tensorInputs, opts kernel.Options) map[string]kernel.Tensor {
	y, weights := newTensor(1, 1, len(in.Q), len(in.V[0])), newTensor(1, 1, len(in.Q), len(in.K))
	opts.Weights = weights
	must(t, s.Attend(y, rowTensor(in.Q...), rowTensor(in.K...), rowTensor(in.V...), &opts))
	return map[string]kernel.Tensor{"y": y, "weights": weights}
}

// packedInputs are the inputs of ONNX Runtime's operator Attention. The weights w are [inputs,
// outputs], with the columns of queries, keys and values side by side.
type packedInputs struct {
	X, W     matrix
	B        []float32
	Heads    int
	QKVSizes []int      `json:"qkv_sizes"`
	Bias     []float32  // added to the scores, [heads, tokens, tokens], or none
	Causal   bool       // hides the keys after a query
	MaskLen  keyLengths `json:"mask_len"` // or none
}

func packedProjection(t *testing.T, r *reference, tier kernel.Tier) map[string]kernel.Tensor {
	var in packedInputs
	must(t, unmarshalKnown(r.Inputs, &in))
	if len(in.QKVSizes) != 3 {
		t.Fatalf("%d sizes of queries, keys and values, want 3", len(in.QKVSizes))
	}
	m := &MultiHead{Heads: in.Heads}
	first := 0
	for i, l := range [...]**linear.Linear{&m.Q, &m.K, &m.V} {
		n := in.QKVSizes[i]
		var columns []float32
		for _, row := range in.W {
			columns = append(columns, row[first:first+n]...)
		}
		var err error
		*l, err = linear.New(linear.DenseMatrix(columns, len(in.W), n).T(), in.B[first:first+n], kernel.Exec{})
		must(t, err)
		first += n
	}
	opts := kernel.Options{Exec: kernel.Exec{Tier: tier}}
	n := len(in.X)
	if in.Causal {
		opts.Mask = kernel.Causal(0)
	}
	if in.MaskLen != nil {
		opts.Mask = opts.Mask.And(kernel.KeyLengths(in.MaskLen))
	}
	if in.Bias != nil {
		opts.Bias = kernel.BHLD(in.Bias, 1, m.Heads, n, n)
	}
	x, y := rowTensor(in.X...), newTensor(1, 1, n, in.QKVSizes[2])
	must(t, m.Attend(y, x, x, x, &opts))
	return map[string]kernel.Tensor{"y": y}
}

// headInputs are the inputs of Keras' example in which every head projects by the identity, and
// number o of the result is the sum of all numbers of head o.
type headInputs struct {
	Query, Key, Value matrix
	Heads             int
	HeadDim           int `json:"head_dim"`
}

func identityHeads(t *testing.T, r *reference, tier kernel.Tier) map[string]kernel.Tensor {
	var inputs headInputs
	must(t, unmarshalKnown(r.Inputs, &inputs))
	heads, size := inputs.Heads, inputs.HeadDim
	w, sums := make([]float32, heads*size*size), make([]float32, heads*heads*size)
	for i := range heads * size {
		w[i*size+i%size] = 1
		sums[i/size*heads*size+i] = 1
	}
	in, err := linear.New(linear.DenseMatrix(w, heads*size, size), nil, kernel.Exec{})
	must(t, err)
	out, err := linear.New(linear.DenseMatrix(sums, heads, heads*size), nil, kernel.Exec{})
	must(t, err)
	m := &MultiHead{Heads: heads, Q: in, K: in, V: in, O: out}
	n := len(inputs.Query)
	y, weights := newTensor(1, 1, n, heads), newTensor(1, heads, n, len(inputs.Key))
	must(t, m.Attend(y, rowTensor(inputs.Query...), rowTensor(inputs.Key...), rowTensor(inputs.Value...), &kernel.Options{Exec: kernel.Exec{Tier: tier}, Outputs: kernel.Outputs{Weights: weights}}))
	return map[string]kernel.Tensor{"y": y, "weights_each_head": weights}
}
