package embedding

import (
	"fmt"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Step follows the pooling.
type Step struct {
	apply func(v []float64, exec kernel.Exec) ([]float64, error) // may change v
	dense *dense                                                 // that it applies, or nil
	width int                                                    // of its output, 0 for its input's
	unit  bool                                                   // its output has the L2 norm 1
}

// Width returns the number of its outputs, 0 for as many as it has inputs.
func (s Step) Width() int { return s.width }

// Unit is the division by the L2 norm.
var Unit = Step{unit: true, apply: func(v []float64, _ kernel.Exec) ([]float64, error) {
	normalise(v)
	return v, nil
}}

// normalises tells whether the last step divides by the L2 norm.
func (e *Embedder) normalises() bool {
	n := len(e.p.Steps)
	return n > 0 && e.p.Steps[n-1].unit
}

// ReadSteps reads the modules of a folder that follow the pooling of states of a width. The error
// is a [*kernel.Error].
func ReadSteps(dir string, m *Modules, width int, o LoadOptions) (steps []Step, err error) {
	if len(m.Poolings) == 0 && m.Late == nil && !m.Words {
		return nil, &kernel.Error{Where: filepath.Join(dir, "modules.json") + ": the modules", Got: "those of a cross-encoder", Want: "Transformer and Pooling at least"}
	}
	unit, vectors := false, m.Late == nil && !m.Words // vectors of tokens have the norm 1 anyway
	width *= max(1, len(m.Poolings))
	for _, x := range m.After {
		s := Unit
		switch {
		case x.Dense != nil:
			s, err = readDense(dir, x.Dense, width, o)
			width = x.Dense.Out
		case x.Norm != nil:
			s, err = readNorm(dir, x.Norm, width)
		}
		if err != nil {
			return nil, err
		}
		steps, unit = append(steps, s), s.unit
	}
	if vectors && !unit && (o.Unit || !m.Listed) {
		steps = append(steps, Unit)
	}
	return steps, nil
}

// weightsOf opens the weights of a module, which the caller closes.
func weightsOf(dir, module string) (*tensors.Reader, error) {
	s, err := tensors.Open(filepath.Join(dir, filepath.FromSlash(module)))
	return &tensors.Reader{Store: s}, err
}

func readDense(dir string, d *DenseModule, width int, o LoadOptions) (Step, error) {
	act, ok := activations.Module(d.Activation)
	if !ok || d.In != width {
		return Step{}, &kernel.Error{Where: dir + ": " + d.Folder, Got: fmt.Sprintf("%d inputs and the activation %q", d.In, d.Activation), Want: fmt.Sprintf("%d inputs, and Identity, Tanh, ReLU, GELU or SiLU", width)}
	}
	r, err := weightsOf(dir, d.Folder)
	if err != nil {
		return Step{}, err
	}
	defer r.Close()
	r.Pack = tensors.Pack{Widen: true, Precision: o.Precision}
	x := &dense{width: d.Out, int8: r.Pack.Int8(), activation: act, residual: d.Residual}
	bias := arch.Absent
	if d.Bias {
		bias = arch.Present
	}
	x.linear = r.Linear(tensors.Inner, tensors.Part{Name: "linear", Shape: []int{d.Out, d.In}, Bias: bias}).One()
	if d.Residual && d.In != d.Out {
		x.across = r.Linear(tensors.Inner, tensors.Part{Name: "residual", Shape: []int{d.Out, d.In}, Bias: arch.Absent}).One()
	}
	return Step{apply: x.apply, dense: x, width: d.Out}, r.Done()
}

// readNorm reads layer normalization. Its epsilon is PyTorch's.
func readNorm(dir string, n *NormModule, width int) (Step, error) {
	if n.Width != width {
		return Step{}, &kernel.Error{Where: dir + ": " + n.Folder, Got: fmt.Sprintf("the dimension %d", n.Width), Want: fmt.Sprint(width)}
	}
	r, err := weightsOf(dir, n.Folder)
	if err != nil {
		return Step{}, err
	}
	defer r.Close()
	weight, bias := r.Floats("norm.weight", width), r.Floats("norm.bias", width)
	return Step{apply: func(v []float64, _ kernel.Exec) ([]float64, error) {
		center(v, 1e-5)
		for i := range v {
			v[i] = float64(v[i]*float64(weight[i])) + float64(bias[i])
		}
		return v, nil
	}}, r.Done()
}

// Dense returns the step of a linear layer with weights w, [n, k], whose outputs are n numbers, and
// a bias or nil. The error comes from [linear.New].
func Dense(w, bias []float32, n, k int) (Step, error) {
	l, err := linear.New(linear.DenseMatrix(w, n, k), bias, kernel.Exec{})
	d := &dense{linear: l, width: n}
	return Step{apply: d.apply, dense: d, width: n}, err
}

// finish writes the embedding of a text with some states: the poolings of those from the first one
// on, and what follows them. v has room for the poolings.
func (e *Embedder) finish(out, states []float32, v []float64, first int) (err error) {
	pool(v, states, e.p.Modules.Poolings, first)
	for _, s := range e.p.Steps {
		if v, err = s.apply(v, e.opts.Exec); err != nil {
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

// A dense is a linear layer, whose numbers are rounded to float32.
type dense struct {
	linear, across *linear.Linear // across is nil without a residual, or if that is the inputs
	width          int            // of the output
	int8, residual bool
	activation     activations.Function
}

func (d *dense) apply(v []float64, exec kernel.Exec) ([]float64, error) {
	x := make([]float32, len(v))
	for i := range v {
		x[i] = float32(v[i])
	}
	y, err := d.rows(x, 1, exec)
	if err != nil {
		return nil, err
	}
	v = make([]float64, len(y))
	widen(v, y)
	return v, nil
}

// rows computes the layer of so many rows.
func (d *dense) rows(x []float32, rows int, exec kernel.Exec) ([]float32, error) {
	y := make([]float32, rows*d.width)
	opts := linear.Options{Exec: exec, DynamicInt8: d.int8, Activation: d.activation.Fused}
	if err := product(d.linear, y, x, rows, opts); err != nil {
		return nil, err
	}
	if d.activation.After != nil {
		if err := d.activation.After(y, exec); err != nil {
			return nil, err
		}
	}
	if d.across != nil {
		z := make([]float32, len(y))
		if err := product(d.across, z, x, rows, linear.Options{Exec: exec, DynamicInt8: d.int8}); err != nil {
			return nil, err
		}
		x = z
	}
	for i := range y {
		if d.residual {
			y[i] += x[i]
		}
	}
	return y, nil
}

func product(l *linear.Linear, y, x []float32, rows int, opts linear.Options) error {
	return l.Apply(linear.DenseMatrix(y, rows, len(y)/rows), linear.DenseMatrix(x, rows, len(x)/rows), opts)
}
