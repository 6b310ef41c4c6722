package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/optimize"
)

// A schedule is what a run of training is given. It determines every bit of the weights after each
// step.
type schedule struct {
	steps, batch int
	seed         uint64
}

const (
	firstRate, lastRate = 3e-3, 1e-5 // the learning rate falls from one to the other
	largestNorm         = 1          // of the gradients, which are clipped

	checkpointSteps = 250
	testSeed        = 1 << 32 // of dates to test with: batches have the seeds of their steps
	testDates       = 2000
)

// A trainer trains a model.
type trainer struct {
	training
	schedule
	means, squares *parameters
	step           int // steps done
}

// newTrainer returns a trainer with random weights.
func newTrainer(s schedule, o settings) *trainer {
	t := &trainer{schedule: s}
	t.settings = o
	t.input, t.output = alphabets()
	inputs, outputs := 1+len(t.input), len(t.output)
	for _, p := range []**parameters{&t.weights, &t.gradients, &t.means, &t.squares} {
		*p = newParameters(inputs, outputs)
	}
	t.weights.randomize(rand.New(rand.NewPCG(s.seed, 0)), inputs, outputs)
	clear(t.weights.embedIn[:embeddingSize]) // padding
	return t
}

// next does a step of training. It returns the mean loss of the characters and the share of dates
// that were right before it.
func (t *trainer) next() (mean, right float64, err error) {
	all := samples(rand.New(rand.NewPCG(t.seed, uint64(1+t.step))), t.batch)
	l, n, err := t.run(all)
	if err != nil {
		return 0, 0, err
	}
	if _, err := optimize.Clip(largestNorm, t.gradients.all); err != nil {
		return 0, 0, err
	}
	a := optimize.AdamW{Rate: t.rate(), Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	o := optimize.Options{Exec: kernel.Exec{Tier: t.tier, Threads: t.threads}}
	if err := a.Step(t.weights.all, t.gradients.all, t.means.all, t.squares.all, 1+t.step, o); err != nil {
		return 0, 0, err
	}
	t.step++
	return float64(l), float64(n) / float64(t.batch), nil
}

// rate returns the learning rate of the next step.
func (t *trainer) rate() float64 {
	left := float64(t.steps-t.step) / float64(t.steps)
	return lastRate + float64((firstRate-lastRate)*left)
}

// test translates dates that are drawn anew, and returns the share of those that are right.
func (t *trainer) test(n int) (float64, error) {
	m, err := t.weights.model(t.input, t.output)
	if err != nil {
		return 0, err
	}
	right := 0
	for chunk := range slices.Chunk(samples(rand.New(rand.NewPCG(t.seed, testSeed)), n), 100) {
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
	p := newProgress(report, t.step, t.steps)
	for t.step < t.steps {
		mean, right, err := t.next()
		if err != nil {
			return err
		}
		p.step(t.step, mean, right)
		if t.step%checkpointSteps == 0 || t.step == t.steps {
			if err := t.save(c.weights); err != nil {
				return err
			}
		}
	}
	p.end()
	right, err := t.test(testDates)
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "wrote %s\n", c.weights)
	_, err = fmt.Fprintf(out, "steps    %d of %d dates, seed %d\naccuracy %.2f%% of %d new dates\nweights  sha256 %s\n",
		t.steps, t.batch, t.seed, 100*right, testDates, t.weights.hash())
	return err
}

// joinRunes returns the characters of an alphabet as a checkpoint has them.
func joinRunes(alphabet []rune) []string { return strings.Split(string(alphabet), "") }
