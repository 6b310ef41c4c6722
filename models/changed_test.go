package models

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/internal/folder"
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
			t.Errorf("%s, %v without %v: %v", c.Folder, c.Config, c.Missing, err)
			continue
		}
		for i, want := range c.Numbers {
			if x := float64(got[i*c.Step]); !(math.Abs(x-want) <= 2e-5*c.Largest) {
				t.Errorf("%s, %v without %v: number %d is %v, want %v", c.Folder, c.Config, c.Missing, i*c.Step, x, want)
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
	path, config := filepath.Join(dir, configName), map[string]any{}
	if err := folder.ReadJSON(path, &config); err != nil {
		t.Fatal(err)
	}
	maps.Copy(config, c.Config)
	for _, key := range c.Missing {
		delete(config, key)
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
	return last[len(last)-e.Width():], nil
}
