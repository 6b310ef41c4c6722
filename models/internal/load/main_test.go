package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
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
	out.Reset()
	if err := run(t.Context(), []string{"-chat", path, "-embed", "../../testdata/tiny/bert-1", "-clients", "8", "-vanish", "300ms", "-ctx", "400"}, &out); err != nil {
		t.Fatal(err)
	}
	pages := regexp.MustCompile(`\| (\d+), (\d+), (\d+) \|\n`).FindAllStringSubmatch(out.String(), -1)
	for _, m := range pages {
		free, _ := strconv.Atoi(m[1])
		kept, _ := strconv.Atoi(m[2])
		if all, _ := strconv.Atoi(m[3]); free+kept != all || all == 0 {
			t.Errorf("of %s pages %s are free and %s kept: some are lost", m[3], m[1], m[2])
		}
	}
	if len(pages) != 2 {
		t.Errorf("no rows before and after:\n%s", &out)
	}
	c, err := parse([]string{"-chat", path, "-embed", "../../testdata/tiny/bert-1", "-ctx", "8000"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	url, done, err := c.serve()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	out.Reset()
	if err := run(t.Context(), []string{"-url", url, "-chat", path, "-clients", "2", "-answers", "1", "-max", "4"}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "| server, "); n != 2 {
		t.Errorf("%d rows of a server that runs:\n%s", n, &out)
	}
	for _, args := range [][]string{{"-vanish", "1s", "-url", url}, {"-vanish", "-1s"}, {"-clients", "0"}, {"-max", "1"}, {"-tier", "none"}} {
		if err := run(t.Context(), args, io.Discard); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}
