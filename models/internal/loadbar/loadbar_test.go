package loadbar

import (
	"bytes"
	"strings"
	"testing"
	"time"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestBar: there is no bar for a quick model nor off a terminal, and one that is drawn is removed.
func TestBar(t *testing.T) {
	var w bytes.Buffer
	if report, end := New(&w); report != nil {
		t.Error("a bar off a terminal")
	} else {
		end()
	}
	b := &bar{w: &w, begin: time.Now().Add(time.Hour)}
	for done := range int64(3) {
		b.report(done, 2)
	}
	if b.end(); w.Len() > 0 {
		t.Errorf("a quick model: %q", w.String())
	}
	b.begin = time.Now().Add(-2 * patience)
	b.report(0, 4)
	b.report(2, 4)
	if b.drawn == nil {
		t.Error("no bar")
	}
	if b.report(4, 4); b.drawn != nil || !strings.Contains(w.String(), "loading") || !strings.HasSuffix(w.String(), "\r") {
		t.Errorf("%q", w.String())
	}
}
