package docs_test

import (
	"os"
	"strings"
	"testing"
)

// A page is read once, from its beginning to its end. These are the lines that it may have at most:
// whoever adds something takes something out, or puts it where the details are.
var lengths = map[string]int{
	"README.md": 110, "CHANGELOG.md": 30, "CONTRIBUTING.md": 70, "SECURITY.md": 20,
	"docs/design.md": 150, "docs/extend.md": 90, "docs/integration.md": 150, "docs/benchmarks.md": 150,
	"docs/server.md": 120, "docs/receipts.md": 50, "docs/proofs.md": 95,
	"models/README.md": 120, "cluster/README.md": 120, "gen/README.md": 90, "contract/README.md": 80,
}

func TestLengths(t *testing.T) {
	for page, most := range lengths {
		text, err := os.ReadFile("../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s has %d lines, want at most %d", page, n, most)
		}
	}
}
