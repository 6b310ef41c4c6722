package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Packages without an example: no program calls what they have.
var withoutExample = []string{
	"asm", "fallback", // kernels, which package kernel calls
	"models/encoder/berttest", "models/encoder/minilmtest", // for tests
}

// TestExamples: every package that programs import has an example that runs, with which
// pkg.go.dev's page of the package begins.
func TestExamples(t *testing.T) {
	example := regexp.MustCompile(`(?s)\nfunc Example.*?\n// (Unordered output|Output):`) // read trims lines
	packages := 0
	err := filepath.WalkDir("..", func(dir string, d fs.DirEntry, err error) error {
		path, _ := filepath.Rel("..", dir)
		switch {
		case err != nil || !d.IsDir():
			return err
		case slices.Contains([]string{"internal", "testdata", ".git", "gen", "bench", "bridge", "docs"}, d.Name()) || slices.Contains(withoutExample, filepath.ToSlash(path)):
			return fs.SkipDir
		case !isPackage(t, dir):
			return nil
		}
		packages++
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if !slices.ContainsFunc(tests, func(name string) bool { return example.MatchString(read(t, name)) }) {
			t.Errorf("package %s has no example with output", path)
		}
		return err
	})
	if err != nil || packages < 40 {
		t.Errorf("%d packages, %v", packages, err)
	}
}

// TestIsPackage: programs that are not built with a package do not hide it.
func TestIsPackage(t *testing.T) {
	files := map[string]string{"a.go": "//go:build ignore\n\npackage main\n", "b_test.go": "package x\n"}
	for want, last := range map[bool]string{false: "package main\n", true: "package x\n"} {
		dir := t.TempDir()
		files["c.go"] = last
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := isPackage(t, dir); got != want {
			t.Errorf("the last file is %q: %v", last, got)
		}
	}
}

// isPackage tells whether a folder has a package that is no command.
func isPackage(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != "main" {
			return true
		}
	}
	return false
}
