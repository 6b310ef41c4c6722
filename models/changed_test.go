package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/safetensors"
)

// A changed is a folder of testdata/tiny whose config.json says something else, and what
// transformers computes of it then; see changed.py beside the file.
type changed struct {
	Folder  string
	Config  map[string]any
	Missing []string
	Decoder bool
	Step    int
	Numbers []float64
	Largest float64

	Around        map[string]any   // config.json of a class around the model, or nil
	Begin, Within string           // names of tensors begin with Within there in the place of Begin
	Extra         map[string][]int // shapes of tensors of other parts
}

// TestChanged: keys that config.json leaves out or that it has otherwise mean what they mean to
// transformers. Its numbers are of float64; the test allows some 8 times the largest error of
// float32 in these models, 2.4 millionths of the largest number.
func TestChanged(t *testing.T) {
	var all struct {
		IDs     []int32
		Results []changed
	}
	if err := folder.ReadJSON("testdata/changed.json", &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Results {
		got, err := c.compute(t, all.IDs)
		if err != nil {
			t.Errorf("%s, %v without %v in %v: %v", c.Folder, c.Config, c.Missing, c.Around, err)
			continue
		}
		for i, want := range c.Numbers {
			if x := float64(got[i*c.Step]); !(math.Abs(x-want) <= 2e-5*c.Largest) {
				t.Errorf("%s, %v without %v in %v: number %d is %v, want %v", c.Folder, c.Config, c.Missing, c.Around, i*c.Step, x, want)
				break
			}
		}
	}
}

// compute returns the numbers of the last token.
func (c *changed) compute(t *testing.T, ids []int32) ([]float32, error) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata/tiny", c.Folder))); err != nil {
		t.Fatal(err)
	}
	path, inner := filepath.Join(dir, configName), map[string]any{}
	if err := folder.ReadJSON(path, &inner); err != nil {
		t.Fatal(err)
	}
	maps.Copy(inner, c.Config)
	for _, key := range c.Missing {
		delete(inner, key)
	}
	config := inner
	if c.Around != nil {
		config = maps.Clone(c.Around)
		config["text_config"] = inner
		c.rename(t, filepath.Join(dir, "model.safetensors"))
	}
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	if c.Decoder {
		m, err := decoder.Load(dir, decoder.Options{Context: 64})
		if err != nil {
			return nil, err
		}
		s, err := m.NewSession(1, 64)
		if err != nil {
			return nil, err
		}
		logits, err := s.Forward(t.Context(), decoder.Step{Text: s.NewText(), Tokens: ids, Logits: decoder.LogitsLast})
		if err != nil {
			return nil, err
		}
		return logits[0], nil
	}
	e, err := encoder.Load(dir, encoder.LoadOptions{})
	if err != nil {
		return nil, err
	}
	states, err := e.HiddenStates(t.Context(), ids)
	if err != nil {
		return nil, err
	}
	last := states[len(states)-1]
	return last[len(last)-len(last)/len(ids):], nil
}

// rename gives the tensors of a file the names that they have within the class around the model.
func (c *changed) rename(t *testing.T, path string) {
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []safetensors.Tensor
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		all = append(all, safetensors.Tensor{Name: c.Within + strings.TrimPrefix(name, c.Begin), Shape: info.Shape, Data: x})
	}
	for name, shape := range c.Extra {
		n := 1
		for _, m := range shape {
			n *= m
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = (float32((i*37+11)%101) - 50) / 40
		}
		all = append(all, safetensors.Tensor{Name: name, Shape: shape, Data: x})
	}
	var file bytes.Buffer
	if err := errors.Join(safetensors.Write(&file, nil, all), os.WriteFile(path, file.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}
