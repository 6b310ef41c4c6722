package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A tree is the repository as its files lie: those under version control, and new ones that git
// does not ignore.
type tree struct {
	root    string
	files   []string // with slashes, from the root, sorted
	modules []module // the root's first
}

// A module has a go.mod in the tree.
type module struct {
	dir  string // with slashes, from the root of the tree; "." is the root
	path string
	goes string // the Go version that it needs, such as go1.26.0
}

// tag returns the name of the tag that gives the module a version.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

// untagged are the folders of modules without versions: nothing requires them.
var untagged = []string{"bench", "gen"}

// released returns the modules that have versions.
func (t *tree) released() []module {
	return slices.DeleteFunc(slices.Clone(t.modules), func(m module) bool { return slices.Contains(untagged, m.dir) })
}

// readTree returns the tree around the current folder.
func readTree(ctx context.Context) (*tree, error) {
	root, err := output(exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel"))
	if err != nil {
		return nil, err
	}
	t := &tree{root: filepath.FromSlash(strings.TrimSpace(root))}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = t.root
	names, err := output(list)
	if err != nil {
		return nil, err
	}
	t.files = strings.Split(strings.TrimSuffix(names, "\x00"), "\x00")
	slices.Sort(t.files)
	t.files = slices.DeleteFunc(slices.Compact(t.files), func(name string) bool {
		info, err := os.Lstat(t.file(name))
		return err != nil || !info.Mode().IsRegular() // removed, or no file
	})
	return t, t.findModules()
}

func (t *tree) findModules() error {
	for _, name := range t.files {
		if path.Base(name) != "go.mod" || strings.Contains(name, "testdata/") {
			continue
		}
		text, err := os.ReadFile(t.file(name))
		if err != nil {
			return err
		}
		f, err := modfile.ParseLax(name, text, nil)
		if err != nil {
			return err
		}
		if f.Module == nil || f.Go == nil {
			return fmt.Errorf("%s names no module, or no Go version", name)
		}
		m := module{path.Dir(name), f.Module.Mod.Path, "go" + f.Go.Version}
		t.modules = append(t.modules, m)
	}
	slices.SortFunc(t.modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	if len(t.modules) == 0 || t.modules[0].dir != "." {
		return fmt.Errorf("%s has no go.mod, or its module is no prefix of the others", t.root)
	}
	return nil
}

// file returns the path of a file of the tree.
func (t *tree) file(name ...string) string {
	return filepath.Join(t.root, filepath.FromSlash(path.Join(name...)))
}

// has tells whether the tree has a module of a path.
func (t *tree) has(path string) bool {
	return slices.ContainsFunc(t.modules, func(m module) bool { return m.path == path })
}

// output runs a command and returns what it prints. An error has what it wrote to stderr.
func output(c *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
