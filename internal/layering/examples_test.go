package layering

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExamples: every exported function of the library, constructors too, has an example with
// output.
func TestExamples(t *testing.T) {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	packages := map[string][]*ast.File{}
	for _, s := range sources {
		dir := path.Dir(s.name)
		if s.module.dir != "." || isInternal(dir) || slices.Contains(implementation, dir) {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, s.name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !s.isTest() || strings.HasSuffix(f.Name.Name, "_test") {
			packages[dir] = append(packages[dir], f)
		}
	}
	for dir, files := range packages {
		p, err := doc.NewFromFiles(fset, files, dir)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		functions := p.Funcs
		for _, typ := range p.Types {
			functions = append(functions, typ.Funcs...)
		}
		for _, f := range functions {
			if !slices.ContainsFunc(f.Examples, func(e *doc.Example) bool { return e.Output != "" }) {
				t.Errorf("%s.%s has no example with output", p.Name, f.Name)
			}
		}
	}
}
