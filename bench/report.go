package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/bench/internal/page"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/models/command"
)

const reportUsage = `usage: go run ./bench report [flags] [FILE...]

Draws one self-contained page of HTML from files that -json wrote, or from those in
bench/results, and says whether all machines computed the same bits. Exits with 1 if
they did not.

`

// committed are the files of a page for which none are named.
const committed = "bench/results/*.json"

// committedPeers has files of attn beside other programs.
const committedPeers = "bench/results/peers"

// runReport runs the subcommand report.
func runReport(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("report", reportUsage)
	out := fs.String("o", "report.html", "`file` to write the page to; -: standard output")
	docs := fs.String("docs", "", "write benchmarks.md and its charts to a `folder` as well, also of the files in "+committedPeers)
	if err := command.Parse(fs, args, stdout); err != nil {
		return err
	}
	files := fs.Args()
	if len(files) == 0 {
		files, _ = filepath.Glob(committed)
	}
	if len(files) == 0 {
		return command.Usage(errors.New("want files that -json wrote: there are no " + committed + " here"))
	}
	all, err := results.ReadAll(files)
	if err == nil && *docs != "" {
		err = writeDocuments(*docs, all)
	}
	if err == nil {
		err = writePage(*out, all, stdout)
	}
	if err != nil {
		return err
	}
	if *out != "-" && *out != os.DevNull {
		at, err := filepath.Abs(*out)
		if err != nil {
			return err
		}
		fmt.Fprintf(stderr, "The page is %s\n", at)
	}
	a := results.Agree(all)
	fmt.Fprintln(stderr, a.Line)
	for _, name := range a.Names {
		fmt.Fprintf(stderr, "bench report: %s\n", name)
	}
	if !a.Agree {
		return errFailed
	}
	return nil
}

func writeDocuments(folder string, files []*results.File) error {
	peers, err := results.ReadComparisons(committedPeers)
	if err != nil {
		return err
	}
	if len(peers) == 0 {
		return errors.New("-docs: there are no files in " + committedPeers + " here, want the root of the repository")
	}
	return page.WriteDocuments(folder, files, peers)
}

func writePage(path string, files []*results.File, stdout io.Writer) (err error) {
	if path == "-" {
		return page.Write(stdout, files)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(page.Write(f, files), f.Close())
}
