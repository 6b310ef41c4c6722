package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What the comments of all modules and the pages may have at most. The numbers only fall: whoever
// mends some lowers them.
const (
	mostWide   = 24 // lines of // comments of more than 100 columns, where a tab counts 4
	mostChains = 25 // "that of", "those of" and their like: say the name of the thing
)

var chain = regexp.MustCompile(`(?i)\b(that|those|what|which|one|ones) of\b`)

// TestComments counts wide lines and chains, and fails if there are more than before. It judges no
// style.
func TestComments(t *testing.T) {
	wide, chains := 0, 0
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "asm" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md" && d.Name() != "CHANGELOG.md":
			text, err := os.ReadFile(path)
			chains += len(chain.FindAll(text, -1))
			return err
		case filepath.Ext(path) != ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		lines := strings.Split(string(source), "\n")
		for _, group := range f.Comments {
			chains += len(chain.FindAllString(group.Text(), -1))
			for _, c := range group.List {
				line := lines[files.Position(c.Pos()).Line-1]
				columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
				if strings.HasPrefix(strings.TrimLeft(line, "\t "), "//") && columns > 100 {
					wide++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d wide lines, %d chains", wide, chains)
	if wide > mostWide {
		t.Errorf("%d lines of comments have more than 100 columns, want at most %d", wide, mostWide)
	}
	if chains > mostChains {
		t.Errorf(`comments and pages say "that of" and its like %d times, want at most %d`, chains, mostChains)
	}
}
