package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestLinks: links of pages to files of the repository lead to one, and to a heading that it has.
func TestLinks(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`), regexp.MustCompile("(?s)```.*?```")
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			to := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if m[2] != "" && !slices.Contains(anchors(t, to), m[2]) {
				t.Errorf("%s: %s has no heading %s", page, m[1], m[2])
			}
		}
	}
}

// pages returns the pages of all modules, without what tests read.
func pages(t *testing.T) (list []string) {
	walk(t, "..", func(path string) {
		if filepath.Ext(path) == ".md" && !strings.Contains(filepath.ToSlash(path), "/testdata/") {
			list = append(list, path)
		}
	})
	if len(list) < 20 {
		t.Errorf("found %d pages: %v", len(list), list)
	}
	return list
}

// anchors returns the anchors that GitHub gives the headings of a page.
func anchors(t *testing.T, page string) (found []string) {
	heading, other := regexp.MustCompile(`(?m)^#+ (.*)$`), regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	for _, m := range heading.FindAllStringSubmatch(read(t, page), -1) {
		found = append(found, "#"+strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return found
}
