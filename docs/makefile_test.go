package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTargetsSayWhatTheyDo: targets that take minutes, the first of them to build something, begin
// with what they do and how long it takes.
func TestTargetsSayWhatTheyDo(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"test": "minutes", "models": "190 MB"} {
		recipe := regexp.MustCompile(`(?m)^` + target + `:.*\n((?:\t.*\n)+)`).FindStringSubmatch(string(makefile))
		if recipe == nil {
			t.Fatalf("there is no target %s", target)
		}
		said := ""
		for line := range strings.Lines(recipe[1]) {
			text, ok := strings.CutPrefix(line, "\t@echo ")
			if !ok {
				break
			}
			said += text
		}
		if !strings.Contains(said, want) {
			t.Errorf("make %s begins with %q, which does not say %q", target, said, want)
		}
	}
}

// TestSteps: the Makefile shows ten targets, and .ci/step has every step that a file names.
func TestSteps(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if shown := regexp.MustCompile(`(?m)^[a-z]+:.*## `).FindAllString(read("Makefile"), -1); len(shown) != 10 {
		t.Errorf("make shows %d targets, want 10", len(shown))
	}
	steps := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#: .*\n([a-z0-9-]+)\(\) `).FindAllStringSubmatch(read(".ci/step"), -1) {
		steps[m[1]] = true
	}
	named := 0
	names := []string{"Makefile", ".ci/run", ".github/workflows/ci.yml"}
	for _, page := range pages(t) {
		names = append(names, strings.TrimPrefix(filepath.ToSlash(page), "../"))
	}
	for _, name := range names {
		for _, m := range regexp.MustCompile(`\.ci/step ([a-z0-9-]+)`).FindAllStringSubmatch(read(name), -1) {
			if named++; !steps[m[1]] {
				t.Errorf("%s names %s, which is no step of .ci/step", name, m[0])
			}
		}
	}
	if named < 20 {
		t.Errorf("found %d steps in all files", named)
	}
}
