package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rows = []Row{
	{Source: "a:1", ID: `"x"`, Vector: []float32{1, -0.5}},
	{Source: "a:2", Reason: "not UTF-8"},
	{Source: "<a>:3", ID: "7", Vector: []float32{0.1, 1e-30}},
}

func each(put func(Row) error) error {
	for _, r := range rows {
		if err := put(r); err != nil {
			return err
		}
	}
	return nil
}

// written returns the bytes of a file of rows. It writes the file twice and expects the same.
func written(t *testing.T, write func(name string) error, name string) []byte {
	t.Helper()
	var files [2][]byte
	path := filepath.Join(t.TempDir(), name)
	for i := range files {
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%s: two files of the same rows differ", name)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%s: %d files in the folder, want 1", name, len(left))
	}
	return files[0]
}

func write(name string) error { return Write(name, 2, int64(len(rows)), each) }

func TestJSONLines(t *testing.T) {
	want := `{"position":0,"id":"x","source":"a:1","embedding":[1,-0.5]}
{"position":1,"source":"a:2","embedding":null}
{"position":2,"id":7,"source":"<a>:3","embedding":[0.1,1e-30]}
`
	if got := written(t, write, "x.jsonl"); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRejected(t *testing.T) {
	want := `{"position":1,"source":"a:2","reason":"not UTF-8"}` + "\n"
	if got := written(t, func(name string) error { return WriteRejected(name, each) }, "x"); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNPY(t *testing.T) {
	got := written(t, write, "x.npy")
	if len(got) != 128+4*6 || !strings.Contains(string(got[:128]), "'shape': (3, 2), }") || got[127] != '\n' {
		t.Fatalf("got %q", got)
	}
	nan := math.Float32frombits(noVector)
	for i, want := range []float32{1, -0.5, nan, nan, 0.1, 1e-30} {
		if bits := binary.LittleEndian.Uint32(got[128+4*i:]); bits != math.Float32bits(want) {
			t.Errorf("number %d has the bits %#x, want those of %v", i, bits, want)
		}
	}
}

// TestFailure expects that a file stays as it was if writing it fails.
func TestFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, 2, 3, func(put func(Row) error) error { return broken })
	if data, _ := os.ReadFile(path); !errors.Is(err, broken) || string(data) != "old" {
		t.Errorf("got %v, the file is %q", err, data)
	}
	if err := Write("x.csv", 2, 3, each); err == nil || !strings.Contains(err.Error(), ".jsonl or .npy") {
		t.Errorf("got %v", err)
	}
}
