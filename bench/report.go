package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

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

// runReport runs the subcommand report.
func runReport(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("report", reportUsage)
	out := fs.String("o", "report.html", "`file` to write the page to; -: standard output")
	serve := fs.Bool("serve", false, "show the page on localhost until ^C, drawn anew at each visit; writes no file")
	svg := fs.String("svg", "", "write the charts for a README to a `folder` as well")
	if err := command.Parse(fs, args, stdout); err != nil {
		return err
	}
	files := fs.Args()
	if len(files) == 0 {
		files, _ = filepath.Glob(committed)
	}
	var wrong error
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "o" && *serve {
			wrong = errors.New("-o does not go with -serve, which writes no file")
		}
	})
	if len(files) == 0 {
		wrong = errors.New("want files that -json wrote: there are no " + committed + " here")
	}
	if wrong != nil {
		return command.Usage(wrong)
	}
	all, err := results.ReadAll(files)
	if err == nil && *svg != "" {
		err = page.WriteCharts(*svg, all)
	}
	switch {
	case err != nil:
	case *serve:
		err = servePage(ctx, files, stdout)
	default:
		err = writePage(*out, all, stdout)
	}
	if err != nil {
		return err
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

// servePage shows the page until the context ends. It reads the files at each visit.
func servePage(ctx context.Context, files []string, stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "http://%s\n", l.Addr())
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		all, err := results.ReadAll(files)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := page.Write(w, all); err != nil {
			fmt.Fprintln(w, err)
		}
	})}
	context.AfterFunc(ctx, func() { s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
