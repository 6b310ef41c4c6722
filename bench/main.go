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

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "report" {
		return runReport(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "compare" {
		return runCompare(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && strings.TrimLeft(args[0], "-") == "tune" {
		return runTune(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && strings.TrimLeft(args[0], "-") == "kernels" {
		return runKernels(args[1:], stdout, stderr)
	}
	c, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\nbench -h lists the flags\n", err)
		return exitUsage
	}
	failures, err := newBench(c, stdout, stderr).run(ctx)
	for _, f := range failures {
		fmt.Fprintf(stderr, "bench: %s\n", f)
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
	}
	if err != nil || len(failures) > 0 {
		return exitFailed
	}
	return exitOK
}
