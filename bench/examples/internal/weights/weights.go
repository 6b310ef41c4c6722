// Package weights reads the weights of the example models from safetensors files.
package weights

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
)

// A Loader reads tensors of type f32 or f16 whose shapes are known. After the first error
// its methods return nil; Err returns the error.
type Loader struct {
	file *safetensors.File
	err  error
}

// NewLoader returns a loader for a file.
func NewLoader(file *safetensors.File) *Loader { return &Loader{file: file} }

// Err returns the first error of any method.
func (l *Loader) Err() error { return l.err }

// check returns the type of a tensor. ok is false if the tensor has another shape than
// this, or after an error.
func (l *Loader) check(name string, shape []int) (dtype string, ok bool) {
	if l.err != nil {
		return "", false
	}
	info, ok := l.file.Info(name)
	switch {
	case !ok:
		l.err = fmt.Errorf("there is no tensor %q", name)
	case !slices.Equal(info.Shape, shape) || info.DType != "F16" && info.DType != "F32":
		l.err = fmt.Errorf("tensor %q has shape %d and type %q, want shape %d and type F16 or F32", name, info.Shape, info.DType, shape)
	}
	return info.DType, l.err == nil
}

// Floats returns the elements of a tensor as float32.
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

// halves returns the elements of a tensor of type f16.
func (l *Loader) halves(name string) []kernel.F16 {
	bits, err := l.file.Uint16(name)
	l.err = err
	x := make([]kernel.F16, len(bits))
	for i, b := range bits {
		x[i] = kernel.F16(b)
	}
	return x
}

// Linear returns the linear layer with the given weight and bias tensors. The weights,
// [outputs, inputs], keep their type. If bias is "", there is no bias.
func (l *Loader) Linear(weight, bias string, outputs, inputs int) *linear.Linear {
	dtype, _ := l.check(weight, []int{outputs, inputs})
	var b []float32
	if bias != "" {
		b = l.Floats(bias, outputs)
	}
	if l.err != nil {
		return nil
	}
	var w linear.Matrix
	if dtype == "F16" {
		w = linear.DenseMatrix(l.halves(weight), outputs, inputs)
	} else {
		w = linear.DenseMatrix(l.Floats(weight, outputs, inputs), outputs, inputs)
	}
	if l.err != nil {
		return nil
	}
	layer, err := linear.New(w, b, kernel.Exec{})
	l.err = err
	return layer
}
