package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gobytes"
)

// A schedule says how a model is trained. With the configuration and the text it determines every bit
// of the weights after each step.
type schedule struct {
	Steps  int    // in all
	Batch  int    // pieces of the text in a step
	Length int    // bytes of a piece, at most the context of the model
	Seed   uint64 // of the first weights and of the places of the pieces
}

// A trainer trains a model on a text, from random weights. A step computes the mean loss of the bytes of
// some pieces of the text, which begin at random places, and its gradient, clips this, and changes
// the weights by AdamW. The weights are the same, to the bit, on every CPU and with any number of
// threads.
type trainer struct {
	gobytes.Settings
	config   gobytes.Config
	schedule schedule
	text     []byte

	weights, gradients, means, squares *parameters
	step                               int // steps done
	memory                             train.Memory
}

// warmup is the number of steps in which the learning rate rises, or a tenth of all if that is less:
// without it the first steps would ruin the weights.
const warmup = 100

// newTrainer returns a trainer with random weights. The text has more bytes than a piece.
func newTrainer(c gobytes.Config, text []byte, s schedule, o gobytes.Settings) (*trainer, error) {
	switch {
	case s.Steps < 1 || s.Batch < 1 || s.Length < 1:
		return nil, fmt.Errorf("%d steps of %d pieces of %d bytes, want at least 1 of each", s.Steps, s.Batch, s.Length)
	case s.Length > c.Context:
		return nil, fmt.Errorf("pieces of %d bytes, but the model's context has room for %d", s.Length, c.Context)
	case len(text) <= s.Length:
		return nil, fmt.Errorf("the text has %d bytes, want more than %d, the length of a piece", len(text), s.Length)
	}
	t := &trainer{Settings: o, config: c, schedule: s, text: text}
	for _, p := range []**parameters{&t.weights, &t.gradients, &t.means, &t.squares} {
		*p = newParameters(&c)
	}
	train.Randomize(t.weights.parts, rand.New(rand.NewPCG(s.Seed, 0)))
	return t, nil
}

// Next does a step of training. It returns the mean loss before it, in nats per byte.
func (t *trainer) Next() (values []float64, err error) {
	inputs, targets := t.pieces()
	mean, err := t.differentiate(inputs, targets)
	if err != nil {
		return nil, err
	}
	s := train.Schedule{Steps: t.schedule.Steps, Batch: t.schedule.Batch, Seed: t.schedule.Seed, Warmup: min(warmup, t.schedule.Steps/10)}
	if err := s.Update(t.weights.all, t.gradients.all, t.means.all, t.squares.all, t.step, t.exec()); err != nil {
		return nil, err
	}
	t.step++
	return []float64{float64(mean)}, nil
}

// pieces returns the bytes of the next step, [Batch, Length], and those that follow each of them.
func (t *trainer) pieces() (inputs, targets []int32) {
	r := rand.New(rand.NewPCG(t.schedule.Seed, uint64(1+t.step)))
	n := t.schedule.Length
	for range t.schedule.Batch {
		at := r.IntN(len(t.text) - n)
		for i := range n {
			inputs = append(inputs, int32(t.text[at+i]))
			targets = append(targets, int32(t.text[at+i+1]))
		}
	}
	return inputs, targets
}

// Done returns the number of steps done, and of all.
func (t *trainer) Done() (step, steps int) { return t.step, t.schedule.Steps }

// Hash returns the SHA-256 of the weights.
func (t *trainer) Hash() string { return train.Hash(t.weights.all) }

// model packs the weights of now.
func (t *trainer) model() (*gobytes.Model, error) { return gobytes.New(t.config, &t.weights.Weights) }

// checkpoint returns what a file has of a run.
func (t *trainer) checkpoint() *train.Checkpoint {
	config, _ := json.Marshal(&t.config) // numbers are always marshalled
	s := &t.schedule
	return &train.Checkpoint{
		Metadata: map[string]string{
			"config": string(config), "text": train.HashBytes(t.text),
			"steps": strconv.Itoa(s.Steps), "batch": strconv.Itoa(s.Batch), "length": strconv.Itoa(s.Length), "seed": strconv.FormatUint(s.Seed, 10),
		},
		Weights: t.weights.parts, Means: t.means.parts, Squares: t.squares.parts,
	}
}

// Save writes a checkpoint, which [gobytes.Load] reads as a model. If that fails, an earlier file of this name
// stays as it is.
func (t *trainer) Save(name string) error { return t.checkpoint().Save(name, t.step) }

// Resume continues from a checkpoint of the same run: with the same configuration, text and schedule.
func (t *trainer) Resume(name string) error {
	step, err := t.checkpoint().Load(name, t.schedule.Steps)
	if err == nil {
		t.step = step
	}
	return err
}

// exec says how to compute.
func (t *trainer) exec() kernel.Exec { return kernel.Exec{Tier: t.Tier, Threads: t.Threads} }

func (t *trainer) products() linear.ProductOptions { return linear.ProductOptions{Exec: t.exec()} }
