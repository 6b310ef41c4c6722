package command

import (
	"flag"
	"strings"
	"testing"
)

// TestFloat: 0 becomes another number, and the help shows what a user writes.
func TestFloat(t *testing.T) {
	var x float64
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	Float(fs, &x, "share", 0.9, -7, "a `share`")
	if x != 0.9 || fs.Lookup("share").DefValue != "0.9" {
		t.Errorf("%v, %+v", x, fs.Lookup("share"))
	}
	for text, want := range map[string]float64{"0": -7, "-0.0": -7, "0.25": 0.25, "-1": -1} {
		if err := fs.Set("share", text); err != nil || x != want {
			t.Errorf("%q: %v, %v, want %v", text, x, err, want)
		}
	}
	if err := fs.Set("share", "half"); err == nil {
		t.Error("a word is a number")
	}
	var help strings.Builder
	fs.SetOutput(&help)
	fs.PrintDefaults()
	if !strings.Contains(help.String(), "-share share") || !strings.Contains(help.String(), "(default 0.9)") {
		t.Error(help.String())
	}
}
