package layering

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// untagged are the folders of modules that have no versions: nobody requires them. What they are
// built with lies beside them, so that they may import what is internal to the root.
var untagged = []string{"bench", "gen"}

// TestModules: a module of the tree imports of another one public packages only, in its code and in
// its tests, and requires the module in its go.mod. Modules have versions of their own: what is
// internal may have changed, and what is not required is there in this tree alone. Nor has a go.mod
// a replace, as it holds in this tree alone. Those without versions import what is internal to the
// root, too, and no other module requires them.
func TestModules(t *testing.T) {
	modules, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) == 1 {
		t.Skip("NOT RUN: what other modules import, as they are not here")
	}
	for _, fault := range faults(modules, sources) {
		t.Error(fault)
	}
}

// faults says which imports and replaces a module must not have.
func faults(modules []*module, sources []*source) (list []string) {
	for _, m := range modules {
		if m.replaces {
			list = append(list, fmt.Sprintf("%s/go.mod has a replace, which is for go.work", m.dir))
		}
		for _, other := range modules {
			if slices.Contains(untagged, other.dir) && slices.Contains(m.requires, other.path) {
				list = append(list, fmt.Sprintf("%s/go.mod requires %s, which has no versions", m.dir, other.path))
			}
		}
	}
	for _, s := range sources {
		for _, pkg := range s.imports {
			m := owner(modules, pkg)
			switch {
			case m == nil || m == s.module:
			case isInternal(pkg) && !(m.dir == "." && slices.Contains(untagged, s.module.dir)):
				list = append(list, fmt.Sprintf("%s imports %s, which is internal to another module", s.name, pkg))
			case !slices.Contains(s.module.requires, m.path):
				list = append(list, fmt.Sprintf("%s imports %s, and %s/go.mod does not require its module", s.name, pkg, s.module.dir))
			}
		}
	}
	return list
}

// TestFaults: every import and replace that TestModules is for is found.
func TestFaults(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module example.org/a\n\ngo 1.26\n",
		"a.go":                  "package a\n\nimport _ \"example.org/a/internal/x\"\n",
		"internal/x/x.go":       "package x\n",
		"b/go.mod":              "module example.org/a/b\n\nrequire example.org/a v0.0.0\n\nreplace example.org/a => ../\n",
		"b/b.go":                "package b\n\nimport (\n\t_ \"example.org/a\"\n\t_ \"example.org/a/b/internal/y\"\n\t_ \"example.org/z/internal/x\"\n)\n",
		"b/b_test.go":           "package b\n\nimport _ \"example.org/a/internal/x\"\n",
		"b/internal/y/y.go":     "package y\n",
		"b/testdata/x/x.go":     "package x\n\nimport _ \"example.org/a/internal/x\"\n",
		"b/c/go.mod":            "module example.org/a/b/c\n\nrequire (\n\texample.org/a v0.0.0 // indirect\n\texample.org/z v1.2.3\n)\n",
		"b/c/c.go":              "package c\n\nimport (\n\t_ \"example.org/a\"\n\t_ \"example.org/a/b\"\n)\n",
		"b/c/inner/inner.go":    "package inner\n\nimport _ \"example.org/a/b/internal/y\"\n",
		"gen/go.mod":            "module example.org/a/gen\n\nrequire example.org/a v0.0.0\n",
		"gen/g.go":              "package gen\n\nimport (\n\t_ \"example.org/a/internal/x\"\n\t_ \"example.org/a/b/internal/y\"\n)\n",
		"b/d/go.mod":            "module example.org/a/b/d\n\nrequire example.org/a/gen v0.0.0\n",
		"b/_old/x.go":           "package old\n\nimport _ \"example.org/a/internal/x\"\n",
		"internal/other/go.mod": "module example.org/a/internal/other\n",
		"internal/other/o.go":   "package other\n\nimport _ \"example.org/a/internal/x\"\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	modules, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range faults(modules, sources) {
		got = append(got, strings.ReplaceAll(strings.SplitN(fault, ",", 2)[0], "example.org/", ""))
	}
	slices.Sort(got)
	want := []string{
		"b/b_test.go imports a/internal/x",
		"b/c/c.go imports a/b",
		"b/c/inner/inner.go imports a/b/internal/y",
		"b/d/go.mod requires a/gen",
		"b/go.mod has a replace",
		"gen/g.go imports a/b/internal/y",
		"internal/other/o.go imports a/internal/x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults %q, want %q", got, want)
	}
}
