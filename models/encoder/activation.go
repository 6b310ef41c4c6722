package encoder

import (
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

var (
	relu = activation{after: func(x []float32) error {
		for i, y := range x {
			if y < 0 {
				x[i] = 0
			}
		}
		return nil
	}}
	tanh = activation{after: func(x []float32) error { return numeric.TanhSlice(x, x) }}
)

// activations are the functions of hidden_act by the names of the transformers library.
var activations = map[string]activation{
	"gelu":              {fused: linear.GELU},
	"gelu_new":          {fused: linear.GELUTanh},
	"gelu_fast":         {fused: linear.GELUTanh},
	"gelu_tanh":         {fused: linear.GELUTanh},
	"gelu_pytorch_tanh": {fused: linear.GELUTanh},
	"silu":              {fused: linear.SiLU},
	"swish":             {fused: linear.SiLU},
	"relu":              relu,
}

// ofModules are the activations of Dense modules, by their classes in PyTorch.
var ofModules = map[string]activation{"": {}, "Tanh": tanh, "ReLU": relu, "GELU": {fused: linear.GELU}, "SiLU": {fused: linear.SiLU}}
