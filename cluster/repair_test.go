//go:build unix

package main

import (
	"strings"
	"testing"
)

// A worker that is interrupted hands over what it holds, so that nothing is lost although each
// block has one holder only.
func TestLeave(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a", "b")
	attend := func() {
		t.Helper()
		out, report, err := runCommand(t.Context(), "attend", "-server", p.url, "-name", "text", "-keys", "1500", "-tokens", "2", "-replicas", "1")
		if err != nil || !strings.Contains(out, "they have the bits that one machine gives") {
			t.Fatalf("%v\n%s%s", err, out, report)
		}
	}
	attend()
	p.workers["a"].interrupt(t)
	attend()
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || holds(out, "a") {
		t.Errorf("%v\n%s", err, out)
	}
}
