package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTargetsSayWhatTheyDo: targets that take minutes, the first of them to build something, begin with
// what they do and how long it takes.
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
