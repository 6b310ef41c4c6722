package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
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
		return f.Name.Name != "main"
	}
	return false
}
