package train

import (
	"context"
	"fmt"
	"io"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/optimize"
)

// A Schedule is what a run of training is given. With the model and its examples it determines every bit
// of the weights after each step.
type Schedule struct {
	Steps, Batch int
	Seed         uint64
	Warmup       int // the first steps, in which the learning rate rises; 0 for none
}

const (
	firstRate, lastRate = 3e-3, 1e-5 // the learning rate falls from one to the other
	largestNorm         = 1          // of the gradients, which are clipped
)

// CheckpointSteps is the number of steps between two checkpoints.
const CheckpointSteps = 250

// Rate returns the learning rate of the next step, after so many.
func (s Schedule) Rate(done int) float64 {
	left := float64(s.Steps-done) / float64(s.Steps)
	rate := lastRate + float64((firstRate-lastRate)*left)
	if done < s.Warmup {
		rate *= float64(done+1) / float64(s.Warmup)
	}
	return rate
}

// Update clips the gradients and changes the weights by AdamW, in the step after so many. Means and
// squares are the state of the optimizer.
func (s Schedule) Update(weights, gradients, means, squares []float32, done int, exec kernel.Exec) error {
	if _, err := optimize.ClipNorm(largestNorm, [][]float32{gradients}, kernel.Exec{}); err != nil {
		return err
	}
	a := optimize.AdamW{Rate: s.Rate(done), Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	return a.Step(weights, gradients, means, squares, 1+done, exec)
}

// A Trainer trains a model step by step.
type Trainer interface {
	// Next does a step. It returns numbers that tell how good the model was before it.
	Next() (values []float64, err error)

	// Done returns the number of steps done, and of all.
	Done() (step, steps int)

	// Save writes a checkpoint.
	Save(name string) error
}

// Run does the steps that are left, and writes checkpoints to the file name: every CheckpointSteps
// steps, at the end, and when ctx ends, which is an error. It shows the running means of the values
// in this format.
func Run(ctx context.Context, t Trainer, name, format string, report io.Writer) error {
	step, steps := t.Done()
	p := newProgress(report, step, steps, format)
	defer p.end()
	for step < steps {
		values, err := t.Next()
		if err != nil {
			return err
		}
		step, _ = t.Done()
		p.step(step, values)
		if step%CheckpointSteps == 0 || step == steps || ctx.Err() != nil {
			if err := t.Save(name); err != nil {
				return err
			}
		}
		if ctx.Err() != nil && step < steps {
			return fmt.Errorf("interrupted after step %d of %d; -resume continues from %s", step, steps, name)
		}
	}
	return nil
}
