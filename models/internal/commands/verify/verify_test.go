package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// The command finds the model, says what holds, and tells what does not hold from what cannot be
// verified.
func TestRun(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := tinyllama.New(nil)
	f.AddVocabulary()
	model := f.Write(t)
	good, err := os.ReadFile("../../../receipt/testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, old, new string) string {
		path := filepath.Join(dir, name)
		text := strings.Replace(string(good), old, new, 1)
		if old != "" && text == string(good) {
			t.Fatalf("%s: the receipt has no %s", name, old)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, forged := file("right", "", ""), file("forged", `"seed":7`, `"seed":8`)
	for _, c := range []struct {
		args []string
		want string
		is   func(err error) bool
	}{
		{[]string{right, "-model", model}, ":1: all 24 tokens hold\n", func(err error) bool { return err == nil }},
		{[]string{right, "-model", model, "-spot", "3", "-tier", "generic", "-threads", "1", "-rehash"}, ":1: 3 of 24 tokens hold\n", func(err error) bool { return err == nil }},
		{[]string{forged, right, "-model", model}, "does not hold: receipt: tokens[", func(err error) bool { return errors.As(err, new(*kernel.Error)) }},
		{[]string{forged, right, "-model", model}, ":1: all 24 tokens hold\n", func(err error) bool { return errors.As(err, new(*kernel.Error)) }},
		{[]string{file("cut", "}", ""), "-model", model}, "", func(err error) bool { return errors.As(err, new(*kernel.Error)) }},
		{[]string{right}, "", func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{[]string{file("path", `"name":"tiny"`, `"name":"../tiny"`)}, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
		{[]string{right, "-model", filepath.Join(dir, "none")}, "", func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{nil, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
		{[]string{right, "-spot", "-1"}, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
	} {
		var out strings.Builder
		if err := run(t.Context(), c.args, &out); !c.is(err) || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %q, %v", c.args, &out, err)
		}
	}
}

// TestSession: with -session the receipts of a file are turns, of which none may be missing.
func TestSession(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := tinyllama.New(nil)
	f.AddVocabulary()
	f.AddTools()
	model := f.Write(t)
	const session = "../../../receipt/testdata/session.json"
	data, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, []byte(lines[0]+lines[2]), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		want  string
		holds bool
	}{{[]string{session}, "session.json:5: all", true}, {[]string{cut}, "cut:2: does not hold: receipt: messages[", false}} {
		var out strings.Builder
		if err := run(t.Context(), append(c.args, "-session", "-model", model), &out); (err == nil) != c.holds || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %q, %v", c.args, &out, err)
		}
	}
	texts := filepath.Join(t.TempDir(), "texts")
	if err := os.WriteFile(texts, []byte(lines[0]+lines[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{texts, "-session", "-model", model}, &strings.Builder{}); !errors.Is(err, receipt.ErrMismatch) {
		t.Errorf("a turn twice: %v", err)
	}
}

// The command verifies receipts of all kinds in one file, whatever model is loaded, and finds what
// is forged.
func TestKinds(t *testing.T) {
	embedder, reranker := filepath.Join(t.TempDir(), "embedder"), filepath.Join(t.TempDir(), "reranker")
	if err := errors.Join(os.CopyFS(embedder, os.DirFS("../../../testdata/tiny/bert-1")), os.CopyFS(reranker, os.DirFS("../../../testdata/tiny/reranker-bert-1"))); err != nil {
		t.Fatal(err)
	}
	const modules = `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]` // and no Normalize
	if err := os.WriteFile(filepath.Join(embedder, "modules.json"), []byte(modules), 0o666); err != nil {
		t.Fatal(err)
	}
	texts := []string{"a cat", "a mat", "a hat"}
	files := func(path string) receipt.Model {
		all, err := receipt.Files(path, true)
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Model{Name: filepath.Base(path), Architecture: "bert", Files: all}
	}
	e, err := models.OpenEmbedder(embedder, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := models.OpenReranker(reranker, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := k.Score(t.Context(), "a cat", texts)
	if err != nil {
		t.Fatal(err)
	}
	ofVectors, err := receipt.RecordEmbeddings(files(embedder), embedding.LoadOptions{}, e, texts, vectors)
	if err != nil {
		t.Fatal(err)
	}
	ofScores, err := receipt.RecordRanking(t.Context(), files(reranker), embedding.LoadOptions{}, k, "a cat", texts, scores)
	if err != nil {
		t.Fatal(err)
	}
	write := func(all ...*receipt.Receipt) string {
		var data []byte
		for _, r := range all {
			line, err := r.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, line...)
		}
		name := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	check := func(name, model string, is func(err error) bool, want ...string) {
		t.Helper()
		var out strings.Builder
		err := run(t.Context(), []string{name, "-model", model, "-spot", "2", "-tier", "generic"}, &out)
		if !is(err) {
			t.Errorf("%v: %s", err, &out)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q, want %q", &out, text)
			}
		}
	}
	holds := func(err error) bool { return err == nil }
	fails := func(err error) bool { return errors.As(err, new(*kernel.Error)) }
	check(write(ofVectors, ofVectors), embedder, holds, ":1: 2 of 3 texts hold\n", ":2: 2 of 3 texts hold\n")
	check(write(ofScores), reranker, holds, ":1: 2 of 3 passages hold\n")
	check(write(ofScores, ofVectors), embedder, fails, ":1: does not hold: receipt: model.files", ":2: 2 of 3 texts hold\n")

	// Settings that another load has are loaded again.
	other := *ofVectors
	forged := *ofVectors.Embeddings
	forged.Settings.Unit = true
	other.Embeddings = &forged
	check(write(ofVectors, &other, ofVectors), embedder, fails, ":2: does not hold: receipt: texts[", ":3: 2 of 3 texts hold\n")

	// A receipt of the files of another kind of model cannot be verified.
	other = *ofScores
	other.Ranking, other.Embeddings = nil, ofVectors.Embeddings
	check(write(&other), reranker, func(err error) bool { return errors.Is(err, models.ErrKind) })
}
