package main

import (
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// TestMeasure: the program that calls the library is larger than the one that does not, and both
// are smaller without symbols.
func TestMeasure(t *testing.T) {
	var sizes [2]int64
	for i, name := range programs[:2] {
		r, err := measure(t.Context(), name, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.stripped >= r.size || r.cold <= 0 || r.warm <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
		sizes[i] = r.size
	}
	if sizes[0] >= sizes[1] {
		t.Errorf("sizes of %v: %d", programs[:2], sizes)
	}
}

// TestPrograms: every source is in the table, and go vet accepts it, also the one that takes long
// to build.
func TestPrograms(t *testing.T) {
	files, err := sources.ReadDir("testdata")
	if err != nil || len(files) != len(programs) {
		t.Fatalf("%d sources, want %d: %v", len(files), len(programs), err)
	}
	for _, name := range programs {
		if text, err := exec.Command("go", "vet", path.Join("testdata", name+".go")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestOnly: a program that does not exist is an error that lists those that do.
func TestOnly(t *testing.T) {
	err := run(t.Context(), []string{"-only", "nothing"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "hello, attention, embedder") {
		t.Error(err)
	}
}
