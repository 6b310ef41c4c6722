//go:build moving

package kernel_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/kernel"
)

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

	// One of them holds the elements; those of float16 are widened.
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
