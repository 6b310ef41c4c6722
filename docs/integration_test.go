package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// TestIntegration: each block of Go in integration.md stands in an example, line by line.
func TestIntegration(t *testing.T) {
	blocks, examples := testutil.CheckCode(t, "integration.md", "example_integration_test.go", "example_bytes_test.go")
	if blocks < examples {
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
