package serving

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
)

// TestAdapters: -lora and -draft-model are of one model, and a wrong one is a usage error.
func TestAdapters(t *testing.T) {
	for _, c := range []struct {
		args []string
		ok   bool
	}{
		{[]string{"-model", "a", "-lora", "x", "-lora", "y=2"}, true},
		{[]string{"-model", "a", "-model", "b", "-lora", "x"}, false},
		{[]string{"-model", "a", "-models", "b", "-lora", "x"}, false},
		{[]string{"-model", "a", "-lora", "x=0"}, false},
		{[]string{"-model", "a", "-draft-model", "b"}, true},
		{[]string{"-model", "a", "-draft-model", "b", "-draft", "2"}, true},
		{[]string{"-model", "a", "-draft-model", "b", "-draft", "0"}, false},
		{[]string{"-model", "a", "-model", "c", "-draft-model", "b"}, false},
		{[]string{"-models", "a", "-draft-model", "b"}, false},
		{[]string{"-model", "a", "-draft", "2"}, false},
		{[]string{"-model", "a", "-mtp"}, true},
		{[]string{"-model", "a", "-mtp", "-draft", "2"}, true},
		{[]string{"-model", "a", "-mtp", "-model", "b"}, false},
		{[]string{"-models", "a", "-mtp"}, false},
		{[]string{"-model", "a", "-mtp", "-draft-model", "b"}, false},
	} {
		m, s := &Models{}, server.Settings{}
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		m.Flags(fs, &s)
		m.FolderFlags(fs, &s)
		err := command.Parse(fs, c.args, io.Discard)
		if err == nil {
			err = m.Check(&s)
		}
		if c.ok && err != nil || !c.ok && !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v", c.args, err)
		}
		if c.ok && c.args[2] == "-lora" && (len(m.Options.LoRA) != 2 || m.Options.LoRA[1].Scale != 2) {
			t.Errorf("%q: %v", c.args, m.Options.LoRA)
		}
	}
}

// TestNoFolder: an error of a command without -models names no such flag.
func TestNoFolder(t *testing.T) {
	for _, flagged := range []bool{true, false} {
		m, s := &Models{}, server.Settings{}
		fs := flag.NewFlagSet("answer", flag.ContinueOnError)
		m.Flags(fs, &s)
		if flagged {
			m.FolderFlags(fs, &s)
		}
		err := fs.Parse([]string{"-model", "a", "-model", "b", "-draft-model", "c"})
		if err == nil {
			err = m.Check(&s)
		}
		if err == nil || strings.Contains(err.Error(), "-models") != flagged {
			t.Errorf("%v: %v", flagged, err)
		}
	}
}

// TestDraftErrors: an error of what guesses names its flag.
func TestDraftErrors(t *testing.T) {
	const folder = "../testdata/tiny/"
	for _, draft := range []string{"no/model", folder + "qwen3_5_text-2", folder + "bert-1"} {
		m, s := &Models{}, server.Settings{}
		err := command.Parse(flagSet(m, &s), []string{"-model", folder + "llama-2", "-draft-model", draft}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Load(t.Context(), s, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "-draft-model: ") {
			t.Errorf("%s: %v", draft, err)
		}
	}
	m, s := &Models{}, server.Settings{}
	if err := command.Parse(flagSet(m, &s), []string{"-model", folder + "llama-2", "-mtp"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(t.Context(), s, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "-mtp: ") {
		t.Errorf("a model without a layer that guesses: %v", err)
	}
}

// flagSet returns the flags of a command that serves a folder of models, too.
func flagSet(m *Models, s *server.Settings) *flag.FlagSet {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	m.Flags(fs, s)
	m.FolderFlags(fs, s)
	return fs
}
