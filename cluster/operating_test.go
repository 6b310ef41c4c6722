package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// placeholders are what the operator's page has in place of what differs, and the ends of names of
// metrics and folders.
var placeholders = regexp.MustCompile(`( on )?\.\.\.|\bN\b|\bNAME(-ID)?\b|\bW\.C\b|"SUBJECT"|\b2 of 2 workers|: |, want | / |[{].*| [<>=]+ .*`)

// Each alarm of the operator's page is in the sources, in the words that the page has.
func TestOperating(t *testing.T) {
	page, err := os.ReadFile("OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := "Permissions Violation for" // of NATS
	for _, root := range []string{".", "../models/server"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
				text, readErr := os.ReadFile(name)
				sources, err = sources+string(text), readErr
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	alarms := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(cells[1], -1) {
			for _, words := range placeholders.Split(strings.Trim(quoted, "`"), -1) {
				if words = strings.Trim(words, " ,()/"); len(words) < 4 {
					continue
				}
				alarms++
				if !strings.Contains(sources, strings.TrimSuffix(strings.TrimPrefix(words, "attn_cluster_"), "_total")) { // as monitor.tasks makes names
					t.Errorf("%s: no source says %q", quoted, words)
				}
			}
		}
	}
	if alarms < 30 {
		t.Errorf("the page has %d alarms", alarms)
	}
}
