package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// notes prints the section of CHANGELOG.md on a version.
func (t *tree) notes(version string, out io.Writer) error {
	text, err := os.ReadFile(t.file("CHANGELOG.md"))
	if err != nil {
		return err
	}
	section, err := changelog(string(text), version)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, section)
	return err
}

// changelog returns what stands below the heading of a version, "## v0.1.0" with any text behind
// it. Headings within move up a level, as the version's heading is the title of the release.
func changelog(text, version string) (string, error) {
	var section strings.Builder
	found := false
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); strings.HasPrefix(line, "## ") {
			if found {
				break
			}
			found = len(words) > 1 && strings.TrimSuffix(words[1], ",") == version
			continue
		}
		if found {
			if strings.HasPrefix(line, "###") {
				line = line[1:]
			}
			section.WriteString(line)
		}
	}
	notes := strings.TrimSpace(section.String())
	if notes == "" {
		return "", fmt.Errorf("CHANGELOG.md has nothing below a heading ## %s", version)
	}
	return notes + "\n", nil
}
