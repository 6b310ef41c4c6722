// Command bench shows what attn does on this CPU: it checks on activations of trained
// models that every tier computes the same bits, prints their error against float64 next
// to PyTorch's, and measures their speed as a share of the machine's FMA peak. It writes its
// results to files, draws pages from them, and compares them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/attn-go/attn/models/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// errFailed is the error of a command that has said what is wrong.
var errFailed = errors.New("failed")

// subcommands are those beside measuring. Each has a flag -h.
var subcommands = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) error{
	"report": runReport, "compare": runCompare, "tune": runTune, "kernels": runKernels,
}

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name, sub := "bench", runMeasure
	if len(args) > 0 {
		if f, ok := subcommands[strings.TrimLeft(args[0], "-")]; ok {
			name, sub, args = "bench "+args[0], f, args[1:]
		}
	}
	err := sub(ctx, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, new(command.UsageError)):
		fmt.Fprintf(stderr, "%s: %v\n%[1]s -h lists the flags\n", name, err)
		return exitUsage
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	if err != errFailed {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
	}
	return exitFailed
}

// newFlags returns the flags of a command with a usage.
func newFlags(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	return fs
}

// noArguments returns a usage error if a command line has any.
func noArguments(fs *flag.FlagSet) error {
	if fs.NArg() > 0 {
		return command.Usage(fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	return nil
}
