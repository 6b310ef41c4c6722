package main

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testTree returns a repository of two modules, of which one requires the other.
func testTree(t *testing.T) *tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE":        "license\n",
		"go.mod":         "module example.org/a\n\ngo 1.26.0\n",
		"a.go":           "package a\n",
		".gitignore":     "*.out\n",
		"x.out":          "ignored\n",
		"go.work":        "go 1.26.0\n\nuse (\n\t.\n\t./b\n)\n\nreplace example.org/a v0.0.0 => ./ // not there yet\n",
		"b/go.mod":       "module example.org/a/b\n\ngo 1.26.0\n\nrequire (\n\texample.org/a v0.0.0 // why\n\texample.org/z v1.2.3\n)\n",
		"b/b.go":         "package b\n",
		"gen/go.mod":     "module example.org/a/gen\n\ngo 1.26.0\n", // has no versions
		"b/c/testdata/x": "x\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(filepath.Join(dir, "b"))
	tree, err := readTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProxy: the zip of a module has its files, a LICENSE, and requires of the version; neither
// files of other modules nor files that git ignores.
func TestProxy(t *testing.T) {
	tree := testTree(t)
	dir := t.TempDir()
	if err := tree.writeProxy(dir, "v0.3.0"); err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string][]string{
		"example.org/a":   {".gitignore", "LICENSE", "a.go", "go.mod", "go.work"},
		"example.org/a/b": {"LICENSE", "b.go", "c/testdata/x", "go.mod"},
	} {
		at := filepath.Join(dir, module, "@v")
		z, err := zip.OpenReader(filepath.Join(at, "v0.3.0.zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		var got []string
		for _, f := range z.File {
			name, ok := strings.CutPrefix(f.Name, module+"@v0.3.0/")
			if !ok {
				t.Errorf("%s is not below the module's version", f.Name)
			}
			got = append(got, name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: files %q, want %q", module, got, want)
		}
		if list := read(t, filepath.Join(at, "list")); list != "v0.3.0\n" {
			t.Errorf("%s: versions %q", module, list)
		}
	}
	mod := read(t, filepath.Join(dir, "example.org/a/b/@v/v0.3.0.mod"))
	if want := "module example.org/a/b\n\ngo 1.26.0\n\nrequire (\n\texample.org/a v0.3.0 // why\n\texample.org/z v1.2.3\n)\n"; mod != want {
		t.Errorf("go.mod %q, want %q", mod, want)
	}
}

// TestBump: every require and replace of a module of the tree has the version, and nothing else
// changes.
func TestBump(t *testing.T) {
	tree := testTree(t)
	if err := tree.bump("v0.3.0"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.mod":   "module example.org/a\n\ngo 1.26.0\n",
		"b/go.mod": "module example.org/a/b\n\ngo 1.26.0\n\nrequire (\n\texample.org/a v0.3.0 // why\n\texample.org/z v1.2.3\n)\n",
		"go.work":  "go 1.26.0\n\nuse (\n\t.\n\t./b\n)\n\nreplace example.org/a v0.3.0 => ./ // not there yet\n",
	} {
		if got := read(t, tree.file(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestReplaces: a go.mod with a replace is no release.
func TestReplaces(t *testing.T) {
	tree := testTree(t)
	name := tree.file("b", "go.mod")
	if err := os.WriteFile(name, []byte(read(t, name)+"\nreplace example.org/a => ../\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"bump":       tree.bump("v0.3.0"),
		"writeProxy": tree.writeProxy(t.TempDir(), "v0.3.0"),
		"edit":       tree.edit(t.Context(), "b", t.Output(), "mod", "tidy"),
	} {
		if err == nil || !strings.Contains(err.Error(), "replaces example.org/a") {
			t.Errorf("%s: error %v, want one about the replace", what, err)
		}
	}
}

// TestEdit: a go command that needs a module of the tree gets it from its folder, and go.mod has no
// replace afterwards.
func TestEdit(t *testing.T) {
	tree := testTree(t)
	if err := os.WriteFile(tree.file("b", "b.go"), []byte("package b\n\nimport _ \"example.org/a\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := tree.tidy(t.Context(), []string{"b/"}, t.Output()); err != nil {
		t.Fatal(err)
	}
	// No package imports z.
	if got, want := read(t, tree.file("b", "go.mod")), "module example.org/a/b\n\ngo 1.26.0\n\nrequire example.org/a v0.0.0 // why\n"; got != want {
		t.Errorf("go.mod %q, want %q", got, want)
	}
	if err := tree.tidy(t.Context(), []string{"b/c"}, t.Output()); err == nil {
		t.Error("no error of a folder without go.mod")
	}
}

// TestNotes: the section of a version, with its headings a level higher.
func TestNotes(t *testing.T) {
	const text = "# Changelog\n\n## Unreleased\n\nnew\n\n## v0.3.0, 1 May\n\nIntro.\n\n### A\n\n- x\n\n## v0.2.0\n\n## v0.1.0\n\nfirst"
	for version, want := range map[string]string{
		"v0.3.0":     "Intro.\n\n## A\n\n- x\n",
		"v0.1.0":     "first\n",
		"v0.2.0":     "",
		"v0.3":       "",
		"Unreleased": "new\n",
	} {
		got, err := changelog(text, version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
}

// TestFlags: a stranger's commands have flags that change no package, and no others.
func TestFlags(t *testing.T) {
	for _, x := range [][2]string{
		{"", ""},
		{"-trimpath -p=2  -gcflags=all=-dwarf=false -ldflags=-w", " -p=2 -gcflags=all=-dwarf=false -ldflags=-w"},
		{"-mod=mod -modfile=x.mod -tags=purego -race -overlay=o.json -pgo=off --p=1 -toolexec=x", ""},
		{"'-ldflags=-w -s' -p=1", " -p=1"},
	} {
		if got := harmless(x[0]); got != x[1] {
			t.Errorf("of %q are harmless %q, want %q", x[0], got, x[1])
		}
	}
}

// TestArguments: what cannot be a version or a command is an error.
func TestArguments(t *testing.T) {
	testTree(t)
	for _, args := range [][]string{{}, {"publish"}, {"bump"}, {"bump", "0.1.0"}, {"tags", "v1"}, {"notes", "v0.1.0"}, {"get", "b"}, {"stranger", "-version", "1"}, {"stranger", "x"}} {
		if err := run(t.Context(), args, t.Output()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"tags", "v0.1.0"}, &out); err != nil || out.String() != "v0.1.0\nb/v0.1.0\n" {
		t.Errorf("tags: %q, %v", out.String(), err)
	}
}
