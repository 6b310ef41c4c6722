package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestIntegration: integration.md has a block of Go for each of its examples.
func TestIntegration(t *testing.T) {
	examples := 0
	for _, name := range []string{"example_integration_test.go", "example_bytes_test.go"} {
		examples += strings.Count(read(t, name), "\nfunc Example")
	}
	if blocks := len(goBlocks(read(t, "integration.md"))); blocks < examples {
		t.Errorf("integration.md has %d blocks of Go, fewer than the %d examples", blocks, examples)
	}
}

// TestLinks: links of pages of this folder and of README.md to files of the repository lead to one.
func TestLinks(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`), regexp.MustCompile("(?s)```.*?```")
	for _, page := range []string{"integration.md", "../README.md", "../bridge/born/README.md", "../bridge/gomlx/README.md", "../bridge/embeddings/README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
