package embed

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/kernel"
)

// No file is destroyed that a run has not made.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"in.jsonl", "old.npy", "old.npy.rejected.jsonl", "note.txt"} {
		if err := os.WriteFile(in(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(in("folder"), 0o700), os.Symlink(in("in.jsonl"), in("link.jsonl")), os.Symlink(in("folder"), in("other"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, makes := range map[string]Options{
		"own.journal":   {Outputs: []string{in("old.npy")}, Rejected: in("r")},
		"other.journal": {Outputs: []string{in("v.npy")}, Rejected: in("r")},
	} {
		j, err := journal.Open(in(name), journal.Header{Files: makes.files()}, nil)
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, x := range map[string]struct {
		field string // "" if the files are right
		o     Options
	}{
		"new":                    {"", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("v.npy")}}},
		"standard input":         {"", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy"), in("v.jsonl")}}},
		"beside the folder":      {"", Options{Inputs: []string{in("folder")}, Outputs: []string{in("folder2.npy")}}},
		"replaced":               {"", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("old.npy")}, Overwrite: true}},
		"over the input":         {"Outputs", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("in.jsonl")}, Overwrite: true}},
		"over the input's link":  {"Outputs", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("link.jsonl")}, Overwrite: true}},
		"list over the input":    {"Rejected", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("v.npy")}, Rejected: in("in.jsonl"), Overwrite: true}},
		"journal over the input": {"Journal", Options{Inputs: []string{in("in.jsonl")}, Outputs: []string{in("v.npy")}, Journal: in("in.jsonl")}},
		"list over vectors":      {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy")}, Rejected: in("v.npy")}},
		"journal over vectors":   {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy")}, Journal: in("folder/../v.npy")}},
		"one output twice":       {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy"), in("./v.npy")}}},
		"within the folder":      {"Journal", Options{Inputs: []string{in("folder")}, Outputs: []string{in("folder/v.jsonl")}}},
		"by another name":        {"Outputs", Options{Inputs: []string{in("folder")}, Outputs: []string{in("other/v.jsonl")}, Journal: in("j"), Rejected: in("r")}},
		"a stranger's":           {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("old.npy")}, Rejected: in("r")}},
		"a stranger's list":      {"Rejected", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy")}, Rejected: in("note.txt")}},
		"an empty journal":       {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("old.npy")}, Rejected: in("r"), Journal: in("empty")}},
		"a stranger's journal":   {"Journal", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy")}, Journal: in("note.txt")}},
		"another run's journal":  {"Outputs", Options{Inputs: []string{"-"}, Outputs: []string{in("old.npy")}, Rejected: in("r"), Journal: in("other.journal")}},
		"its own journal":        {"", Options{Inputs: []string{"-"}, Outputs: []string{in("old.npy")}, Rejected: in("r"), Journal: in("own.journal")}},
		"no folder":              {"Journal", Options{Inputs: []string{"-"}, Outputs: []string{in("v.npy")}, Journal: in("none/j")}},
	} {
		o := x.o
		if o.Rejected == "" {
			o.Rejected = o.Outputs[0] + ".rejected.jsonl"
		}
		if o.Journal == "" {
			o.Journal = o.Outputs[0] + ".journal"
		}
		var e *kernel.Error
		err := o.checkPaths()
		if x.field == "" && err != nil || x.field != "" && (!errors.As(err, &e) || e.Arg() != x.field) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
