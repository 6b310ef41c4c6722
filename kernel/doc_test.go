package kernel_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// packageComments returns the package comments of a folder, by file.
func packageComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		var f *ast.File
		if f, err = parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, parser.PackageClauseOnly|parser.ParseComments); err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			comments[e.Name()] = f.Doc.Text()
		}
	}
	return comments
}

// What go doc prints of the package is short, begins with a call and says where the contract is.
func TestDocumentation(t *testing.T) {
	comments := packageComments(t, ".")
	doc := comments["doc.go"]
	if len(comments) != 1 || strings.Count(doc, "\n") > 100 {
		t.Errorf("package comments in %d files, that of doc.go has %d lines; want one of at most 100", len(comments), strings.Count(doc, "\n"))
	}
	before, _, _ := strings.Cut(doc, "\n# ")
	for _, want := range []string{"kernel.Attention(", "go doc github.com/attn-go/attn/contract"} {
		if !strings.Contains(before, want) {
			t.Errorf("the package comment has no %q before its first heading", want)
		}
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(before) {
		if code := strings.TrimSpace(line); strings.Contains(line, "kernel.") && !strings.Contains(string(examples), code+"\n") {
			t.Errorf("no example has the line %q of the package comment", code)
		}
	}
}

// The text of the contract is in the documentation of package contract, for the version of this
// code.
func TestContractIsDocumented(t *testing.T) {
	text := packageComments(t, "../contract")["numeric_contract.go"]
	for _, want := range []string{"# The numeric contract", fmt.Sprintf("This is version %d of the contract", kernel.Contract), "# Contract: arithmetic", "# Contract: backward"} {
		if !strings.Contains(text, want) {
			t.Errorf("the package comment of contract has no %q", want)
		}
	}
}
