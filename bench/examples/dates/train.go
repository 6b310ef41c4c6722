package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/examples/internal/train"
)

const (
	testSeed  = 1 << 32 // of dates to test with: batches have the seeds of their steps
	testDates = 2000
)

// A trainer trains a model.
type trainer struct {
	training
	train.Schedule
	means, squares *parameters
	step           int // steps done
}

// newTrainer returns a trainer with random weights.
func newTrainer(s train.Schedule, o settings) *trainer {
	t := &trainer{Schedule: s}
	t.settings, t.group = o, groupTexts
	t.input, t.output = alphabets()
	inputs, outputs := 1+len(t.input), len(t.output)
	for _, p := range []**parameters{&t.weights, &t.gradients, &t.means, &t.squares} {
		*p = newParameters(inputs, outputs)
	}
	train.Randomize(t.weights.parts(inputs, outputs), rand.New(rand.NewPCG(s.Seed, 0)))
	clear(t.weights.embedIn[:embeddingSize]) // padding
	return t
}

// Next does a step of training. It returns the mean loss of the characters and the percentage of
// dates that were right before it.
func (t *trainer) Next() (values []float64, err error) {
	all := samples(rand.New(rand.NewPCG(t.Seed, uint64(1+t.step))), t.Batch)
	l, n, err := t.run(all)
	if err != nil {
		return nil, err
	}
	if err := t.Update(t.weights.all, t.gradients.all, t.means.all, t.squares.all, t.step, t.products().Exec); err != nil {
		return nil, err
	}
	t.step++
	return []float64{float64(l), 100 * float64(n) / float64(t.Batch)}, nil
}

// Done returns the number of steps done, and of all.
func (t *trainer) Done() (step, steps int) { return t.step, t.Steps }

// test translates dates that are drawn anew, and returns the share of those that are right.
func (t *trainer) test(n int) (float64, error) {
	m, err := t.weights.model(t.input, t.output)
	if err != nil {
		return 0, err
	}
	right := 0
	for chunk := range slices.Chunk(samples(rand.New(rand.NewPCG(t.Seed, testSeed)), n), 100) {
		texts := make([]string, len(chunk))
		for i, s := range chunk {
			texts[i] = s.text
		}
		answers, err := m.translate(texts, t.settings)
		if err != nil {
			return 0, err
		}
		for i, a := range answers {
			if string(a.date) == chunk[i].date {
				right++
			}
		}
	}
	return float64(right) / float64(n), nil
}

// train runs the command with -train.
func (c *config) train(out, report io.Writer) error {
	t := newTrainer(c.schedule, c.settings)
	if c.resumes {
		if err := t.load(c.weights); err != nil {
			return err
		}
	}
	if err := train.Run(context.Background(), t, c.weights, "loss %.4f, right %5.1f%%", report); err != nil {
		return err
	}
	right, err := t.test(testDates)
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "wrote %s\n", c.weights)
	_, err = fmt.Fprintf(out, "steps    %d of %d dates, seed %d\naccuracy %.2f%% of %d new dates\nweights  sha256 %s\n",
		t.Steps, t.Batch, t.Seed, 100*right, testDates, t.weights.hash())
	return err
}

// joinRunes returns the characters of an alphabet as a checkpoint has them.
func joinRunes(alphabet []rune) []string { return strings.Split(string(alphabet), "") }
