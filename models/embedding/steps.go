package embedding

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
)

// A Step follows the pooling: a linear layer, or the division by the L2 norm.
type Step struct {
	linear     *linear.Linear // nil for the division
	width      int            // of its output
	int8       bool
	activation activations.Function
}

// normalises tells whether the last step divides by the L2 norm.
func (e *Embedder) normalises() bool {
	n := len(e.p.Steps)
	return n > 0 && e.p.Steps[n-1].linear == nil
}

// ReadSteps reads the modules of a folder that follow the pooling of states of a width. The error is
// a [*folder.Error], or one of package folder.
func ReadSteps(dir string, m *folder.Modules, width int, o LoadOptions) (steps []Step, err error) {
	normalised := false
	for _, x := range m.After {
		s := Step{}
		if normalised = x.Dense == nil; !normalised {
			if s, err = readDense(dir, x.Dense, width, o); err != nil {
				return nil, err
			}
			width = s.width
		}
		steps = append(steps, s)
	}
	if !normalised && (o.Unit || !m.Listed) {
		steps = append(steps, Step{})
	}
	return steps, nil
}

func readDense(dir string, d *folder.Dense, width int, o LoadOptions) (Step, error) {
	act, ok := activations.Module(d.Activation)
	if !ok || d.In != width {
		return Step{}, &folder.Error{Path: dir, Name: d.Folder, Got: fmt.Sprintf("%d inputs and the activation %q", d.In, d.Activation), Want: fmt.Sprintf("%d inputs, and Identity, Tanh, ReLU, GELU or SiLU", width)}
	}
	f, err := folder.Open(filepath.Join(dir, filepath.FromSlash(d.Folder)))
	if err != nil {
		return Step{}, err
	}
	defer f.Close()
	w, err := f.Float32("linear.weight", d.Out, d.In)
	if err != nil {
		return Step{}, err
	}
	var bias []float32
	if d.Bias {
		if bias, err = f.Float32("linear.bias", d.Out); err != nil {
			return Step{}, err
		}
	}
	pack := linear.New
	if o.Int8 {
		pack = linear.NewInt8
	}
	l, err := pack(linear.DenseMatrix(w, d.Out, d.In), bias, kernel.Exec{})
	if err != nil {
		err = fmt.Errorf("%s: linear: %w", f.Dir(), err)
	}
	return Step{l, d.Out, o.Int8, act}, errors.Join(err, f.Unused())
}

// Dense returns the step of a linear layer with weights w, [n, k], whose outputs are n numbers. The
// error is that of [linear.New].
func Dense(w []float32, n, k int) (Step, error) {
	l, err := linear.New(linear.DenseMatrix(w, n, k), nil, kernel.Exec{})
	return Step{linear: l, width: n}, err
}

// finish writes the embedding of a text with some states: the pooling and what follows it. v has
// room for a state.
func (e *Embedder) finish(out, states []float32, v []float64) error {
	if len(states) == 0 {
		clear(v)
	} else {
		pool(v, states, e.p.Modules.Pooling)
	}
	for _, s := range e.p.Steps {
		if s.linear == nil {
			normalise(v)
			continue
		}
		var err error
		if v, err = s.dense(v, e.opts.Exec); err != nil {
			return err
		}
	}
	if len(out) < len(v) {
		if v = v[:len(out)]; e.normalises() {
			normalise(v)
		}
	}
	for i, y := range v {
		out[i] = float32(y)
	}
	return nil
}

// dense computes a layer of one row, whose numbers are rounded to float32.
func (s *Step) dense(v []float64, exec kernel.Exec) ([]float64, error) {
	x, y := make([]float32, len(v)), make([]float32, s.width)
	for i := range v {
		x[i] = float32(v[i])
	}
	opts := linear.Options{Exec: exec, Int8: s.int8, Activation: s.activation.Fused}
	if err := s.linear.Apply(linear.DenseMatrix(y, 1, s.width), linear.DenseMatrix(x, 1, len(x)), opts); err != nil {
		return nil, err
	}
	if s.activation.After != nil {
		if err := s.activation.After(y, exec); err != nil {
			return nil, err
		}
	}
	v = make([]float64, len(y))
	widen(v, y)
	return v, nil
}
