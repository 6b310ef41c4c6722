package docs_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEmbedding: each block of Go in embedding.md stands in an example, line by line. The
// examples compile and run as tests.
func TestEmbedding(t *testing.T) {
	read := func(name string) (lines []string) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	guide := read("embedding.md")
	files := append(read("example_embedding_test.go"), read("example_bytes_test.go")...)
	examples := "\n" + strings.Join(files, "\n") + "\n"
	blocks := 0
	for i, line := range guide {
		if line != "```go" {
			continue
		}
		blocks++
		n := slices.Index(guide[i+1:], "```")
		if n < 0 {
			t.Fatalf("embedding.md:%d: the block has no end", i+1)
		}
		if !strings.Contains(examples, "\n"+strings.Join(guide[i+1:i+1+n], "\n")+"\n") {
			t.Errorf("embedding.md:%d: the block is not in an example", i+1)
		}
	}
	if blocks < strings.Count(examples, "\nfunc Example") {
		t.Errorf("embedding.md has %d blocks of Go, fewer than there are examples", blocks)
	}
}
