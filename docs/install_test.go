package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplaceLines: where a page says how a module refers to a clone, each line names a module of the
// repository and its folder, and no module is missing that one of them requires.
func TestReplaceLines(t *testing.T) {
	line := regexp.MustCompile(`(?m)^    go mod edit -replace ([^= ]+)=(\S+)$`)
	require := regexp.MustCompile(`(?m)^\s*(?:require )?(github\.com/attn-go/attn\S*) v`)
	for _, page := range []string{"../README.md", "../examples/README.md", "../bridge/born/README.md", "../bridge/embeddings/README.md"} {
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

// TestBridgePrograms: the programs of the bridges' pages stand in examples, which are compiled.
func TestBridgePrograms(t *testing.T) {
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	for _, name := range []string{"born", "embeddings"} {
		page, err := os.ReadFile("../bridge/" + name + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		example, err := os.ReadFile("../bridge/" + name + "/example_test.go")
		if err != nil {
			t.Fatal(err)
		}
		programs := 0
		for _, m := range block.FindAllStringSubmatch(string(page), -1) {
			if strings.HasPrefix(m[1], "package main\n") {
				programs++
			}
			for code := range strings.Lines(m[1]) {
				if code = strings.TrimSpace(code); code != "package main" && code != "func main() {" && !strings.Contains(string(example), code+"\n") {
					t.Errorf("the example of %s has no line %q", name, code)
				}
			}
		}
		if programs == 0 {
			t.Errorf("the page of %s has no whole program", name)
		}
	}
}
