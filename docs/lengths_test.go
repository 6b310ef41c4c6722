package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// A page is read once, from its beginning to its end. These are the lines that it may have at most:
// whoever adds something takes something out, or puts it where the details are.
var lengths = map[string]int{
	"README.md": 110, "CHANGELOG.md": 30, "CONTRIBUTING.md": 70, "SECURITY.md": 20,
	"docs/design.md": 150, "docs/extend.md": 90, "docs/integration.md": 150, "docs/benchmarks.md": 150,
	"docs/server.md": 115, "docs/receipts.md": 50, "docs/proofs.md": 95, "models/README.md": 120,
	"cluster/README.md": 115, "cluster/OPERATING.md": 50, "cluster/DESIGN.md": 50,
	"gen/README.md": 80, "contract/README.md": 80, "bench/results/README.md": 30,
}

// mostLines is how many lines all pages may have, but the text of the contract. The number only
// falls.
const mostLines = 1705

func TestLengths(t *testing.T) {
	all, found := 0, 0
	walk(t, "..", func(path string) {
		page, err := filepath.Rel("..", path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(page) != ".md" || filepath.ToSlash(page) == "contract/CONTRACT.md" {
			return
		}
		n := strings.Count(read(t, path), "\n")
		all += n
		if most, ok := lengths[filepath.ToSlash(page)]; ok {
			found++
			if n > most {
				t.Errorf("%s has %d lines, want at most %d", page, n, most)
			}
		}
	})
	if found != len(lengths) {
		t.Errorf("found %d of the %d pages with a limit", found, len(lengths))
	}
	if all > mostLines {
		t.Errorf("the pages have %d lines, want at most %d", all, mostLines)
	}
}
