package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// TestLoad: tables of small models have a row for each thing that is measured.
func TestLoad(t *testing.T) {
	f := tinyllama.New(nil)
	f.AddVocabulary()
	f.Set("llama.context_length", uint32(8000)) // for the long prompt, whose letters are tokens
	path := f.Write(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-chat", path, "-embed", "../../testdata/tiny/bert-1", "-clients", "1,3", "-answers", "1", "-max", "4", "-sentences", "40", "-ctx", "8000"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Model.Generate", "server, 1 clients", "server, 3 clients", "2,000 tokens", "Embed, one call of 40", "32 clients"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no row %q in\n%s", want, &out)
		}
	}
	for _, args := range [][]string{{"-clients", "0"}, {"-max", "1"}, {"-tier", "none"}} {
		if err := run(t.Context(), args, io.Discard); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}
