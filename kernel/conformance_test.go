package kernel_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A workedExample comes from the tests of another library: see
// testdata/refs/README.md.
type workedExample struct {
	Name, Kind            string
	Source, License, Note string
	Inputs, Expected      json.RawMessage
	Tol                   float64
	Recomputed            map[string]float64 `json:"recomputed_max_abs_err"` // by output
}

type exampleInputs struct {
	Q, K, V [][]float32
	Scale   float32
}

type exampleOutputs struct{ Y, Weights [][]float64 }

// strict decodes JSON. A field that is not known is an error, so that no part of an
// example is passed over.
func strict(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// exampleKinds says of the kinds that are attention and nothing else what options
// they mean.
var exampleKinds = map[string]func(in *exampleInputs) kernel.Options{
	"SDPA forward": func(in *exampleInputs) kernel.Options {
		return kernel.Options{Scoring: kernel.Scoring{Scale: in.Scale}}
	},
	"additive score sum(tanh(q+k)) i.e. Wq=Wk=I, v=1": func(in *exampleInputs) kernel.Options {
		return kernel.Options{Scoring: kernel.Scoring{Score: in.additive}}
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
	strict(t, data, &examples)
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
			strict(t, x.Inputs, &in)
			var want exampleOutputs
			strict(t, x.Expected, &want)
			if want.Y == nil || x.Tol == 0 {
				t.Fatal("nothing to compare")
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o := options(&in)
				o.Tier = tier
				x.run(t, &in, &want, o)
			})
		})
	}
}

func (x *workedExample) run(t *testing.T, in *exampleInputs, want *exampleOutputs, o kernel.Options) {
	out, weights := matrix(want.Y), matrix(want.Y)
	if want.Weights != nil {
		weights = matrix(want.Weights)
		o.Weights = weights
	}
	if err := kernel.Attention(out, matrix(in.Q), matrix(in.K), matrix(in.V), &o); err != nil {
		t.Fatal(err)
	}
	x.compare(t, "y", &out, want.Y)
	x.compare(t, "weights", &weights, want.Weights)
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

var onnxFolder = flag.String("cases", "testdata/onnx", "folder with the cases of TestONNX, seen from here or from the root of the module")

// TestONNX runs the cases of the ONNX backend test suite for the operator
// Attention, and any others of their form, on every tier:
//
//	go test ./kernel -run TestONNX -v -args -cases DIR
//
// testdata/onnx/README.md says what the form is.
func TestONNX(t *testing.T) {
	files, err := onnxFiles(*onnxFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			c, err := readONNX(file)
			if err != nil {
				t.Fatal(err)
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				if err := c.run(tier); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// onnxFiles lists the descriptions of the cases in a folder.
func onnxFiles(folder string) ([]string, error) {
	if _, err := os.Stat(folder); err != nil && !filepath.IsAbs(folder) {
		folder = filepath.Join("..", folder)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no case *.json in %s", folder)
	}
	return files, err
}

// run runs the case on a tier and compares every output that it has.
func (c *onnxCase) run(tier kernel.Tier) error {
	got, err := c.attention(tier)
	if err != nil {
		return err
	}
	for slot := range c.outputs {
		if want := c.outputs[slot]; want != nil {
			if err := want.compare(got[slot]); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare allows float32 outputs a hundredth of ONNX's own tolerance, and float16 outputs one unit
// in the last place: the expected ones were rounded more than once.
func (want *onnxTensor) compare(got []float32) error {
	if len(got) != len(want.floats) {
		return fmt.Errorf("%s: got %d elements, want %v", want.Name, len(got), want.Shape)
	}
	const rtol, atol = 1e-5, 1e-6
	for i, x := range want.floats {
		ok := math.Abs(float64(got[i])-float64(x)) <= atol+rtol*math.Abs(float64(x))
		switch nan := x != x; {
		case nan || math.IsInf(float64(x), 0):
			ok = got[i] == x || nan && got[i] != got[i]
		case want.DType == "float16":
			apart := f16Order(got[i]) - f16Order(x)
			ok = got[i] == got[i] && max(apart, -apart) <= 1
		}
		if !ok {
			return fmt.Errorf("%s: element %d of %v is %v, want %v", want.Name, i, want.Shape, got[i], x)
		}
	}
	return nil
}

// f16Order rounds to float16 and returns the number of the result: neighbours
// have neighbouring numbers.
func f16Order(x float32) int {
	h := int(numeric.ToF16(x))
	if h >= 1<<15 {
		return 1<<15 - h
	}
	return h
}

// TestONNXRefuses: what the reader and the adapter do not know fails, and so does
// a wrong element of any output.
func TestONNXRefuses(t *testing.T) {
	const name = "testdata/onnx/test_attention_3d_with_past_and_present_qk_matmul_bias"
	description, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	run := func(description string, data []byte) error {
		c, err := parseONNX([]byte(description), data)
		if err != nil {
			return err
		}
		return c.run(contracttest.Generic())
	}
	if err := run(string(description), data); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"float32"`, `"bfloat16"`},
		{`"float32"`, `"float64"`},
		{`"opset": 2`, `"opset": 1`},
		{`"op": "Attention"`, `"op": "FlexAttention"`},
		{`"attrs": {`, `"attrs": {"sinks": 1,`},
		{`"attrs": {`, `"attrs": {"softmax_precision": 2,`},
		{`"qk_matmul_output_mode": 2`, `"qk_matmul_output_mode": 4`},
		{`"slot": 5`, `"slot": 7`},
		{`"slot": 5`, `"slot": 4`},
		{`"slot": 0`, `"slot": 3`},
		{`"nbytes": `, `"nbytes": 1`},
		{`"inputs": [`, `"extra": [], "inputs": [`},
	} {
		changed := strings.Replace(string(description), change[0], change[1], 1)
		if changed == string(description) {
			t.Errorf("nothing to change in %s", change[0])
		} else if err := run(changed, data); err == nil {
			t.Errorf("%s instead of %s went unnoticed", change[1], change[0])
		}
	}
	c, err := parseONNX(description, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range c.outputs {
		for _, wrong := range []float32{1e-4, testutil.NaN, testutil.Inf} {
			x := &want.floats[len(want.floats)/2]
			right := *x
			*x += wrong
			if c.run(contracttest.Generic()) == nil {
				t.Errorf("%s: an element %v off went unnoticed", want.Name, wrong)
			}
			*x = right
		}
	}
	if _, err := onnxFiles(t.TempDir()); err == nil {
		t.Error("an empty folder went unnoticed")
	}
}

// The operator's inputs and outputs, by the numbers of their slots.
const (
	onnxQ, onnxK, onnxV, onnxMask, onnxPastKey, onnxPastValue, onnxLengths, onnxInputs = 0, 1, 2, 3, 4, 5, 6, 7

	onnxY, onnxPresentKey, onnxPresentValue, onnxScores, onnxOutputs = 0, 1, 2, 3, 4
)

// An onnxCase is one call of the operator Attention and what it gives.
type onnxCase struct {
	attrs   map[string]float64
	inputs  [onnxInputs]*onnxTensor // nil where the call has none
	outputs [onnxOutputs]*onnxTensor
}

// An onnxTensor is an input or an output.
type onnxTensor struct {
	Name, DType    string
	Shape          []int
	Slot           int
	Offset, NBytes int // in the file of data

	// Only the slice of its type holds elements; float16 is widened.
	floats []float32
	ints   []int
	bools  []bool
}

// onnxAttrs are the attributes that the adapter knows.
var onnxAttrs = []string{"is_causal", "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode",
	"right_window_size", "scale", "softcap", "softmax_precision"}

// readONNX reads a description and the data beside it.
func readONNX(file string) (*onnxCase, error) {
	description, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".bin")
	if err != nil {
		return nil, err
	}
	return parseONNX(description, data)
}

// parseONNX takes a case apart. Whatever it does not know is an error, so that
// no part of a case is passed over.
func parseONNX(description, data []byte) (*onnxCase, error) {
	var raw struct {
		Case, Op, Domain string
		Opset            int
		Attrs            map[string]float64
		Inputs, Outputs  []*onnxTensor // null where there is none
	}
	decoder := json.NewDecoder(bytes.NewReader(description))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return nil, err
	}
	if raw.Op != "Attention" || raw.Domain != "" || raw.Opset < 23 || raw.Opset > 25 {
		return nil, fmt.Errorf("operator %q of domain %q and opset %d, want ONNX's Attention of 23 to 25", raw.Op, raw.Domain, raw.Opset)
	}
	for name := range raw.Attrs {
		if !slices.Contains(onnxAttrs, name) {
			return nil, fmt.Errorf("unknown attribute %q", name)
		}
	}
	c := &onnxCase{attrs: raw.Attrs}
	if err := intoSlots(c.inputs[:], raw.Inputs, data); err != nil {
		return nil, fmt.Errorf("input %w", err)
	}
	if err := intoSlots(c.outputs[:], raw.Outputs, data); err != nil {
		return nil, fmt.Errorf("output %w", err)
	}
	for slot, x := range c.inputs[:onnxMask] {
		if x == nil {
			return nil, fmt.Errorf("no input in slot %d", slot)
		}
	}
	return c, nil
}

// intoSlots loads tensors and puts them where their slots say.
func intoSlots(slots []*onnxTensor, list []*onnxTensor, data []byte) error {
	for _, x := range list {
		if x == nil {
			continue
		}
		if x.Slot < 0 || x.Slot >= len(slots) || slots[x.Slot] != nil {
			return fmt.Errorf("%s: slot %d is unknown or taken", x.Name, x.Slot)
		}
		if err := x.load(data); err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		slots[x.Slot] = x
	}
	return nil
}

// load reads the elements.
func (x *onnxTensor) load(data []byte) error {
	n := 1
	for _, d := range x.Shape {
		n = ints.MulSat(n, d)
	}
	size := map[string]int{"float32": 4, "float16": 2, "int64": 8, "bool": 1}[x.DType]
	if size == 0 {
		return fmt.Errorf("elements of %s, want float32 or float16 (or int64 lengths, bool masks)", x.DType)
	}
	if x.NBytes != ints.MulSat(n, size) || x.Offset < 0 || x.Offset > len(data) || x.NBytes > len(data)-x.Offset {
		return fmt.Errorf("%d bytes from %d on, of %d, for %v elements of %s", x.NBytes, x.Offset, len(data), x.Shape, x.DType)
	}
	data = data[x.Offset:]
	for i := range n {
		switch x.DType {
		case "float32":
			x.floats = append(x.floats, math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		case "float16":
			x.floats = append(x.floats, kernel.F16(binary.LittleEndian.Uint16(data[2*i:])).Float32())
		case "int64":
			x.ints = append(x.ints, int(int64(binary.LittleEndian.Uint64(data[8*i:]))))
		case "bool":
			x.bools = append(x.bools, data[i] != 0)
		}
	}
	return nil
}

// dtype returns the element type of an input of floats.
func (x *onnxTensor) dtype() kernel.DType {
	if x.DType == "float16" {
		return kernel.Float16
	}
	return kernel.Float32
}
