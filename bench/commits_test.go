package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Both versions are measured as often, the repository stays as it was.
func TestDuel(t *testing.T) {
	dir := testRepository(t, 100, 200, 300)
	var log bytes.Buffer
	p := duel{dir: filepath.Join(dir, "bench"), names: [2]string{"v0", "main"}, rounds: 3, args: []string{"-shapes", "A"}, log: &log}
	for _, c := range []struct {
		names    [2]string
		old, new float64
	}{{[2]string{"v0", "main"}, 100, 200}, {[2]string{"v1", here}, 200, 300}, {[2]string{"main", "v1"}, 200, 200}} {
		p.names = c.names
		files, err := p.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(files[0]) != 3 || len(files[1]) != 3 {
			t.Fatalf("%d and %d files", len(files[0]), len(files[1]))
		}
		for i := range 3 {
			if a, b := files[0][i], files[1][i]; a.Speed[0].Ns != c.old || b.Speed[0].Ns != c.new || a.Note != "4" {
				t.Errorf("%q: %+v, %+v", c.names, a, b)
			}
		}
	}
	if out, err := git(t.Context(), dir, "worktree", "list"); err != nil || strings.Count(out, "\n") != 0 {
		t.Errorf("%q, %v", out, err)
	}
	if first, _, _ := strings.Cut(log.String(), "round 3"); strings.Index(first, "round 2 of 3: main") > strings.Index(first, "round 2 of 3: v0") {
		t.Errorf("the second round is not in reverse order:\n%s", &log)
	}
}

func TestDuelErrors(t *testing.T) {
	dir := testRepository(t, 100, -1, 0)
	if err := os.WriteFile(filepath.Join(dir, "bench/main.go"), []byte("no Go"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"no-such-branch": "no-such-branch: no commit of this repository",
		"-x":             "no commit of this repository",
		"v1":             "bits differ",
		here:             "building bench of the files as they lie",
	} {
		p := duel{dir: dir, names: [2]string{"v0", name}, rounds: 1, log: new(bytes.Buffer)}
		if _, err := p.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := resolve(t.Context(), dir, "v0"); err != nil {
		t.Error(err)
	}
	if _, err := resolve(t.Context(), dir, "nothing"); !errors.Is(err, errNoCommit) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := duel{dir: dir, names: [2]string{"v0", "v0"}, rounds: 1, log: new(bytes.Buffer)}
	if _, err := p.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the error of the context", err)
	}
	if out, err := git(t.Context(), dir, "worktree", "list"); err != nil || strings.Count(out, "\n") != 0 {
		t.Errorf("%q, %v", out, err)
	}
}
