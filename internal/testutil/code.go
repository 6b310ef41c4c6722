package testutil

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// CheckCode compares the Go code in a document with examples, which compile and run as tests:
// each block must stand in one of the files, line by line. It returns the numbers of blocks and
// of examples.
func CheckCode(t *testing.T, document string, files ...string) (blocks, examples int) {
	t.Helper()
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
	code := "\n"
	for _, name := range files {
		code += strings.Join(read(name), "\n") + "\n"
	}
	text := read(document)
	for i, line := range text {
		if line != "```go" {
			continue
		}
		blocks++
		n := slices.Index(text[i+1:], "```")
		if n < 0 {
			t.Fatalf("%s:%d: the block has no end", document, i+1)
		}
		if !strings.Contains(code, "\n"+strings.Join(text[i+1:i+1+n], "\n")+"\n") {
			t.Errorf("%s:%d: the block is not in an example", document, i+1)
		}
	}
	return blocks, strings.Count(code, "\nfunc Example")
}
