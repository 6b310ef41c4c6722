package train

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/attn-go/attn/bench/examples/internal/outputs"
	"github.com/attn-go/attn/bench/examples/internal/weights"
	"github.com/attn-go/attn/models/safetensors"
)

// A Checkpoint is all that a run of training needs to continue. The weights have no prefix, so that a
// checkpoint is a model, too.
type Checkpoint struct {
	Metadata                map[string]string // what determines the run; without "step", which Save adds
	Weights, Means, Squares []Part
}

// parts returns the parts by the prefix of their names.
func (c *Checkpoint) parts() map[string][]Part {
	return map[string][]Part{"": c.Weights, "means.": c.Means, "squares.": c.Squares}
}

// Save writes a checkpoint after so many steps. If that fails, an earlier file of this name stays as
// it is.
func (c *Checkpoint) Save(name string, step int) (err error) {
	if err := outputs.Make(name); err != nil {
		return err
	}
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
	for prefix, parts := range c.parts() {
		for _, p := range parts {
			tensors = append(tensors, safetensors.Tensor{Name: prefix + p.Name, Shape: p.Shape, Data: *p.Numbers})
		}
	}
	slices.SortFunc(tensors, func(a, b safetensors.Tensor) int { return cmp.Compare(a.Name, b.Name) })
	metadata := maps.Clone(c.Metadata)
	metadata["step"] = strconv.Itoa(step)
	if err := safetensors.Write(f, metadata, tensors); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Load reads a checkpoint of the same run, of so many steps at most, and returns the number of those
// that are done. After an error the parts hold what they held before.
func (c *Checkpoint) Load(name string, steps int) (step int, err error) {
	f, err := safetensors.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for key, want := range c.Metadata {
		if got := f.Metadata(key); got != want {
			return 0, fmt.Errorf("%s: it has %s %q, but this run has %q: the weights would be others", name, key, got, want)
		}
	}
	if step, err = strconv.Atoi(f.Metadata("step")); err != nil || step < 0 || step > steps {
		return 0, fmt.Errorf("%s: it has step %q, want 0 to %d", name, f.Metadata("step"), steps)
	}
	l := weights.NewLoader(f)
	read := map[*[]float32][]float32{}
	for prefix, parts := range c.parts() {
		for _, p := range parts {
			read[p.Numbers] = l.Floats(prefix+p.Name, p.Shape...)
		}
	}
	if l.Err() != nil {
		return 0, fmt.Errorf("%s: %w", name, l.Err())
	}
	for to, from := range read {
		copy(*to, from)
	}
	return step, nil
}
