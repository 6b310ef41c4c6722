package gobytes

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/safetensors"
)

// Hash returns the SHA-256 of the bits of the weights.
func (t *trainer) Hash() string {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, t.weights.all)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// metadata returns what determines the weights after each step.
func (t *trainer) metadata() map[string]string {
	config, _ := json.Marshal(&t.config) // numbers are always marshalled
	return map[string]string{
		"config": string(config), "text": fmt.Sprintf("%x", sha256.Sum256(t.text)),
		"steps": strconv.Itoa(t.Steps), "batch": strconv.Itoa(t.Batch), "length": strconv.Itoa(t.Length), "seed": strconv.FormatUint(t.Seed, 10),
	}
}

// tensors returns all that a run needs to continue. The weights have no prefix, so that a
// checkpoint is a model, too.
func (t *trainer) tensors() (all []safetensors.Tensor) {
	for prefix, p := range map[string]*parameters{"": t.weights, "means.": t.means, "squares.": t.squares} {
		for _, x := range p.tensors {
			all = append(all, safetensors.Tensor{Name: prefix + x.Name, Shape: x.Shape, Data: *x.Numbers})
		}
	}
	slices.SortFunc(all, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Save writes a checkpoint, which [Load] reads as a model. If that fails, an earlier file of this
// name stays as it is.
func (t *trainer) Save(name string) error {
	metadata := t.metadata()
	metadata["step"] = strconv.Itoa(t.step)
	var b bytes.Buffer
	if err := safetensors.Write(&b, metadata, t.tensors()); err != nil {
		return err
	}
	if err := os.WriteFile(name+".tmp", b.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// Resume continues from a checkpoint of the same run: with the same configuration, text and
// schedule. After an error the trainer is as it was.
func (t *trainer) Resume(name string) error {
	f, err := safetensors.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for key, want := range t.metadata() {
		if got := f.Metadata(key); got != want {
			return fmt.Errorf("%s: it has %s %q, but this run has %q: the weights would be others", name, key, got, want)
		}
	}
	step, err := strconv.Atoi(f.Metadata("step"))
	if err != nil || step < 0 || step > t.Steps {
		return fmt.Errorf("%s: it has step %q, want 0 to %d", name, f.Metadata("step"), t.Steps)
	}
	all := t.tensors()
	read := make([][]float32, len(all))
	for i, x := range all {
		if info, _ := f.Info(x.Name); !slices.Equal(info.Shape, x.Shape) {
			return fmt.Errorf("%s: tensor %q has shape %d, want %d", name, x.Name, info.Shape, x.Shape)
		}
		if read[i], err = f.Float32(x.Name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, x := range all {
		copy(x.Data, read[i])
	}
	t.step = step
	return nil
}
