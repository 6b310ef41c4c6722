package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/attn-go/attn/gen/amd64"
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
)

// committed is the root of the repository.
const committed = ".."

// generated is what the generator makes, once for all tests.
var generated = sync.OnceValues(func() (map[string][]byte, error) { return generate(committed) })

// TestCommitted compares the committed files with what the generator makes: every
// file, and in package asm no other. As another run of the generator made them, it also
// shows that each run makes the same.
func TestCommitted(t *testing.T) {
	files, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if line := firstDifference(got, want); line > 0 {
			t.Errorf("%s differs from what gen makes, from line %d on: go run ./gen writes it anew", name, line)
		}
	}
	entries, err := os.ReadDir(filepath.Join(committed, asmDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[asmDir+"/"+e.Name()] == nil {
			t.Errorf("asm/%s does not come from gen: nothing in there is written by hand", e.Name())
		}
	}
}

// firstDifference returns the number of the first line that differs, 0 if none
// does.
func firstDifference(x, y []byte) int {
	xs, ys := bytes.Split(x, []byte("\n")), bytes.Split(y, []byte("\n"))
	for i := range max(len(xs), len(ys)) {
		if i >= len(xs) || i >= len(ys) || !bytes.Equal(xs[i], ys[i]) {
			return i + 1
		}
	}
	return 0
}

// TestNothingOnFailure: if one ISA fails, nothing is generated, not even the files of the
// ISAs before it.
func TestNothingOnFailure(t *testing.T) {
	defer func(list []architecture) { architectures = list }(architectures)
	broken := func(spec.Contracts) (spec.Output, error) { return spec.Output{}, errors.New("broken") }
	architectures = []architecture{{"amd64", []isa{{"avx2", amd64.Generator(emit.AVX2{})}, {"broken", broken}}, amd64.Pause}}
	files, err := generate(committed)
	if err == nil || files != nil {
		t.Errorf("generate() = %d files, %v; want none and an error", len(files), err)
	}
}
