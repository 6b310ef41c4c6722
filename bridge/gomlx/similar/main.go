// Command similar prints how similar texts are to the first one, by MiniLM on GoMLX's backend in
// pure Go, with its attention computed by attn.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attn-go/attn/bridge/gomlx"
	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/attn-go/attn/bridge/gomlx/internal/minilm"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/weights"
)

func main() {
	command.Exit("similar", run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, report io.Writer) error {
	fs := flag.NewFlagSet("similar", flag.ContinueOnError)
	var inputs command.Inputs
	fs.Usage = func() {
		fmt.Fprintf(report, "usage: similar [flags] -text TEXT -text TEXT...\n       similar [flags] [-text TEXT] FILE...   with the lines of files\n\nPrints how similar texts are to the first one: 1 for the same meaning, near 0 for none in common.\n\n")
		fs.PrintDefaults()
	}
	own := fs.Bool("own", false, "keep GoMLX's own attention")
	model := fs.String("model", "all-MiniLM-L6-v2", "`folder` of MiniLM, or the name of it where attn fetch puts it")
	inputs.Flag(fs, "a `text`; may be repeated")
	if err := command.Parse(fs, args, report); err != nil {
		return err
	}
	inputs.Take(fs)
	if err := inputs.Check(report); err != nil {
		return err
	}
	texts, err := inputs.Lines(context.Background(), os.Stdin)
	if err != nil {
		return err
	}
	if len(texts) < 2 {
		return fmt.Errorf("%d texts, want at least 2", len(texts))
	}
	if !*own {
		hook.Set(gomlx.SDPA)
	}
	folder, err := weights.Resolve(*model)
	if err != nil {
		return err
	}
	m, err := minilm.Load(folder)
	if err != nil {
		return err
	}
	start := time.Now()
	vectors, err := m.Embed(texts)
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "%d texts in %v\n", len(texts), time.Since(start).Round(time.Millisecond))
	for i, v := range vectors[1:] {
		var similarity float32
		for j, x := range v {
			similarity += x * vectors[0][j]
		}
		fmt.Fprintf(out, "%6.3f  %s\n", similarity, texts[i+1])
	}
	return nil
}
