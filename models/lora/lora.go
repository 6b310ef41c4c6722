// Package lora names adapters, which are merged into the weights of a model when it is loaded:
// small changes of its matrices that somebody has trained (LoRA, Hu et al. 2021).
//
// An adapter of a folder is a folder as the peft library saves it, with adapter_config.json and
// adapter_model.safetensors or adapter_model.bin. An adapter of a GGUF file is a GGUF file, as
// convert_lora_to_gguf.py of llama.cpp writes it. Every key and tensor of an adapter is used, or
// changes nothing, or is an error that names it. So are weights in blocks: whoever merges into them
// would have to round them again.
//
// A matrix W [outputs, inputs] becomes W' = float32(W + float32(s·P)), where P is the product of
// the adapter's matrices B [outputs, rank] and A [rank, inputs] in float32, with the sums of
// [github.com/attn-go/attn/linear.Product], and s is float32(scale·alpha/rank), or with use_rslora
// float32(scale·alpha/√rank), computed in float64. A GGUF file with alpha 0 has s = float32(scale),
// as llama.cpp has it. W' is float32, also if
// the file has W in 16 bits, and is what is rounded or packed. Of several adapters each one changes
// what those before it have left. So the bits are the same on every CPU.
package lora

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// An Adapter is one that is merged into a model.
type Adapter struct {
	Path  string  // a folder or a GGUF file
	Scale float64 // multiplies what it adds; 0 means 1
}

// Parse returns the adapter that a flag names: PATH, or PATH=SCALE, whose scale is what follows the
// last =. The error is a [*kernel.Error].
func Parse(text string) (Adapter, error) {
	a := Adapter{Path: text}
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		if x, err := strconv.ParseFloat(text[i+1:], 64); err == nil {
			if a = (Adapter{text[:i], x}); x == 0 {
				return a, &kernel.Error{Where: "lora.Parse: scale", Got: "0", Want: "another number; without the adapter nothing is added"}
			}
		}
	}
	return a, a.Check("lora.Parse: text")
}

// Check returns a [*kernel.Error] about an argument of that name if the adapter has no path, or a
// scale that is none.
func (a Adapter) Check(where string) error {
	switch {
	case a.Path == "":
		return &kernel.Error{Where: where, Got: "an adapter without a path", Want: "a folder or a GGUF file"}
	case math.IsNaN(a.Scale) || math.Abs(a.Scale) > 1<<20:
		return &kernel.Error{Where: where, Got: fmt.Sprintf("the scale %v", a.Scale), Want: "-2^20 to 2^20"}
	}
	return nil
}

// Factor returns the scale, with its default.
func (a Adapter) Factor() float64 {
	if a.Scale == 0 {
		return 1
	}
	return a.Scale
}
