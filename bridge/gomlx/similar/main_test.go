package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/attn-go/attn/models/weights"
)

// TestRun: the similarities are those that sentence-transformers gives, with either attention.
func TestRun(t *testing.T) {
	if _, err := weights.Find(weights.MiniLM); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	previous := hook.Get()
	t.Cleanup(func() { hook.Set(previous) })
	for _, flag := range []string{"-own=false", "-own"} {
		hook.Set(previous)
		var out, report bytes.Buffer
		if err := run([]string{"-text", "The cat sits on the mat.", "-text", "A cat is sitting on a rug.", "-text", "Shares dropped a lot two days ago.", flag}, &out, &report); err != nil {
			t.Fatal(err)
		}
		if want := regexp.MustCompile(`^ 0\.\d{3}  A cat .*\n *-?0\.\d{3}  Shares .*\n$`); !want.Match(out.Bytes()) {
			t.Errorf("%s: the output is %q", flag, &out)
		}
		t.Logf("%s", &out)
	}
}

// TestArguments: a command line that does not fit is an error.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"missing"}, {"-text", "one"}, {"-unknown"}, {"-model", "missing", "-text", "a", "-text", "b"}} {
		if err := run(args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
