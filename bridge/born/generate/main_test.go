package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

const model = "../../../models/gobytes/data/gobytes.safetensors"

// TestRun: the three ways append the same text, and the table has all of them.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"-model", model, "-text", "// Read reads ", "-max", "6", "-runs", "1"}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"// Read reads a pree", "Born alone", "with attn's attention", "with both"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, &out)
		}
	}
}

// TestDefaultPrompt: the text of the command without flags begins with a function of Go, not with
// letters that repeat.
func TestDefaultPrompt(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-model", model, "-max", "30", "-runs", "1"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := "func (b *Buffer) Write(p []byte) error {\n\treturn b.Write(p)\n}\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %q, want %q first", &out, want)
	}
}

// TestErrors: bad command lines, a file that is missing, and a text that is too long.
func TestErrors(t *testing.T) {
	for _, args := range [][]string{
		{"-text", ""}, {"-max", "0"}, {"-runs", "0"}, {"-threads", "-1"}, {"more"}, {"-flag"},
		{"-model", "missing"}, {"-model", model, "-max", "600"}, {"-model", "main.go"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := run(t.Context(), []string{"-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-model", model}, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
