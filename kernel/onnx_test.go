//go:build moving

package kernel_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/numeric"
)

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
			contracttest.EachTier(t, func(t *testing.T, tier string) {
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
func (c *onnxCase) run(tier string) error {
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

// compare allows float32 outputs a hundredth of what ONNX itself allows, and
// those of float16 one unit in the last place: the expected ones were rounded
// more than once.
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
		return c.run("generic")
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
			if c.run("generic") == nil {
				t.Errorf("%s: an element %v off went unnoticed", want.Name, wrong)
			}
			*x = right
		}
	}
	if _, err := onnxFiles(t.TempDir()); err == nil {
		t.Error("an empty folder went unnoticed")
	}
}
