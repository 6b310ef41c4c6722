package main

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/bench/examples/internal/train/traintest"
	"github.com/attn-go/attn/kernel"
)

// shortRun is a run of a few steps of small batches, in groups of shortGroup texts and what is left.
var shortRun = train.Schedule{Steps: 4, Batch: 8, Seed: 5}

const shortGroup = 5

// trained returns a trainer after some steps.
func trained(t testing.TB, s train.Schedule, o settings, steps int) *trainer {
	t.Helper()
	r := newTrainer(s, o)
	r.group = shortGroup
	for range steps {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestTrainedWeights: a short run ends in these weights, to the bit, on every tier and
// architecture and with any number of threads.
func TestTrainedWeights(t *testing.T) { traintest.EachTier(t, checkTrainedWeights) }

// TestTrainedWeightsOfDefaults: so it does where another tier is the default one, which functions
// use that are not told any.
func TestTrainedWeightsOfDefaults(t *testing.T) {
	traintest.EachDefault(t, func(t *testing.T) { checkTrainedWeights(t, kernel.Tier{}) })
}

func checkTrainedWeights(t *testing.T, tier kernel.Tier) {
	const want = "6b1efd7c8de00009d9e2cf3e799a39dd2b40656756f59402ec96d4aed29cf21d"
	for _, threads := range []int{1, 3} {
		if got := trained(t, shortRun, settings{tier: tier, threads: threads}, shortRun.Steps).weights.hash(); got != want {
			t.Errorf("threads=%d: sha256 %s, want %s", threads, got, want)
		}
	}
}

// TestTrainingIsInference: the logits of training are, to the bit, those of the model that
// translates.
func TestTrainingIsInference(t *testing.T) {
	r := trained(t, shortRun, settings{}, 2)
	all := samples(rand.New(rand.NewPCG(3, 4)), 9)
	r.memory.Reset()
	if err := r.pack(); err != nil {
		t.Fatal(err)
	}
	b, err := r.newBatch(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{b.encode, b.decode} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
	}
	e, err := r.model.encode(texts, r.settings)
	if err != nil {
		t.Fatal(err)
	}
	d := r.model.newDecoder(e, r.settings)
	for step := range dateSteps {
		last := make([]int, len(all))
		for i := range last {
			last[i] = int(b.last[step*len(all)+i])
		}
		if err := d.step(last); err != nil {
			t.Fatal(err)
		}
		if got := b.decoder.of(b.logits, step); !slices.Equal(got, d.logits) {
			t.Fatalf("step %d: other logits than the model's", step)
		}
	}
}

// TestGradients compares the gradient of every tensor with differences of losses.
func TestGradients(t *testing.T) {
	r := trained(t, shortRun, settings{}, 3)
	all := samples(rand.New(rand.NewPCG(8, 9)), 16)
	loss := func() float64 {
		l, _, err := r.run(all)
		if err != nil {
			t.Fatal(err)
		}
		return float64(l)
	}
	loss()
	gradients := newParameters(1+len(r.input), len(r.output))
	copy(gradients.all, r.gradients.all)
	traintest.CheckGradients(t, r.weights.parts(1+len(r.input), len(r.output)), gradients.parts(1+len(r.input), len(r.output)), loss, traintest.Sides{Step: 0.02, Least: 0.2, Absolute: 2e-5})
}

// TestResume: an interrupted run continues to the weights of one that was not, and a
// checkpoint is a model.
func TestResume(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.safetensors")
	whole := trained(t, shortRun, settings{}, shortRun.Steps)
	if err := trained(t, shortRun, settings{}, 2).Save(name); err != nil {
		t.Fatal(err)
	}
	r := newTrainer(shortRun, settings{})
	r.group = shortGroup
	if err := r.load(name); err != nil || r.step != 2 {
		t.Fatalf("step %d, error %v", r.step, err)
	}
	for r.step < r.Steps {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.weights.hash(), whole.weights.hash(); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
	c := config{weights: name}
	if _, err := c.model(); err != nil {
		t.Error(err)
	}
	other := shortRun
	other.Seed++
	if err := newTrainer(other, settings{}).load(name); err == nil || !strings.Contains(err.Error(), "seed") {
		t.Errorf("a checkpoint of another run: %v", err)
	}
	if err := newTrainer(shortRun, settings{}).load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file: no error")
	}
}

// TestTrain: the command trains, reports, and its file translates and can be resumed.
func TestTrain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.safetensors")
	args := []string{"-train", "-model", name, "-steps", "2", "-batch", "4", "-threads", "2"}
	var first string
	for _, more := range [][]string{nil, {"-resume"}} {
		var out, report bytes.Buffer
		if err := run(append(more, args...), &out, &report); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "2000 new dates\nweights  sha256 ") || !strings.Contains(report.String(), "wrote "+name) {
			t.Errorf("%v: %s%s", more, out.String(), report.String())
		}
		if first == "" {
			first = out.String()
		}
		if out.String() != first {
			t.Errorf("resumed: %s, want %s", out.String(), first)
		}
	}
	if err := run([]string{"-model", name, "-svg", "", "-png", "", "-text", "1.2.2003"}, new(bytes.Buffer), new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}

// TestAlphabets: they are those of the model that comes with the program.
func TestAlphabets(t *testing.T) {
	m := defaultModel(t)
	if input, output := alphabets(); !slices.Equal(input, m.input) || !slices.Equal(output, m.output) {
		t.Errorf("%q and %q, want %q and %q", string(input), string(output), string(m.input), string(m.output))
	}
}
