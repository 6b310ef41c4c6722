package kernel_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadme compares the README's Go code with the examples of all packages, which
// compile and run: each block must stand in one of them, line by line.
func TestReadme(t *testing.T) {
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
	readme := read("../README.md")
	files, err := filepath.Glob("../*/example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := "\n"
	for _, name := range files {
		examples += strings.Join(read(name), "\n") + "\n"
	}

	blocks := 0
	for i, line := range readme {
		if line != "```go" {
			continue
		}
		blocks++
		n := slices.Index(readme[i+1:], "```")
		if n < 0 {
			t.Fatalf("README.md:%d: the block has no end", i+1)
		}
		if !strings.Contains(examples, "\n"+strings.Join(readme[i+1:i+1+n], "\n")+"\n") {
			t.Errorf("README.md:%d: the block is not in an example", i+1)
		}
	}
	if blocks == 0 {
		t.Error("README.md has no Go code")
	}
}
