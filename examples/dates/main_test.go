package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/examples/internal/program"
)

// TestRun: dates go out, one a line, and the pictures into their files.
func TestRun(t *testing.T) {
	texts, dates := references(t)
	dir := t.TempDir()
	svg, png := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.png")
	var out bytes.Buffer
	if err := run(append([]string{"-svg", svg, "-png", png, "-threads", "2"}, texts...), &out, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(dates, "\n") + "\n"; out.String() != want {
		t.Errorf("dates: %q, want %q", out.String(), want)
	}
	for name, start := range map[string]string{svg: "<?xml", png: "\x89PNG"} {
		if data, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(data), start) {
			t.Errorf("%s: %d bytes, error %v", name, len(data), err)
		}
	}
}

func TestUsage(t *testing.T) {
	none := func(args ...string) error {
		return run(append([]string{"-svg", "", "-png", ""}, args...), new(bytes.Buffer), new(bytes.Buffer))
	}
	for _, args := range [][]string{{}, {"-threads", "-1", "1.1.2000"}, {"-unknown"}} {
		if err := none(args...); !errors.As(err, new(program.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	for _, args := range [][]string{{"-tier", "none", "1.1.2000"}, {""}, {"€"}, {"-svg", "x.jpg", "1.1.2000"}} {
		if err := none(args...); err == nil || errors.As(err, new(program.UsageError)) {
			t.Errorf("%q: %v, want an error that is none of usage", args, err)
		}
	}
	if err := none("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
