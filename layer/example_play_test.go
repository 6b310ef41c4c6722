package layer_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// Every example has an expected output and can be run on the web: it is a program of
// its own together with the declarations of its file.
func TestExamplesCanBeRun(t *testing.T) {
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	examples := doc.Examples(files...)
	if len(examples) == 0 {
		t.Fatal("no examples")
	}
	for _, x := range examples {
		if x.Play == nil || x.Output == "" {
			t.Errorf("Example%s cannot be run, or has no output", x.Name)
		}
	}
}
