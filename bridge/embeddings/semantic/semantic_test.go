package semantic

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// letters is a model for tests: a vector counts the letters of a text.
func letters(context.Context, string, int) (func(context.Context, []string) ([][]float32, error), error) {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		var all [][]float32
		for _, text := range texts {
			v, sum := make([]float32, 26), 0.0
			for _, r := range strings.ToLower(text) {
				if 'a' <= r && r <= 'z' {
					v[r-'a']++
				}
			}
			for _, x := range v {
				sum += float64(x * x)
			}
			for i := range v {
				v[i] /= float32(math.Sqrt(sum))
			}
			all = append(all, v)
		}
		return all, nil
	}, nil
}

// TestRun: a second run computes what is new, deletes what is gone, and keeps the rest.
func TestRun(t *testing.T) {
	useCache(t)
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(query, wantReport, wantOut string) {
		t.Helper()
		var out, report bytes.Buffer
		if err := Run(t.Context(), "search", letters, []string{folder, "-query", query, "-top", "1"}, &out, &report); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(report.String(), wantReport) || out.String() != wantOut {
			t.Errorf("the output is %q and %q, want %q and %q", &report, &out, wantReport, wantOut)
		}
	}
	write("a.md", "zebra")
	write("b.txt", "\n\nquick\nand more")
	write("c.bin", "quick")
	run("zebra", "2 passages, 2 of them new (", "1.000  a.md:1  zebra\n")
	run("quick and more", "2 passages, 0 of them new, 0 gone\n", "1.000  b.txt:3  quick and more\n")
	write("a.md", "zebra zoo")
	run("", "2 passages, 1 of them new (", "")
	if err := os.Remove(filepath.Join(folder, "a.md")); err != nil {
		t.Fatal(err)
	}
	run("zebra", "1 passages, 0 of them new, 1 gone\n", "0.387  b.txt:3  quick and more\n")
}

// useCache gives the user's cache folder another place for the time of a test.
func useCache(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	return cache
}

// TestDatabase: a search leaves nothing in the folder that it searches. Each folder and each model
// have a database of their own, and -db names another one.
func TestDatabase(t *testing.T) {
	cache := useCache(t)
	folder, other := t.TempDir(), filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(filepath.Join(folder, "a.md"), []byte("zebra"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{folder, "-query", "zebra"}, {folder, "-db", other, "-query", "zebra"}} {
		if err := Run(t.Context(), "search", letters, args, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v; want a.md alone", files, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, x := range [][2]string{{folder, "m"}, {t.TempDir(), "m"}, {folder, "n"}} {
		database, err := databaseOf(x[0], x[1])
		if err != nil || !strings.HasPrefix(database, cache) || seen[database] {
			t.Errorf("%q: database %q, %v", x, database, err)
		}
		seen[database] = true
	}
}

// TestErrors: bad command lines, folders without passages, and errors of the model.
func TestErrors(t *testing.T) {
	useCache(t)
	empty := t.TempDir()
	for _, args := range [][]string{{}, {"-top", "0", "."}, {".", "query"}, {"-threads", "-1", "."}, {"-no"}, {empty}, {filepath.Join(empty, "missing")}} {
		if err := Run(t.Context(), "search", letters, append([]string{}, args...), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if made, err := os.ReadDir(empty); err != nil || len(made) > 0 {
		t.Errorf("an error has left %v, %v", made, err)
	}
	if err := Run(t.Context(), "search", letters, []string{"-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	broken := errors.New("no model")
	none := func(context.Context, string, int) (func(context.Context, []string) ([][]float32, error), error) {
		return nil, broken
	}
	if err := Run(t.Context(), "search", none, []string{"."}, io.Discard, io.Discard); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// TestPassages: short paragraphs are joined, long ones stand alone or are cut, lines are
// counted, and hidden folders and binary files are left out.
func TestPassages(t *testing.T) {
	long, half := strings.Repeat("x", largest), strings.Repeat("y", largest/2+1)
	all, err := passages(fstest.MapFS{
		"a.md":       {Data: []byte("one\n\ntwo\nlines\n\n\n\n" + long + "\n\n\nthree\n")},
		"b/c.go":     {Data: []byte("package c\n")},
		"b/d.txt":    {Data: []byte("\xff\xfe")},
		"b/e.png":    {Data: []byte("text")},
		".git/f.txt": {Data: []byte("text")},
		"cut.md":     {Data: []byte("z\n\n" + half + "\n" + half)},
		"empty.md":   {Data: []byte("\n\n\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Metadata["path"]+":"+p.Metadata["line"]+" "+p.Content)
	}
	want := []string{
		"a.md:1 one\n\ntwo\nlines", "a.md:8 " + long, "a.md:11 three", "b/c.go:1 package c",
		"cut.md:1 z", "cut.md:3 " + half, "cut.md:4 " + half,
	}
	if !slices.Equal(got, want) {
		t.Errorf("passages %.40q, want %.40q", got, want)
	}
}
