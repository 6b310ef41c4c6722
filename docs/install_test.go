package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplaceLines: where a page says how a module refers to a clone, each line names a module of
// the repository and its folder, and no required module is missing.
func TestReplaceLines(t *testing.T) {
	line := regexp.MustCompile(`(?m)^    go mod edit -replace ([^= ]+)=(\S+)$`)
	require := regexp.MustCompile(`(?m)^\s*(?:require )?(github\.com/attn-go/attn\S*) v`)
	for _, page := range []string{"../README.md", "../bridge/born/README.md", "../bridge/embeddings/README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		modules := map[string]string{} // go.mod by path
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			path, folder := m[1], regexp.MustCompile(`^(\.\./attn|/path/to/attn)`).ReplaceAllString(m[2], "..")
			data, err := os.ReadFile(filepath.Join(folder, "go.mod"))
			if err != nil || !strings.HasPrefix(string(data), "module "+path+"\n") {
				t.Errorf("%s: %s is not the module %s: %v", page, folder, path, err)
			}
			modules[path] = string(data)
		}
		if len(modules) == 0 {
			t.Errorf("%s has no line with -replace", page)
		}
		for path, mod := range modules {
			for _, m := range require.FindAllStringSubmatch(mod, -1) {
				if _, ok := modules[m[1]]; !ok {
					t.Errorf("%s has no -replace for %s, which %s requires", page, m[1], path)
				}
			}
		}
	}
}
