package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/internal/safetensors"
)

// The prefixes of the optimizer's tensors in a checkpoint. The weights have none, so that a
// checkpoint is a model, too.
const (
	meansPrefix   = "means."
	squaresPrefix = "squares."
)

// metadata is what a checkpoint says about its run.
func (t *trainer) metadata() map[string]string {
	text := func(alphabet []rune) string {
		b, _ := json.Marshal(joinRunes(alphabet)) // strings are always marshalled
		return string(b)
	}
	return map[string]string{
		"input": text(t.input), "output": text(t.output),
		"step": strconv.Itoa(t.step), "steps": strconv.Itoa(t.steps),
		"batch": strconv.Itoa(t.batch), "seed": strconv.FormatUint(t.seed, 10),
	}
}

// save writes a checkpoint. If that fails, an earlier file of this name stays as it is.
func (t *trainer) save(name string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	var tensors []safetensors.Tensor
	for prefix, p := range t.state() {
		for _, part := range p.parts(1+len(t.input), len(t.output)) {
			tensors = append(tensors, safetensors.Tensor{Name: prefix + part.name, Shape: part.shape, Data: *part.numbers})
		}
	}
	slices.SortFunc(tensors, func(a, b safetensors.Tensor) int { return cmp.Compare(a.Name, b.Name) })
	if err := safetensors.Write(f, t.metadata(), tensors); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// state returns all that changes in a step, by the prefix of its names.
func (t *trainer) state() map[string]*parameters {
	return map[string]*parameters{"": t.weights, meansPrefix: t.means, squaresPrefix: t.squares}
}

// load continues from a checkpoint of the same run.
func (t *trainer) load(name string) error {
	f, err := safetensors.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for key, want := range t.metadata() {
		if got := f.Metadata(key); key != "step" && got != want {
			return fmt.Errorf("%s: it has %s %q, but this run has %q: the weights would be others", name, key, got, want)
		}
	}
	step, err := strconv.Atoi(f.Metadata("step"))
	if err != nil || step < 0 || step > t.steps {
		return fmt.Errorf("%s: it has step %q, want 0 to %d", name, f.Metadata("step"), t.steps)
	}
	l := weights.NewLoader(f)
	for prefix, p := range t.state() {
		for _, part := range p.parts(1+len(t.input), len(t.output)) {
			copy(*part.numbers, l.Floats(prefix+part.name, part.shape...))
		}
	}
	if l.Err() != nil {
		return fmt.Errorf("%s: %w", name, l.Err())
	}
	t.step = step
	return nil
}
