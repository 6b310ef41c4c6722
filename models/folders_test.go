package models

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/tokenizer"
)

// A folderCase is a folder of testdata/folders, which make.py there describes, and what
// sentence-transformers makes of it.
type folderCase struct {
	Name, On, Prompt string
	Without          []string
	Moved            map[string]string
	Texts            []string
	IDs              [][]int32
	Vectors          [][]float32
	Pairs            [][2]string
	Scores           []float32
	Error            float64
}

const foldersAt = "testdata/folders"

// folderCases returns all cases.
func folderCases(t *testing.T) (all []folderCase) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(foldersAt, "cases.json"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// write writes the folder of a case.
func (c *folderCase) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	copyFiles(t, dir, filepath.Join(foldersAt, c.On))
	for _, name := range c.Without {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range c.Moved {
		to = filepath.Join(dir, filepath.FromSlash(to))
		err := os.MkdirAll(filepath.Dir(to), 0o777)
		if err == nil {
			err = os.Rename(filepath.Join(dir, filepath.FromSlash(name)), to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if own := filepath.Join(foldersAt, c.Name); isFolder(own) {
		copyFiles(t, dir, own)
	}
	return dir
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// copyFiles copies the files of a folder over another folder's.
func copyFiles(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFolders compares tokens, vectors and scores with sentence-transformers'.
func TestFolders(t *testing.T) {
	for _, c := range folderCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			dir := c.write(t)
			switch {
			case c.Vectors != nil:
				c.compareVectors(t, dir)
			case c.Scores != nil:
				c.compareScores(t, dir)
			default:
				k, err := tokenizer.Load(dir)
				if err != nil {
					t.Fatal(err)
				}
				c.compareIDs(t, func(text string) []int32 { return k.Encode(text, tokenizer.Options{}) })
			}
		})
	}
}

func (c *folderCase) compareIDs(t *testing.T, tokens func(text string) []int32) {
	t.Helper()
	for i, text := range c.Texts {
		if got := tokens(text); !slices.Equal(got, c.IDs[i]) {
			t.Errorf("%q: ids %d, want %d", text, got, c.IDs[i])
		}
	}
}

func (c *folderCase) compareVectors(t *testing.T, dir string) {
	m, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	embeds, ok := m.(Embeds)
	if !ok {
		t.Fatalf("got a %s", m.About().Kind)
	}
	e := embeds.Embedder().With(embedding.Options{Prompt: c.Prompt})
	c.compareIDs(t, e.Tokens)
	got, err := e.Embed(t.Context(), c.Texts)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := folder.ReadModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := c.Vectors
	for i, v := range want {
		if modules.Dimensions > 0 { // ours are divided by their L2 norm again
			want[i] = unit(v)
		}
	}
	c.compare(t, slices.Concat(got...), slices.Concat(want...))
	if r, err := Inspect(dir); err != nil || len(r.Problems) > 0 {
		t.Errorf("inspect: %v, %+v", err, r)
	}
}

func unit(v []float32) []float32 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	u := make([]float32, len(v))
	for i, x := range v {
		u[i] = float32(float64(x) / math.Sqrt(squares))
	}
	return u
}

func (c *folderCase) compareScores(t *testing.T, dir string) {
	m, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ranks, ok := m.(Ranks)
	if !ok {
		t.Fatalf("got a %s", m.About().Kind)
	}
	var scores []float32
	for _, p := range c.Pairs {
		got, err := ranks.Reranker().Score(t.Context(), p[0], p[1:])
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, got...)
	}
	c.compare(t, scores, c.Scores)
}

// compare allows an rms error of 4 times the one that sentence-transformers has in float32, as a
// case has few numbers.
func (c *folderCase) compare(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	squares := 0.0
	for i, x := range got {
		squares += math.Pow(float64(x)-float64(want[i]), 2)
	}
	if rms := math.Sqrt(squares / float64(len(got))); !(rms <= 4*c.Error) {
		t.Errorf("the rms error is %.3g, want at most 4 times %.3g", rms, c.Error)
	}
}

// TestNoEmbedder: folders that are no embedders of ours say what they are, whatever opens them.
func TestNoEmbedder(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		gone  []string
		want  string
	}{
		"an adapter":       {map[string]string{"adapter_config.json": `{"peft_type": "LORA"}`}, nil, "merge_and_unload"},
		"an adapter alone": {map[string]string{"adapter_config.json": `{"peft_type": "LORA"}`}, []string{"config.json", "model.safetensors", "modules.json"}, "merge_and_unload"},
		"SPLADE":           {map[string]string{"config_sentence_transformers.json": `{"model_type": "SparseEncoder"}`}, nil, "SPLADE"},
		"a masked model":   {map[string]string{}, []string{"modules.json", "1_Pooling/config.json"}, "BertForMaskedLM"},
		"no classifier": {map[string]string{
			"config_sentence_transformers.json": `{"model_type": "CrossEncoder"}`, "modules.json": `[{"path": "", "type": "sentence_transformers.models.Transformer"}]`,
			"sentence_bert_config.json": `{"transformer_task": "sequence-classification"}`,
		}, nil, "Pooling"},
		"another key": {map[string]string{"tokenizer_config.json": `{"of_ours": 1}`}, nil, "of_ours"},
	} {
		base := folderCase{Name: "none", On: "embedder", Without: c.gone}
		dir := base.write(t)
		if name == "a masked model" {
			path := filepath.Join(dir, "config.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c.files["config.json"] = strings.Replace(string(data), "BertModel", "BertForMaskedLM", 1)
		}
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDecodersInside: an embedder and a reranker of decoders whose transformer has a folder of its
// own compute what they do without one.
func TestDecodersInside(t *testing.T) {
	for _, name := range []string{"qwen3-embedding-2", "reranker-gemma2-score-6"} {
		plain, inside := filepath.Join("testdata/tiny", name), t.TempDir()
		const at = "0_Transformer"
		if err := os.CopyFS(inside, os.DirFS(plain)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(inside, at), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"config.json", "generation_config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
			if err := os.Rename(filepath.Join(inside, file), filepath.Join(inside, at, file)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		modules := filepath.Join(inside, modulesName)
		data, err := os.ReadFile(modules)
		if err == nil {
			err = os.WriteFile(modules, []byte(strings.Replace(string(data), `"path": ""`, `"path": "`+at+`"`, 1)), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		results := map[string][]float32{}
		for _, dir := range []string{plain, inside} {
			r, err := Inspect(dir)
			if err != nil || len(r.Problems) > 0 {
				t.Fatalf("%s: %v, %+v", dir, err, r)
			}
			m, err := Open(dir, Options{})
			if err != nil || m.About().Kind != r.Kind {
				t.Fatal(m, err)
			}
			if ranks, ok := m.(Ranks); ok {
				results[dir], err = ranks.Reranker().Score(t.Context(), "who sits?", []string{"a cat sits"})
			} else {
				var vectors [][]float32
				vectors, err = m.(Embeds).Embedder().Embed(t.Context(), []string{"a cat sits"})
				results[dir] = slices.Concat(vectors...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(results[plain], results[inside]) {
			t.Errorf("%s: %v, want %v", name, results[inside], results[plain])
		}
	}
}
