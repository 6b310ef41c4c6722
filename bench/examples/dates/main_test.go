package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
)

// TestRun: dates and probabilities go to out, one a line. The pictures are drawn and
// reported.
func TestRun(t *testing.T) {
	texts, dates := references(t)
	dir := t.TempDir()
	svg, png := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.png")
	list := filepath.Join(dir, "dates.txt")
	if err := os.WriteFile(list, []byte(strings.Join(texts, "\n\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, report bytes.Buffer
	if err := run([]string{list, "-svg", svg, "-png", png, "-threads", "2"}, &out, &report); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(dates) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(dates), out.String())
	}
	for i, line := range lines {
		if want := dates[i] + "  probability 0.99"; !strings.HasPrefix(line, want) || strings.Contains(line, "TRUST") {
			t.Errorf("%q: %q, want %q and no doubt", texts[i], line, want)
		}
	}
	if got, want := report.String(), "wrote "+png+", "+svg+"\n"; got != want {
		t.Errorf("report: %q, want %q", got, want)
	}
	for name, start := range map[string]string{svg: "<?xml", png: "\x89PNG"} {
		if data, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(data), start) {
			t.Errorf("%s: %d bytes, error %v", name, len(data), err)
		}
	}
}

// TestDefaultFiles: without flags the pictures go to the user's cache folder, and nothing is left where
// the command runs.
func TestDefaultFiles(t *testing.T) {
	cache, here := t.TempDir(), t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	t.Chdir(here)
	var report bytes.Buffer
	if err := run([]string{"-text", "Saturday, November 21, 2026"}, new(bytes.Buffer), &report); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(here); err != nil || len(files) > 0 {
		t.Errorf("the command has left %v, %v", files, err)
	}
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(report.String(), "wrote "), "\n"), ", ")
	for _, name := range names {
		if _, err := os.Stat(name); err != nil || !strings.HasPrefix(name, cache) {
			t.Errorf("%s is not in %s: %v", name, cache, err)
		}
	}
	if len(names) != 2 {
		t.Errorf("report: %q", &report)
	}
}

// TestOtherWeights: the model of another program is an error that says what is missing, and names the
// file.
func TestOtherWeights(t *testing.T) {
	const name = "../../../models/gobytes/data/gobytes.safetensors"
	err := run([]string{"-svg", "", "-png", "", "-model", name, "-text", "1.1.2000"}, new(bytes.Buffer), new(bytes.Buffer))
	if want := name + `: the metadata has no "input", the alphabet of the input: want a model that dates -train has written`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestDoubt: an answer that is not to be trusted says so, with the formats that are known.
func TestDoubt(t *testing.T) {
	for text, want := range map[string]string{
		"hello":            "unsure",
		"11/21/2026":       "unsure",
		"31 February 2020": "not a day of the calendar",
		"12 March 1850":    "the years 1900 to 2099",
	} {
		var out, report bytes.Buffer
		if err := run([]string{"-svg", "", "-png", "", "-text", text}, &out, &report); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "DO NOT TRUST IT") || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %q, want a doubt with %q", text, out.String(), want)
		}
		if !strings.Contains(report.String(), formats[0]) {
			t.Errorf("%q: the report lists no formats: %q", text, report.String())
		}
	}
	err := run([]string{"-svg", "", "-png", "", "-text", "2026-11-21"}, new(bytes.Buffer), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), formats[0]) {
		t.Errorf("an unknown character: %v, want an error that lists the formats", err)
	}
}

func TestUsage(t *testing.T) {
	none := func(args ...string) error {
		return run(append([]string{"-svg", "", "-png", ""}, args...), new(bytes.Buffer), new(bytes.Buffer))
	}
	for _, args := range [][]string{{}, {"-threads", "-1", "-text", "1.1.2000"}, {"-unknown"}, {"-train", "-text", "1.1.2000"}, {"-tier", "none", "-text", "1.1.2000"}} {
		if err := none(args...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	for _, args := range [][]string{{"-text", ""}, {"-text", "€"}, {"-svg", "x.jpg", "-text", "1.1.2000"}, {"1.1.2000"}} {
		if err := none(args...); err == nil || errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want an error that is no usage error", args, err)
		}
	}
	if err := none("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
