package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// tidy runs go mod tidy in the modules of some folders, or of all.
func (t *tree) tidy(ctx context.Context, dirs []string, out io.Writer) error {
	if len(dirs) == 0 {
		for _, m := range t.modules {
			dirs = append(dirs, m.dir)
		}
	}
	for _, dir := range dirs {
		if err := t.edit(ctx, dir, out, "mod", "tidy"); err != nil {
			return err
		}
	}
	return nil
}

// edit runs a go command that changes go.mod and go.sum in a module. It gets a copy of both
// in which the tree's modules are replaced by their folders.
func (t *tree) edit(ctx context.Context, dir string, out io.Writer, args ...string) error {
	m, err := t.in(dir)
	if err != nil {
		return err
	}
	f, err := t.parse(m)
	if err != nil {
		return err
	}
	for _, other := range t.modules {
		if other != m {
			if err := f.AddReplace(other.path, "", t.file(other.dir), ""); err != nil {
				return err
			}
		}
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	mod, sum := filepath.Join(temp, "x.mod"), filepath.Join(temp, "x.sum")
	text, err := f.Format()
	if err != nil {
		return err
	}
	if err := os.WriteFile(mod, text, 0o666); err != nil {
		return err
	}
	if err := copyFile(sum, t.file(m.dir, "go.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(out, "%s: go %s\n", m.dir, strings.Join(args, " "))
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = t.file(m.dir)
	// A module may need a newer Go than the one at hand.
	c.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=auto", "GOFLAGS=-mod=mod -modfile="+mod)
	if _, err := output(c); err != nil {
		return err
	}
	return t.writeBack(m, mod, sum)
}

// writeBack takes over a go.mod but for its replaces, and a go.sum.
func (t *tree) writeBack(m module, mod, sum string) error {
	text, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(mod, text, nil)
	if err != nil {
		return err
	}
	for _, other := range t.modules {
		if err := f.DropReplace(other.path, ""); err != nil {
			return err
		}
	}
	f.Cleanup()
	if text, err = f.Format(); err != nil {
		return err
	}
	if err := os.WriteFile(t.file(m.dir, "go.mod"), text, 0o666); err != nil {
		return err
	}
	err = copyFile(t.file(m.dir, "go.sum"), sum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the module requires nothing
	}
	return err
}

// in returns the module whose go.mod lies in a folder.
func (t *tree) in(dir string) (module, error) {
	for _, m := range t.modules {
		if m.dir == path.Clean(filepath.ToSlash(dir)) {
			return m, nil
		}
	}
	return module{}, fmt.Errorf("%s has no go.mod; name a folder from the root of the repository", dir)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666)
}
