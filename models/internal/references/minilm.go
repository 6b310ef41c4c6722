// Package references reads the folders of references that TestReferences compares models with.
// A reader fails on files, keys and tensors that it does not know, so that no reference is
// passed over silently.
package references

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/safetensors"
)

// MiniLM are references of sentence embeddings. Any part may be missing.
type MiniLM struct {
	Inputs    *Inputs
	Texts     []Text     // with their ids
	Retrieval *Retrieval // with their nearest passages

	Embeddings, Cosine [][]float32 // of Texts
	Queries, Passages  [][]float32 // of Retrieval

	LayersText string        // a text
	Layers     [][][]float32 // its states after the embedding block and each layer, [][tokens][width]
}

// Inputs are what the references were made of.
type Inputs struct {
	Texts    []string  `json:"texts"`
	Layers   string    `json:"layers"`
	Passages []Passage `json:"passages"`
	Queries  []string  `json:"queries"`
}

// A Text is a text with its token ids.
type Text struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
}

// Retrieval are queries and what is searched. Without passages they belong to another folder.
type Retrieval struct {
	Queries  []Query   `json:"queries"`
	Passages []Passage `json:"passages"`
}

// A Query has the ids of the five nearest passages, best first, and their cosines.
type Query struct {
	Text        string    `json:"text"`
	Top5        []int     `json:"top5"`
	Scores      []float64 `json:"scores"`
	SmallestGap float64   `json:"smallest_gap"` // between neighbours among the best six
}

// A Passage is a text that queries may find.
type Passage struct {
	ID     int    `json:"id"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// ReadMiniLM reads a folder.
func ReadMiniLM(dir string) (*MiniLM, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	r, known := &MiniLM{}, 0
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch name := entry.Name(); name {
		case "inputs.json":
			r.Inputs = &Inputs{}
			err = readJSON(path, r.Inputs)
		case "embeddings.json":
			err = r.readTexts(path)
		case "retrieval.json":
			r.Retrieval = &Retrieval{}
			err = readJSON(path, r.Retrieval)
		case "embeddings.safetensors":
			err = r.readTensors(path)
		case "README.md", "layer2.safetensors", "text0.txt", "text1.txt": // of one layer's attention, which bench checks
			continue
		default:
			if filepath.Ext(name) == ".py" {
				continue
			}
			err = fmt.Errorf("%s: unknown file", path)
		}
		if err != nil {
			return nil, err
		}
		known++
	}
	if known == 0 {
		return nil, fmt.Errorf("%s: no references", dir)
	}
	return r, r.check(dir)
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *MiniLM) readTexts(path string) error {
	var f struct {
		Facts      map[string]any `json:"facts"` // by how much PyTorch differs from itself
		LayersText string         `json:"layers_text"`
		Texts      []Text         `json:"texts"`
	}
	err := readJSON(path, &f)
	r.Texts, r.LayersText = f.Texts, f.LayersText
	return err
}

func (r *MiniLM) readTensors(path string) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	layers := map[string][][]float32{}
	for _, name := range f.Names() {
		x, err := matrix(f, name)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		switch {
		case name == "embeddings":
			r.Embeddings = x
		case name == "cosine":
			r.Cosine = x
		case name == "queries":
			r.Queries = x
		case name == "passages":
			r.Passages = x
		case strings.HasPrefix(name, "layers."):
			layers[strings.TrimPrefix(name, "layers.")] = x
		default:
			return fmt.Errorf("%s: unknown tensor %q", path, name)
		}
	}
	if r.Layers, err = inOrder(layers); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// inOrder returns the states "embeddings", "0", "1", ... in this order.
func inOrder(layers map[string][][]float32) ([][][]float32, error) {
	var states [][][]float32
	for i := range len(layers) {
		name := "embeddings"
		if i > 0 {
			name = strconv.Itoa(i - 1)
		}
		if layers[name] == nil {
			return nil, fmt.Errorf("%d tensors layers.*, but layers.%s is missing", len(layers), name)
		}
		states = append(states, layers[name])
	}
	return states, nil
}

// matrix reads the rows of a tensor of two dimensions.
func matrix(f *safetensors.File, name string) ([][]float32, error) {
	info, _ := f.Info(name)
	if len(info.Shape) != 2 || info.Shape[1] == 0 {
		return nil, fmt.Errorf("tensor %q: shape %v, want rows and columns", name, info.Shape)
	}
	x, err := f.Float32(name)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(x, info.Shape[1])), nil
}

// check reports parts that do not fit each other.
func (r *MiniLM) check(dir string) error {
	type count struct {
		name      string
		got, want int
	}
	counts := []count{{"embeddings", len(r.Embeddings), len(r.Texts)}, {"cosine", len(r.Cosine), len(r.Texts)}}
	if r.Retrieval != nil {
		counts = append(counts, count{"queries", len(r.Queries), len(r.Retrieval.Queries)}, count{"passages", len(r.Passages), len(r.Retrieval.Passages)})
	} else {
		counts = append(counts, count{"queries", len(r.Queries), 0}, count{"passages", len(r.Passages), 0})
	}
	for _, c := range counts {
		if c.got != 0 && c.got != c.want {
			return fmt.Errorf("%s: %d rows of tensor %q for %d texts", dir, c.got, c.name, c.want)
		}
	}
	if (r.LayersText == "") != (r.Layers == nil) {
		return fmt.Errorf("%s: layers_text of embeddings.json and layers.* of embeddings.safetensors: one is missing", dir)
	}
	return r.checkInputs(dir)
}

// checkInputs reports inputs whose references are missing.
func (r *MiniLM) checkInputs(dir string) error {
	in := r.Inputs
	if in == nil {
		return nil
	}
	for i, text := range in.Texts {
		if i >= len(r.Texts) || r.Texts[i].Text != text {
			return fmt.Errorf("%s: text %d of inputs.json is not that of embeddings.json", dir, i)
		}
	}
	for i, query := range in.Queries {
		if r.Retrieval == nil || i >= len(r.Retrieval.Queries) || r.Retrieval.Queries[i].Text != query {
			return fmt.Errorf("%s: query %d of inputs.json is not that of retrieval.json", dir, i)
		}
	}
	if r.Retrieval != nil && !slices.Equal(in.Passages, r.Retrieval.Passages) {
		return fmt.Errorf("%s: the passages of inputs.json are not those of retrieval.json", dir)
	}
	if in.Layers != r.LayersText {
		return fmt.Errorf("%s: layers of inputs.json is not layers_text of embeddings.json", dir)
	}
	return nil
}
