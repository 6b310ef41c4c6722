// Package activations has the activation functions of encoders and of the modules that follow a
// pooling, by the names that files have for them.
package activations

import (
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A Function is an activation of package linear, or a function that follows the layer. The zero
// value is the identity.
type Function struct {
	Fused linear.Activation
	After func(x []float32, exec kernel.Exec) error // nil for none
}

var (
	// ReLU is max(x, 0).
	ReLU = Function{After: func(x []float32, _ kernel.Exec) error {
		for i, y := range x {
			if y < 0 {
				x[i] = 0
			}
		}
		return nil
	}}
	// ReLU2 is max(x, 0)².
	ReLU2 = Function{After: func(x []float32, _ kernel.Exec) error {
		for i, y := range x {
			if y < 0 {
				y = 0
			}
			x[i] = float32(y * y)
		}
		return nil
	}}
	SiLU     = Function{Fused: linear.SiLU}
	GELUTanh = Function{Fused: linear.GELUTanh}
	GELU     = Function{Fused: linear.GELU}
	// Tanh is the hyperbolic tangent.
	Tanh = Function{After: func(x []float32, exec kernel.Exec) error { return numeric.TanhSlice(x, x, exec) }}
)

// hidden are the functions of hidden_act by the names of the transformers library.
var hidden = map[string]Function{
	"gelu":              GELU,
	"gelu_new":          GELUTanh,
	"gelu_fast":         GELUTanh,
	"gelu_python":       GELU, // the same formula, written in Python
	"gelu_tanh":         GELUTanh,
	"gelu_pytorch_tanh": GELUTanh,
	"silu":              SiLU,
	"swish":             SiLU,
	"relu":              ReLU,
	"relu2":             ReLU2,
}

// Hidden returns the function of hidden_act in a config.json, and whether the name is
// known.
func Hidden(name string) (Function, bool) {
	f, ok := hidden[name]
	return f, ok
}

// HiddenNames lists the names that [Hidden] knows.
func HiddenNames() string { return strings.Join(slices.Sorted(maps.Keys(hidden)), ", ") }

// modules are the functions of Dense modules, by their classes in PyTorch.
var modules = map[string]Function{"": {}, "Tanh": Tanh, "ReLU": ReLU, "GELU": GELU, "SiLU": SiLU}

// Module returns the function of a class of PyTorch, "" for none, and whether the name is
// known.
func Module(class string) (Function, bool) {
	f, ok := modules[class]
	return f, ok
}

// alone are the functions that linear has, for numbers that no layer has computed.
var alone = map[linear.Activation]func(dst, src []float32, exec kernel.Exec) error{
	linear.GELU: activation.GELU, linear.GELUTanh: activation.GELUTanh, linear.SiLU: activation.SiLU,
}

// Alone computes the function of x in place.
func (f Function) Alone(x []float32, exec kernel.Exec) error {
	if f.After != nil {
		return f.After(x, exec)
	}
	if g, ok := alone[f.Fused]; ok {
		return g(x, x, exec)
	}
	return nil
}

// gated are the products that package activation has in one function.
var gated = map[linear.Activation]func(dst, gate, up []float32, exec kernel.Exec) error{
	linear.GELU: activation.GeGLU, linear.GELUTanh: activation.GeGLUTanh, linear.SiLU: activation.SwiGLU,
}

// Gated returns the function of a gate times another slice. dst may be the gate.
func (f Function) Gated() func(dst, gate, up []float32, exec kernel.Exec) error {
	if g, ok := gated[f.Fused]; ok {
		return g
	}
	return func(dst, gate, up []float32, exec kernel.Exec) error {
		copy(dst, gate)
		err := f.Alone(dst, exec)
		for i, y := range up {
			dst[i] *= y
		}
		return err
	}
}
