// Package minilmtest gives tests of other modules what they compare on: the weights of MiniLM that
// attn fetch downloads, and real texts.
package minilmtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
)

// Folder returns the folder of the weights. If it is missing, the test is skipped.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := weights.Find(weights.MiniLM)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	return folder
}

// Load returns the model, with one thread. If the weights are missing, the test is skipped.
func Load(t testing.TB) *encoder.Encoder {
	t.Helper()
	e, err := encoder.Load(Folder(t), encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e.With(encoder.Options{Exec: kernel.Exec{Threads: 1}})
}

// Texts returns all passages of the references, whose folder is models/testdata/minilm in the
// repository: a test names it relative to its own.
func Texts(t testing.TB, references string) (texts []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(references, "retrieval.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Passages []struct{ Text string } }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Passages {
		texts = append(texts, p.Text)
	}
	return texts
}

// WholeTexts returns the first n of Texts that have fewer tokens than the model reads. It cuts
// longer ones, which other programs do not. The test fails if there are fewer than n.
func WholeTexts(t testing.TB, references string, e *encoder.Encoder, n int) (texts []string) {
	t.Helper()
	for _, text := range Texts(t, references) {
		if len(texts) < n && len(e.Tokens(text)) < e.MaxTokens() {
			texts = append(texts, text)
		}
	}
	if len(texts) < n {
		t.Fatalf("%s has %d texts that are short enough, want %d", references, len(texts), n)
	}
	return texts
}
