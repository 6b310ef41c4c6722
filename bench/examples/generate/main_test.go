package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

// text runs the command and returns the text.
func text(t *testing.T, args ...string) string {
	t.Helper()
	var out, report bytes.Buffer
	if err := run(context.Background(), args, &out, &report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.String(), "gobytes appends") || !strings.Contains(report.String(), "tokens/s") {
		t.Errorf("report: %q, want what is done and how fast", report.String())
	}
	return out.String()
}

// TestSeed: a seed gives one text, with any tier and any number of threads.
func TestSeed(t *testing.T) {
	args := []string{"-text", "if err != nil {", "-max", "60", "-temp", "0.8", "-seed", "7"}
	want := text(t, args...)
	if !strings.HasPrefix(want, "if err != nil {") || len(want) < 60 {
		t.Errorf("text: %q", want)
	}
	for _, tier := range kernel.Tiers() {
		if got := text(t, append(args, "-tier", tier.String(), "-threads", "2")...); got != want {
			t.Errorf("%s: %q, want %q", tier, got, want)
		}
	}
	if text(t, append(args, "-seed", "8")...) == want {
		t.Error("another seed gives the same text")
	}
}

// TestOtherModel: the model of another program is an error that says what is missing, and names the file.
func TestOtherModel(t *testing.T) {
	const name = "../../../models/gobytes/testdata/activations/minilm.safetensors"
	err := run(context.Background(), []string{"-model", name}, new(bytes.Buffer), new(bytes.Buffer))
	if want := name + `: the metadata has no "config", the sizes of the model: want one that generate -train has written`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestContext: the text ends where the model's context is full, and the report says so.
func TestContext(t *testing.T) {
	var out, report bytes.Buffer
	if err := run(context.Background(), []string{"-text", strings.Repeat("x", 510), "-max", "10"}, &out, &report); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 512+len("\n") || !strings.Contains(report.String(), "is full") {
		t.Errorf("%d bytes of text, report %q, want 512 bytes and a full context", out.Len()-1, report.String())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-max", "x"}, {"-text", ""}, {"more"}, {"-max", "-1"}, {"-threads", "-1"}, {"-temp", "-1"}, {"-unknown"}, {"-tier", "none"}} {
		if err := run(context.Background(), args, new(bytes.Buffer), new(bytes.Buffer)); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	for _, args := range [][]string{{"-model", "/none"}, {"-text", strings.Repeat("x", 513)}} {
		if err := run(context.Background(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil || errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want an error that is no usage error", args, err)
		}
	}
	if err := run(context.Background(), []string{"-h"}, new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

// TestHeatmap: the picture in README.md is drawn with the same bytes on every tier.
func TestHeatmap(t *testing.T) {
	want, err := os.ReadFile("attention.svg")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.svg")
	draw := func(args ...string) error {
		return run(t.Context(), append(args, "-max", "0", "-heatmap", name), new(bytes.Buffer), new(bytes.Buffer))
	}
	for _, tier := range kernel.Tiers() {
		if err := draw("-text", "func main() {", "-tier", tier.String()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want those of attention.svg, error %v", tier, len(got), err)
		}
	}
	if err := draw("-text", "<\n \x00é"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"&lt;", `\n`, "·", `\x00`, `\xc3`} {
		if !strings.Contains(string(got), ">"+label+"</text>") {
			t.Errorf("the picture lacks the label %s", label)
		}
	}
	for _, args := range [][]string{{"-layer", "4"}, {"-layer", "-1"}, {"-text", strings.Repeat("x", maxDrawn+1)}, {"-train", "main.go"}} {
		if err := draw(args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
