package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/kernel"
)

// A path is a file of a run, and the option that names it.
type path struct{ option, name string }

// paths returns the files that a run writes.
func (o *Options) paths() []path {
	all := []path{{"Journal", o.Journal}, {"Journal", journal.LockPath(o.Journal)}, {"Rejected", o.Rejected}}
	for _, name := range o.Outputs {
		all = append(all, path{"Outputs", name})
	}
	return all
}

// checkPaths returns an error if a run would write a file that it reads, one file twice, a file
// within a folder that it reads, or one that is there and that no run has made.
func (o *Options) checkPaths() error {
	written := o.paths()
	for i, p := range written {
		if info, err := os.Stat(filepath.Dir(p.name)); err != nil || !info.IsDir() {
			return &kernel.Error{Where: "embed: " + p.option, Got: fmt.Sprintf("%q", p.name), Want: "a file in a folder that exists"}
		}
		for _, q := range written[:i] {
			if sameFile(p.name, q.name) {
				return &kernel.Error{Where: "embed: " + p.option, Got: fmt.Sprintf("%q", p.name), Want: fmt.Sprintf("another file than %s, which the run writes too", q.name)}
			}
		}
		for _, input := range o.Inputs {
			if input != "-" && isIn(p.name, input) {
				return &kernel.Error{Where: "embed: " + p.option, Got: fmt.Sprintf("%q", p.name), Want: fmt.Sprintf("a file that is not %s and not in it, as that is read", input)}
			}
		}
	}
	return o.checkStrangers()
}

// checkStrangers returns an error if an output is there already, unless the run of the journal
// makes it.
func (o *Options) checkStrangers() error {
	if o.Overwrite {
		return nil
	}
	made, err := journal.Files(o.Journal)
	if err != nil {
		return &kernel.Error{Where: "embed: Journal", Got: err.Error(), Want: "another file, or one that an earlier run has left"}
	}
	for _, p := range o.paths() {
		if p.option == "Journal" || slices.Contains(made, real(p.name)) {
			continue
		}
		if _, err := os.Lstat(p.name); !errors.Is(err, fs.ErrNotExist) {
			return &kernel.Error{Where: "embed: " + p.option, Got: fmt.Sprintf("%q, which is there and which the run of the journal does not make", p.name), Want: "another file, or Overwrite"}
		}
	}
	return nil
}

// files returns what the header of the journal says of the files that the run makes.
func (o *Options) files() []string {
	var names []string
	for _, p := range o.paths() {
		if p.option != "Journal" {
			names = append(names, real(p.name))
		}
	}
	return names
}

// sameFile tells whether two names are those of one file, which need not exist.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return real(a) == real(b)
}

// isIn tells whether a name is that of a file or folder, or of something below it.
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
