package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/attn-go/attn/bench/examples/internal/outputs"
	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

// defaultModel returns the file that training writes unless it is told another one.
func defaultModel() string { return outputs.Path("generate.safetensors") }

// checkTraining reports flags of training that do not fit each other.
func (c *config) checkTraining() error {
	s := &c.schedule
	switch {
	case c.text == "" && c.resumes:
		return command.Usage(errors.New("-resume without -train"))
	case c.text == "":
		return nil
	case s.Steps < 1 || s.Batch < 1 || s.Length < 1:
		return command.Usage(fmt.Errorf("-steps is %d, -batch is %d and -length is %d, want at least 1", s.Steps, s.Batch, s.Length))
	}
	if c.file == "" {
		c.file = defaultModel()
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
	if err := train.Run(ctx, t, c.file, "loss %.4f nats per byte", report); err != nil {
		return err
	}
	fmt.Fprintf(report, "wrote %s; -model %s generates text with it\n", c.file, c.file)
	_, err = fmt.Fprintf(out, "steps    %d of %d pieces of %d bytes, seed %d\nweights  sha256 %s\n", s.Steps, s.Batch, s.Length, s.Seed, t.Hash())
	return err
}
