package refs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlag finds packages whose tests do not know the flag: those fail where they are given it.
func TestFlag(t *testing.T) {
	known := map[string]bool{} // by folder with tests
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.Dir(path)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		known[dir] = known[dir] || dir == filepath.Join("..", "refs") || file.Name.Name == "refs"
		for _, spec := range file.Imports {
			switch strings.Trim(spec.Path.Value, `"`) {
			case "github.com/attn-go/attn/models/internal/refs", "github.com/attn-go/attn/models/internal/testweights", "github.com/attn-go/attn/models/internal/references":
				known[dir] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(known) < 10 {
		t.Errorf("found tests in %d folders only", len(known))
	}
	for dir, ok := range known {
		if !ok {
			t.Errorf("no test of %s imports models/internal/refs", dir)
		}
	}
}
