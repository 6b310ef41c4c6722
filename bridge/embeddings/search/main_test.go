package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/bridge/embeddings/semantic"
	"github.com/attn-go/attn/models/weights"
)

// TestSearch finds a passage that has no word of the query.
func TestSearch(t *testing.T) {
	if _, err := weights.Find(weights.MiniLM); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	folder, database := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"cats.txt":   "A kitten sleeps on the sofa.",
		"money.txt":  "The bank raises its rates.",
		"planes.txt": "Our flight leaves in the evening.",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, report bytes.Buffer
	if err := semantic.Run(t.Context(), "search", load, []string{folder, "-db", database, "-top", "1", "-query", "interest on loans"}, &out, &report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "money.txt:1  The bank") {
		t.Errorf("the result is %q", &out)
	}
}

// TestNoModel: the error of a folder without a model says what to do.
func TestNoModel(t *testing.T) {
	t.Setenv("ATTN_MODELS", t.TempDir())
	_, err := load(t.Context(), "all-MiniLM-L6-v2", 0)
	if err == nil || !strings.Contains(err.Error(), "attn fetch") {
		t.Errorf("got %v", err)
	}
}
