// Package weights reads the weights of models from safetensors files.
package weights

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/safetensors"
	"github.com/attn-go/attn/kernel"
)

// A Loader reads tensors of f32 or f16, of shapes that the model knows. It keeps the
// first error, for Err; after it everything is nil.
type Loader struct {
	file *safetensors.File
	err  error
}

// NewLoader returns a loader that reads from file.
func NewLoader(file *safetensors.File) *Loader { return &Loader{file: file} }

// Err returns the first error.
func (l *Loader) Err() error { return l.err }

// check tells whether a tensor has this shape, and returns its type.
func (l *Loader) check(name string, shape []int) (dtype string, ok bool) {
	if l.err != nil {
		return "", false
	}
	info, _ := l.file.Info(name)
	if !slices.Equal(info.Shape, shape) || info.DType != "F16" && info.DType != "F32" {
		l.err = fmt.Errorf("tensor %q: shape %d of %q, want %d of F16 or F32", name, info.Shape, info.DType, shape)
	}
	return info.DType, l.err == nil
}

// Floats returns a tensor; one of f16 is widened.
func (l *Loader) Floats(name string, shape ...int) []float32 {
	dtype, ok := l.check(name, shape)
	if !ok {
		return nil
	}
	if dtype == "F16" {
		halves := l.halves(name)
		x := make([]float32, len(halves))
		for i, h := range halves {
			x[i] = h.Float32()
		}
		return x
	}
	x, err := l.file.Float32(name)
	l.err = err
	return x
}

// halves returns a tensor of f16.
func (l *Loader) halves(name string) []kernel.F16 {
	bits, err := l.file.Uint16(name)
	l.err = err
	x := make([]kernel.F16, len(bits))
	for i, b := range bits {
		x[i] = kernel.F16(b)
	}
	return x
}

// Linear packs weights, [outputs, inputs], in the type that they have, and a bias,
// which is none if its name is "".
func (l *Loader) Linear(weight, bias string, outputs, inputs int) *kernel.Linear {
	dtype, _ := l.check(weight, []int{outputs, inputs})
	var b []float32
	if bias != "" {
		b = l.Floats(bias, outputs)
	}
	if l.err != nil {
		return nil
	}
	var w kernel.Matrix
	if dtype == "F16" {
		w = kernel.Rows(l.halves(weight), outputs, inputs)
	} else {
		w = kernel.Rows(l.Floats(weight, outputs, inputs), outputs, inputs)
	}
	if l.err != nil {
		return nil
	}
	layer, err := kernel.NewLinear(w, b)
	l.err = err
	return layer
}
