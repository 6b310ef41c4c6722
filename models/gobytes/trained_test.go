package gobytes

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// tiny is a model that trains in no time.
var tiny = Config{Layers: 2, Width: 24, Heads: 4, KVHeads: 2, HeadSize: 6, FFN: 40, Context: 32, Vocab: 256, Theta: 10000, Epsilon: 1e-5}

var shortRun = schedule{Steps: 4, Batch: 3, Length: 20, Seed: 5}

// sample is a text to train on.
var sample = []byte(strings.Repeat("func add(a, b int) int { return a + b }\n", 20))

// trained returns a trainer after some steps.
func trained(t testing.TB, s schedule, o Settings, steps int) *trainer {
	t.Helper()
	r := newTrainer(tiny, sample, s, o)
	for range steps {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestTrainedWeights: a short run ends in these weights, to the bit, on every tier and
// architecture and with any number of threads.
func TestTrainedWeights(t *testing.T) { eachEagerTier(t, checkTrainedWeights) }

// TestTrainedWeightsOfDefaults: so it does where another tier is the default one, which functions
// use that are not told any.
func TestTrainedWeightsOfDefaults(t *testing.T) {
	eachDefault(t, func(t *testing.T) { checkTrainedWeights(t, kernel.Tier{}) })
}

func checkTrainedWeights(t *testing.T, tier kernel.Tier) {
	const want = "76df7afb2a1278638746751e078538daa7837e875fc1c502b1b86733a9892832"
	for _, threads := range []int{1, 3} {
		if got := trained(t, shortRun, Settings{Tier: tier, Threads: threads}, shortRun.Steps).Hash(); got != want {
			t.Errorf("threads=%d: sha256 %s, want %s", threads, got, want)
		}
	}
}

// TestTrainingIsInference: the logits of training equal, to the bit, the logits of a batch with a
// cache.
func TestTrainingIsInference(t *testing.T) {
	r := trained(t, shortRun, Settings{}, 2)
	inputs, _ := r.pieces()
	p, err := r.newPass(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.forward(); err != nil {
		t.Fatal(err)
	}
	m, err := r.model()
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for piece := range slices.Chunk(inputs, shortRun.Length) {
		var text []byte
		for _, token := range piece {
			text = append(text, byte(token))
		}
		texts = append(texts, text)
	}
	b, err := m.NewBatch(len(texts), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Forward(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range slices.Concat(want...) {
		if math.Float32bits(x) != math.Float32bits(p.logits[i]) {
			t.Fatalf("number %d of the logits is %v, want %v", i, p.logits[i], x)
		}
	}
}

// TestGradients compares the gradient of every tensor with differences of losses.
func TestGradients(t *testing.T) {
	r := trained(t, shortRun, Settings{}, 3)
	inputs, targets := r.pieces()
	loss := func() float64 {
		l, err := r.differentiate(inputs, targets)
		if err != nil {
			t.Fatal(err)
		}
		return float64(l)
	}
	loss()
	gradients := newParameters(&tiny)
	copy(gradients.all, r.gradients.all)
	checkGradients(t, r.weights.tensors, gradients.tensors, loss)
}

// TestLearns: training makes the text probable.
func TestLearns(t *testing.T) {
	s := shortRun
	s.Steps = 200
	r := trained(t, s, Settings{}, s.Steps-1)
	loss, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !(loss < 2) {
		t.Errorf("loss %v after %d steps, want less than 2; a model that knows nothing has %v", loss, s.Steps, math.Log(256))
	}
}

// TestResume: an interrupted run continues to the weights of one that was not, and a checkpoint is
// a model.
func TestResume(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.safetensors")
	whole := trained(t, shortRun, Settings{}, shortRun.Steps)
	if err := trained(t, shortRun, Settings{}, 2).Save(name); err != nil {
		t.Fatal(err)
	}
	r := trained(t, shortRun, Settings{}, 0)
	if err := r.Resume(name); err != nil {
		t.Fatal(err)
	}
	if r.step != 2 {
		t.Errorf("resumed at step %d", r.step)
	}
	for r.step < r.Steps {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.Hash(), whole.Hash(); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(bytes.NewReader(file), int64(len(file))); err != nil {
		t.Error(err)
	}
	for what, other := range map[string]schedule{"seed": {4, 3, 20, 6}, "batch": {4, 4, 20, 5}, "length": {4, 3, 21, 5}, "steps": {5, 3, 20, 5}} {
		if err := trained(t, other, Settings{}, 0).Resume(name); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a checkpoint of a run with another %s: %v", what, err)
		}
	}
	text := newTrainer(tiny, sample[1:], shortRun, Settings{})
	if err := text.Resume(name); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a checkpoint of another text: %v", err)
	}
}
