package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
)

// TestTrain: the command trains, reports, can be interrupted and resumed to the same weights, and its
// file generates text.
func TestTrain(t *testing.T) {
	dir := t.TempDir()
	name, file := filepath.Join(dir, "text"), filepath.Join(dir, "m.safetensors")
	if err := os.WriteFile(name, []byte(strings.Repeat("some text ", 10)), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-train", name, "-model", file, "-steps", "2", "-batch", "1", "-length", "8"}
	train := func(ctx context.Context, more ...string) (string, error) {
		var out, report bytes.Buffer
		err := run(ctx, append(more, args...), &out, &report)
		if err == nil && !strings.Contains(report.String(), "wrote "+file) {
			t.Errorf("report: %s", report.String())
		}
		return out.String(), err
	}
	want, err := train(t.Context())
	if err != nil || !strings.Contains(want, "seed 1\nweights  sha256 ") {
		t.Fatalf("%s, error %v", want, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := train(stopped); err == nil || !strings.Contains(err.Error(), "after step 1 of 2") {
		t.Errorf("interrupted: error %v", err)
	}
	if got, err := train(t.Context(), "-resume", "-threads", "2"); err != nil || got != want {
		t.Errorf("resumed: %s, want %s, error %v", got, want, err)
	}
	if got := len(textOf(t, "-model", file, "-max", "5")); got < 5 {
		t.Errorf("a text of %d bytes", got)
	}
	for _, args := range [][]string{{"-resume"}, {"-train", name, "-steps", "0"}} {
		if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	if err := run(t.Context(), []string{"-train", filepath.Join(dir, "none")}, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
		t.Error("no text: no error")
	}
}

// textOf runs the command and returns the text.
func textOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, &out, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
