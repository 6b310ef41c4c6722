package abi0

import (
	"strings"
	"testing"
)

// TestComment: lines are as full as 100 columns allow, and keep all words.
func TestComment(t *testing.T) {
	doc := strings.TrimSpace(strings.Repeat("Für ", 60))
	lines := Comment(doc)
	if got := strings.Join(lines, " "); got != doc {
		t.Errorf("got %q", got)
	}
	if len(lines) != 3 || len([]rune(lines[0])) != 95 { // 24 words and slashes are 98 columns
		t.Errorf("got %d lines, the first %q", len(lines), lines[0])
	}
}
