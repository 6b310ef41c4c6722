package main

import (
	"encoding/json"
	"strconv"

	"github.com/attn-go/attn/bench/examples/internal/train"
)

// checkpoint returns what a file has of a run.
func (t *trainer) checkpoint() *train.Checkpoint {
	text := func(alphabet []rune) string {
		b, _ := json.Marshal(joinRunes(alphabet)) // strings are always marshalled
		return string(b)
	}
	inputs, outputs := 1+len(t.input), len(t.output)
	return &train.Checkpoint{
		Metadata: map[string]string{
			"input": text(t.input), "output": text(t.output),
			"steps": strconv.Itoa(t.Steps), "batch": strconv.Itoa(t.Batch), "seed": strconv.FormatUint(t.Seed, 10),
		},
		Weights: t.weights.parts(inputs, outputs), Means: t.means.parts(inputs, outputs), Squares: t.squares.parts(inputs, outputs),
	}
}

// Save writes a checkpoint.
func (t *trainer) Save(name string) error { return t.checkpoint().Save(name, t.step) }

// load continues from a checkpoint of the same run.
func (t *trainer) load(name string) (err error) {
	t.step, err = t.checkpoint().Load(name, t.Steps)
	return err
}
