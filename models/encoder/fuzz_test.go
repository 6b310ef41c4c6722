package encoder

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/reranking"
)

// FuzzConfig reads any config.json beside the weights of a tiny model: the folder is a model that
// runs, or gets an error.
func FuzzConfig(f *testing.F) {
	const tiny = "../testdata/tiny/"
	var dirs []string
	for _, name := range []string{"bert-1", "distilbert-1", "embedding_gemma2-4", "gte-new-1", "gte-new-2", "modernbert-1", "mpnet-1", "nomic_bert-1", "roberta-1", "xlm-roberta-1", "reranker-deberta-6", "reranker-deberta-nli-31", "reranker-modernbert-mean-31"} {
		config, err := os.ReadFile(tiny + name + "/" + configName)
		if err != nil {
			f.Fatal(err)
		}
		dir := filepath.Join(f.TempDir(), name)
		if err := os.CopyFS(dir, os.DirFS(tiny+name)); err != nil {
			f.Fatal(err)
		}
		f.Add(len(dirs), config)
		dirs = append(dirs, dir)
	}
	f.Fuzz(func(t *testing.T, of int, config []byte) {
		dir := dirs[uint(of)%uint(len(dirs))]
		if err := os.WriteFile(filepath.Join(dir, configName), config, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := LoadReranker(dir, LoadOptions{}); err == nil {
			if _, err := r.With(reranking.Options{Exec: kernel.Exec{Threads: 1}, Label: r.Labels()[0]}).Score(t.Context(), "a", []string{"b"}); err != nil {
				t.Errorf("a reranker that loads does not run: %v", err)
			}
		}
		e, err := Load(dir, LoadOptions{})
		if err != nil {
			return
		}
		if _, err := e.With(Options{Exec: kernel.Exec{Threads: 1}}).Embed(t.Context(), []string{"a b"}); err != nil {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}

// FuzzWeights changes bytes of what model.safetensors says of its tensors: the folder is a model
// that runs, or gets an error.
func FuzzWeights(f *testing.F) {
	dir := f.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/reranker-bert-1")); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	head := int(binary.LittleEndian.Uint64(whole))
	f.Add([]byte{})
	f.Add([]byte{60, 0, '7', 200, 0, '1'})
	f.Fuzz(func(t *testing.T, changes []byte) {
		data := bytes.Clone(whole)
		for ; len(changes) >= 3; changes = changes[3:] { // 2 bytes of a place, and what to put there
			data[8+int(binary.LittleEndian.Uint16(changes))%head] = changes[2]
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := LoadReranker(dir, LoadOptions{})
		if err != nil {
			return
		}
		if _, err := r.With(reranking.Options{Exec: kernel.Exec{Threads: 1}}).Score(t.Context(), "a", []string{"b"}); err != nil {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}
