package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// The command finds the model, says what holds, and tells what does not hold from what cannot be verified.
func TestRun(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := tinyllama.New(nil)
	f.AddVocabulary()
	model := f.Write(t)
	good, err := os.ReadFile("../receipt/testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, old, new string) string {
		path := filepath.Join(dir, name)
		text := strings.Replace(string(good), old, new, 1)
		if old != "" && text == string(good) {
			t.Fatalf("%s: the receipt has no %s", name, old)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, forged := file("right", "", ""), file("forged", `"seed":7`, `"seed":8`)
	for _, c := range []struct {
		args []string
		want string
		is   func(err error) bool
	}{
		{[]string{right, "-model", model}, ":1: all 24 tokens hold\n", func(err error) bool { return err == nil }},
		{[]string{right, "-model", model, "-spot", "3", "-tier", "generic", "-threads", "1", "-rehash"}, ":1: 3 of 24 tokens hold\n", func(err error) bool { return err == nil }},
		{[]string{forged, right, "-model", model}, "does not hold: receipt: tokens[", func(err error) bool { return errors.As(err, new(*receipt.Mismatch)) }},
		{[]string{forged, right, "-model", model}, ":1: all 24 tokens hold\n", func(err error) bool { return errors.As(err, new(*receipt.Mismatch)) }},
		{[]string{file("cut", "}", ""), "-model", model}, "", func(err error) bool { return errors.As(err, new(*receipt.FormatError)) }},
		{[]string{right}, "", func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{[]string{file("path", `"name":"tiny"`, `"name":"../tiny"`)}, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
		{[]string{right, "-model", filepath.Join(dir, "none")}, "", func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{nil, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
		{[]string{right, "-spot", "-1"}, "", func(err error) bool { return errors.As(err, new(command.UsageError)) }},
	} {
		var out strings.Builder
		if err := run(t.Context(), c.args, &out); !c.is(err) || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %q, %v", c.args, &out, err)
		}
	}
}
