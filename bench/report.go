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
)

const reportUsage = `usage: go run ./bench report [flags] [FILE...]

Draws one self-contained page of HTML from files that -json wrote, or from those in
bench/results, and says whether all machines computed the same bits. Exits with 1 if
they did not.

`

// committed are the files of a page for which none are named.
const committed = "bench/results/*.json"

// newFlags returns the flags of a subcommand. parse in runReport and runCompare reports errors.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// usageOf reports an error of a subcommand's flags, or prints its usage if that was asked for.
func usageOf(fs *flag.FlagSet, text string, err error, stdout, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, text)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return exitOK
	}
	fmt.Fprintf(stderr, "bench %s: %v\nbench %[1]s -h lists the flags\n", fs.Name(), err)
	return exitUsage
}

// runReport runs the subcommand report.
func runReport(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlags("report")
	out := fs.String("o", "report.html", "`file` to write the page to; -: standard output")
	serve := fs.Bool("serve", false, "show the page on localhost until ^C, drawn anew at each visit; writes no file")
	svg := fs.String("svg", "", "write the charts for a README to a `folder` as well")
	files, err := parseMixed(fs, args)
	if err == nil && len(files) == 0 {
		files, err = filepath.Glob(committed)
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "o" && *serve {
			err = errors.New("-o does not go with -serve, which writes no file")
		}
	})
	if err == nil && len(files) == 0 {
		err = errors.New("want files that -json wrote: there are no " + committed + " here")
	}
	if err != nil {
		return usageOf(fs, reportUsage, err, stdout, stderr)
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
		fmt.Fprintf(stderr, "bench report: %v\n", err)
		return exitFailed
	}
	a := results.Agree(all)
	fmt.Fprintln(stderr, a.Line)
	if !a.Agree {
		for _, name := range a.Names {
			fmt.Fprintf(stderr, "bench report: %s\n", name)
		}
		return exitFailed
	}
	return exitOK
}

// parseMixed parses flags before, between and behind the other arguments, and returns those.
func parseMixed(fs *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return others, nil
		}
		others, args = append(others, fs.Arg(0)), fs.Args()[1:]
	}
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
