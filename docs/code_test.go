package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCode: the Go code of every page of the tree compiles. Each block stands, line by line, in a
// file example*_test.go or readme_test.go of the page's folder or below it, which the tests of its
// module compile.
func TestCode(t *testing.T) {
	pages := 0
	walk(t, "..", func(page string) {
		blocks := goBlocks(read(t, page))
		if filepath.Ext(page) != ".md" || len(blocks) == 0 {
			return
		}
		pages++
		var sources []string
		walk(t, filepath.Dir(page), func(path string) {
			name := filepath.Base(path)
			if name == "readme_test.go" || strings.HasPrefix(name, "example") && strings.HasSuffix(name, "_test.go") {
				sources = append(sources, read(t, path))
			}
		})
		for _, block := range blocks {
			if !slices.ContainsFunc(sources, func(source string) bool { return hasCode(source, block) }) {
				t.Errorf("%s: this stands in no example*_test.go or readme_test.go beside or below it:\n%s", page, block)
			}
		}
	})
	if pages == 0 {
		t.Error("no page has Go code")
	}
}

// TestHasCode: one line more, less or changed is found.
func TestHasCode(t *testing.T) {
	const source = "import (\n\"fmt\"\n\"log\"\n)\nx := f()\nif x {\ng()\n}\nfmt.Println(x)\n"
	for block, want := range map[string]bool{
		"x := f()\nif x {\n":               true,
		"x := f()\nfmt.Println(x)\n":       false,
		"x := f()\n...\nfmt.Println(x)\n":  true,
		"x := f(1)\n...\nfmt.Println(x)\n": false,
		"f()\n":                            false,
		"package main\n\nimport (\n\"fmt\"\n)\n\nfunc main() {\ng()\n}\nfmt.Println(x)\n}\n":  true,
		"package main\n\nimport (\n\"log\"\n)\n\nfunc main() {\ng()\nfmt.Println(x)\n}\n":     false,
		"package main\n\nimport (\n\"math\"\n)\n\nfunc main() {\ng()\n}\nfmt.Println(x)\n}\n": false,
	} {
		if got := hasCode(source, block); got != want {
			t.Errorf("%v, want %v:\n%s", got, want, block)
		}
	}
	if blocks := goBlocks("```go\na\n```\ntext\n```\nb\n```\n```go\nc\nd\n```\n```go\ne\n"); !slices.Equal(blocks, []string{"a\n", "c\nd\n", "e\n"}) {
		t.Errorf("blocks: %q", blocks)
	}
}

func walk(t *testing.T, dir string, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && strings.HasPrefix(name, "."):
			return fs.SkipDir
		case entry.Type().IsRegular() && (strings.HasSuffix(name, ".md") || strings.HasSuffix(name, "_test.go")):
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// read returns a file's lines without the white space around them.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		text.WriteString(strings.TrimSpace(line) + "\n")
	}
	return text.String()
}

// goBlocks returns the fenced blocks of Go in a page.
func goBlocks(page string) (blocks []string) {
	inside := false
	for line := range strings.Lines(page) {
		switch {
		case !inside && line == "```go\n":
			inside = true
			blocks = append(blocks, "")
		case inside && line == "```\n":
			inside = false
		case inside:
			blocks[len(blocks)-1] += line
		}
	}
	return blocks
}

// hasCode says whether a source has the lines of a block. A line of dots leaves something out. Of a
// program count the body of main, and every import for itself.
func hasCode(source, block string) bool {
	parts := strings.Split(block, "\n...\n")
	if program, ok := strings.CutPrefix(block, "package main\n"); ok {
		head, body, _ := strings.Cut(program, "\nfunc main() {\n")
		parts = slices.DeleteFunc(strings.Split(head, "\n"), func(line string) bool { return slices.Contains([]string{"", "import (", ")"}, line) })
		parts = append(parts, strings.TrimSuffix(body, "}\n"))
	}
	return !slices.ContainsFunc(parts, func(part string) bool {
		return !strings.Contains("\n"+source, "\n"+strings.TrimSuffix(part, "\n")+"\n")
	})
}
