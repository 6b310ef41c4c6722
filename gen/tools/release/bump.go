package main

import (
	"fmt"
	"os"
	"path"

	"golang.org/x/mod/modfile"
)

// bump writes a version into every go.mod that requires a module of the tree, and into the replaces
// of the go.work files.
func (t *tree) bump(version string) error {
	for _, m := range t.modules {
		text, err := t.bumped(m, version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.file(m.dir, "go.mod"), text, 0o666); err != nil {
			return err
		}
	}
	for _, name := range t.files {
		if path.Base(name) != "go.work" {
			continue
		}
		if err := t.bumpWork(name, version); err != nil {
			return err
		}
	}
	return nil
}

// bumped returns the go.mod of a module with a version for what it requires of the tree.
func (t *tree) bumped(m module, version string) ([]byte, error) {
	f, err := t.parse(m)
	if err != nil {
		return nil, err
	}
	for _, r := range f.Require {
		if t.has(r.Mod.Path) {
			if err := f.AddRequire(r.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	f.Cleanup()
	return f.Format()
}

// parse returns the go.mod of a module. A replace is an error: who requires the module would not
// have it.
func (t *tree) parse(m module) (*modfile.File, error) {
	name := t.file(m.dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	if len(f.Replace) > 0 {
		return nil, fmt.Errorf("%s replaces %s, which holds here alone; go.work is the place for that", name, f.Replace[0].Old.Path)
	}
	return f, nil
}

// bumpWork makes the replaces of a go.work hold for a version. The go command does not look for a
// version of a module that go.work replaces, so that it need not exist.
func (t *tree) bumpWork(name, version string) error {
	text, err := os.ReadFile(t.file(name))
	if err != nil {
		return err
	}
	f, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return err
	}
	for _, r := range f.Replace {
		if t.has(r.Old.Path) {
			r.Old.Version = version
			r.Syntax.Token[len(r.Syntax.Token)-3] = version // PATH VERSION => FOLDER
		}
	}
	return os.WriteFile(t.file(name), modfile.Format(f.Syntax), 0o666)
}
