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
	for _, name := range []string{"in.jsonl", "old.npy", "list.npy.rejected.jsonl", "own.npy", "other.npy.journal", "begun.npy"} {
		if err := os.WriteFile(in(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(in("folder"), 0o700), os.Symlink(in("in.jsonl"), in("link.jsonl")), os.Symlink(in("folder"), in("other")),
		os.Symlink(in("in.jsonl"), in("x.npy.journal")), os.WriteFile(in("begun.npy.journal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	own := Options{Output: in("own.npy")}
	if j, err := journal.Open(own.journal(), journal.Header{}, nil); err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		right bool
		o     Options
	}{
		"new":                    {true, Options{Inputs: []string{in("in.jsonl")}, Output: in("v.npy")}},
		"standard input":         {true, Options{Inputs: []string{"-"}, Output: in("v.npy")}},
		"beside the folder":      {true, Options{Inputs: []string{in("folder")}, Output: in("folder2.npy")}},
		"replaced":               {true, Options{Inputs: []string{in("in.jsonl")}, Output: in("old.npy"), Overwrite: true}},
		"its own journal":        {true, Options{Inputs: []string{"-"}, Output: in("own.npy")}},
		"over the input":         {false, Options{Inputs: []string{in("in.jsonl")}, Output: in("in.jsonl"), Overwrite: true}},
		"over the input's link":  {false, Options{Inputs: []string{in("in.jsonl")}, Output: in("link.jsonl"), Overwrite: true}},
		"list over the input":    {false, Options{Inputs: []string{in("list.npy.rejected.jsonl")}, Output: in("list.npy"), Overwrite: true}},
		"journal over the input": {false, Options{Inputs: []string{in("in.jsonl")}, Output: in("x.npy"), Overwrite: true}},
		"within the folder":      {false, Options{Inputs: []string{in("folder")}, Output: in("folder/v.jsonl")}},
		"by another name":        {false, Options{Inputs: []string{in("folder")}, Output: in("other/v.jsonl")}},
		"a stranger's":           {false, Options{Inputs: []string{"-"}, Output: in("old.npy")}},
		"a stranger's list":      {false, Options{Inputs: []string{"-"}, Output: in("list.npy")}},
		"an empty journal":       {false, Options{Inputs: []string{"-"}, Output: in("begun.npy")}},
		"no folder":              {false, Options{Inputs: []string{"-"}, Output: in("none/v.npy")}},
	} {
		var e *kernel.Error
		err := x.o.checkPaths()
		if x.right && err != nil || !x.right && (!errors.As(err, &e) || e.Arg() != "Output") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, overwrite := range []bool{false, true} {
		var e *kernel.Error
		o := Options{Inputs: []string{"-"}, Output: in("other.npy"), Overwrite: overwrite}
		if err := o.checkPaths(); !errors.As(err, &e) || !errors.Is(err, ErrMismatch) || e.Arg() != o.journal() {
			t.Errorf("a stranger's journal, overwrite %v: %v", overwrite, err)
		}
	}
}
