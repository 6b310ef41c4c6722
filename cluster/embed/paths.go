package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/kernel"
)

// journal and rejected are the names of the journal and of the list of rejected texts.
func (o *Options) journal() string  { return o.Output + ".journal" }
func (o *Options) rejected() string { return o.Output + ".rejected.jsonl" }

// checkPaths returns an error if a run would write a file that it reads, one within a folder that
// it reads, or one that is there and that no run has made. The error is of the kind [ErrMismatch]
// if what has the name of the journal is none.
func (o *Options) checkPaths() error {
	refuse := func(name, want string) error {
		return &kernel.Error{Where: "embed: Output", Got: fmt.Sprintf("%q", name), Want: want}
	}
	if info, err := os.Stat(filepath.Dir(o.Output)); err != nil || !info.IsDir() {
		return refuse(o.Output, "a file in a folder that exists")
	}
	for _, name := range []string{o.Output, o.rejected(), o.journal(), journal.LockPath(o.journal())} {
		for _, input := range o.Inputs {
			if input != "-" && isIn(name, input) {
				return refuse(name, fmt.Sprintf("a file that is not %s and not in it, as that is read", input))
			}
		}
	}
	if begun, err := journal.Begun(o.journal()); err != nil || begun || o.Overwrite {
		return err
	}
	for _, name := range []string{o.Output, o.rejected()} { // no run goes on that has made them
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return refuse(name, "a file that is not there, or Overwrite")
		}
	}
	return nil
}

// sameFile tells whether two names mean one file, which need not exist.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return real(a) == real(b)
}

// isIn tells whether a name means a file or folder, or something below it.
func isIn(name, folder string) bool {
	if sameFile(name, folder) {
		return true
	}
	below, err := filepath.Rel(real(folder), real(name))
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}

// real returns the absolute name without symbolic links of a file that need not exist in a folder
// that does.
func real(name string) string {
	if all, err := filepath.EvalSymlinks(name); err == nil {
		name = all
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(dir, filepath.Base(name))
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}
