package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/attn-go/attn/models/gobytes"
)

// checkTraining reports flags of training that do not fit each other.
func (c *config) checkTraining() error {
	switch s := &c.schedule; {
	case c.text == "" && c.resumes:
		return errors.New("-resume without -train")
	case c.text != "" && (s.Steps < 1 || s.Batch < 1 || s.Length < 1):
		return fmt.Errorf("-steps is %d, -batch is %d and -length is %d, want at least 1", s.Steps, s.Batch, s.Length)
	case c.resumes && c.file == "":
		return errors.New("-resume needs -model, the file of the run that was interrupted")
	}
	return nil
}

// train runs the command with -train: a model with the sizes of gobytes.
func (c *config) train(ctx context.Context, out, report io.Writer) error {
	text, err := os.ReadFile(c.text)
	if err != nil {
		return err
	}
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	s := c.schedule
	s.Seed = c.seed
	t, err := newTrainer(m.Config, text, s, c.settings)
	if err != nil {
		return fmt.Errorf("%s: %w", c.text, err)
	}
	if c.resumes {
		if err := t.Resume(c.file); err != nil {
			return err
		}
	}
	if err := t.run(ctx, c.file, report); err != nil {
		return err
	}
	if c.file != "" {
		fmt.Fprintf(report, "wrote %s; -model %s generates text with it\n", c.file, c.file)
	}
	_, err = fmt.Fprintf(out, "steps    %d of %d pieces of %d bytes, seed %d\nweights  sha256 %s\n", s.Steps, s.Batch, s.Length, s.Seed, t.Hash())
	return err
}

// Numbers of steps between two checkpoints, and between two lines of progress.
const checkpointSteps, lineSteps = 250, 100

// run does the steps that are left. It writes checkpoints to the file of this name, if it has one: every
// checkpointSteps steps, at the end, and when ctx ends, which is an error.
func (t *trainer) run(ctx context.Context, name string, report io.Writer) error {
	for sum := 0.0; t.step < t.Steps; {
		loss, err := t.Next()
		if err != nil {
			return err
		}
		if sum += float64(loss); t.step%lineSteps == 0 {
			fmt.Fprintf(report, "step %5d of %d: loss %.4f nats per byte\n", t.step, t.Steps, sum/lineSteps)
			sum = 0
		}
		if name != "" && (t.step%checkpointSteps == 0 || t.step == t.Steps || ctx.Err() != nil) {
			if err := t.Save(name); err != nil {
				return err
			}
		}
		if ctx.Err() != nil && t.step < t.Steps {
			return fmt.Errorf("interrupted after step %d of %d; -resume continues from %s", t.step, t.Steps, name)
		}
	}
	return nil
}
