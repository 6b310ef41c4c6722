// Command functions times functions over rows for bench/peers/functions.py: a line of JSON with a
// function and its size comes in, a line with the time goes out.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/optimize"
	"github.com/attn-go/attn/rope"
)

// A problem is a function of some rows.
type problem struct {
	Function   string
	Rows, Size int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "functions:", err)
		os.Exit(1)
	}
}

func run() error {
	var last problem
	var call calls.Call
	return calls.Worker(func(line []byte) (map[string]float64, error) {
		var r struct {
			problem
			Seconds float64
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		if r.problem != last {
			var err error
			if call, err = r.call(); err != nil {
				return nil, err
			}
			last = r.problem
		}
		one := func() error { return call(kernel.Exec{Threads: 1}) }
		ns, err := calls.Time(one, time.Duration(r.Seconds*float64(time.Second)))
		return map[string]float64{"ns": ns}, err
	})
}

// call prepares a call.
func (p problem) call() (calls.Call, error) {
	prepare, ok := functions[p.Function]
	if !ok || p.Rows < 1 || p.Size < 1 {
		return nil, fmt.Errorf("unknown function %q, or no rows", p.Function)
	}
	return prepare(&memory{rows: p.Rows, size: p.Size}), nil
}

// memory has the arguments of a call.
type memory struct{ rows, size int }

// x returns numbers for all rows.
func (m *memory) x() []float32 { return numbers.Normals(m.rows * m.size) }

// row returns numbers for one row.
func (m *memory) row() []float32 { return numbers.Normals(m.size) }

// tensor returns x as rows of a tensor.
func (m *memory) tensor() kernel.Tensor { return kernel.BHLD(m.x(), 1, 1, m.rows, m.size) }

// functions have the names of functions.py.
var functions = map[string]func(m *memory) calls.Call{
	"softmax": func(m *memory) calls.Call {
		dst, src := m.x(), m.x()
		return func(e kernel.Exec) error { return layer.Softmax(dst, src, m.size, nil, e) }
	},
	"softmax backward": func(m *memory) calls.Call {
		dx, dy, y := m.x(), m.x(), m.x()
		return func(e kernel.Exec) error { return layer.SoftmaxBackward(dx, dy, y, m.size, e) }
	},
	"LayerNorm": func(m *memory) calls.Call {
		out, x, weight, bias := m.tensor(), m.tensor(), m.row(), m.row()
		return func(e kernel.Exec) error {
			return norm.LayerNorm(out, x, weight, bias, 1e-5, norm.Options{Exec: e})
		}
	},
	"RMSNorm": func(m *memory) calls.Call {
		out, x, weight := m.tensor(), m.tensor(), m.row()
		return func(e kernel.Exec) error { return norm.RMSNorm(out, x, weight, 1e-5, norm.Options{Exec: e}) }
	},
	"LayerNorm backward": func(m *memory) calls.Call {
		g, dy, x, weight := norm.Gradients{X: m.tensor(), Weight: m.row(), Bias: m.row()}, m.tensor(), m.tensor(), m.row()
		return func(e kernel.Exec) error {
			return norm.LayerNormBackward(g, dy, x, weight, 1e-5, norm.BackwardOptions{Exec: e})
		}
	},
	"RMSNorm backward": func(m *memory) calls.Call {
		g, dy, x, weight := norm.Gradients{X: m.tensor(), Weight: m.row()}, m.tensor(), m.tensor(), m.row()
		return func(e kernel.Exec) error {
			return norm.RMSNormBackward(g, dy, x, weight, 1e-5, norm.BackwardOptions{Exec: e})
		}
	},
	"SiLU": of2(activation.SiLU), "SiLU backward": of3(activation.SiLUBackward),
	"GELU": of2(activation.GELU), "GELU backward": of3(activation.GELUBackward),
	"GELUTanh": of2(activation.GELUTanh), "GELUTanh backward": of3(activation.GELUTanhBackward),
	"tanh": of2(numeric.TanhSlice), "tanh backward": of3(activation.TanhBackward), "sigmoid backward": of3(activation.SigmoidBackward),
	"exp2": of2(numeric.Exp2Slice), "add": of3(numeric.AddSlice),
	"SwiGLU": of3(activation.SwiGLU), "SwiGLU backward": of5(activation.SwiGLUBackward),
	"GeGLU": of3(activation.GeGLU), "GeGLU backward": of5(activation.GeGLUBackward),
	"rope": func(m *memory) calls.Call {
		const tokens = 128
		r, err := rope.New(rope.Config{Dims: m.size, Positions: tokens})
		x, positions := kernel.BHLD(m.x(), 1, m.rows/tokens, tokens, m.size), make([]int, tokens)
		for i := range positions {
			positions[i] = i
		}
		return func(e kernel.Exec) error {
			if err != nil {
				return err
			}
			return r.Apply(x, positions, e)
		}
	},
	"cross entropy": func(m *memory) calls.Call {
		dlogits, logits, targets := m.x(), m.x(), make([]int32, m.rows)
		return func(e kernel.Exec) error {
			_, err := loss.CrossEntropy(dlogits, logits, m.size, targets, e)
			return err
		}
	},
	"AdamW": func(m *memory) calls.Call {
		w, g, mean, square := m.x(), m.x(), make([]float32, m.rows*m.size), make([]float32, m.rows*m.size)
		a, step := optimize.AdamW{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01}, 0
		return func(e kernel.Exec) error {
			step++
			return a.Step(w, g, mean, square, step, e)
		}
	},
	"clip norm": func(m *memory) calls.Call {
		g := [][]float32{m.x()}
		return func(e kernel.Exec) error {
			_, err := optimize.ClipNorm(1, g, e)
			return err
		}
	},
	"embedding gradients": func(m *memory) calls.Call {
		const tokens = 1000
		out := linear.DenseMatrix(make([]float32, tokens*m.size), tokens, m.size)
		x, rows := linear.DenseMatrix(m.x(), m.rows, m.size), make([]int32, m.rows)
		for i := range rows {
			rows[i] = int32(i * 7919 % tokens)
		}
		return func(e kernel.Exec) error { return linear.AddRows(out, x, rows, e) }
	},
}

// of2, of3 and of5 are functions of so many slices of the same length.
func of2(f func(dst, src []float32, e kernel.Exec) error) func(m *memory) calls.Call {
	return func(m *memory) calls.Call {
		dst, src := m.x(), m.x()
		return func(e kernel.Exec) error { return f(dst, src, e) }
	}
}

func of3(f func(dst, x, y []float32, e kernel.Exec) error) func(m *memory) calls.Call {
	return func(m *memory) calls.Call {
		dst, x, y := m.x(), m.x(), m.x()
		return func(e kernel.Exec) error { return f(dst, x, y, e) }
	}
}

func of5(f func(dgate, dup, dy, gate, up []float32, e kernel.Exec) error) func(m *memory) calls.Call {
	return func(m *memory) calls.Call {
		dgate, dup, dy, gate, up := m.x(), m.x(), m.x(), m.x(), m.x()
		return func(e kernel.Exec) error { return f(dgate, dup, dy, gate, up, e) }
	}
}
