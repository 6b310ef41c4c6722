// Command sizes measures what attn costs the programs that use it: their size, and the time it
// takes to build them. It builds the three programs of testdata, and prints a table in Markdown.
// Run it in the root of the repository:
//
//	go run ./gen/tools/sizes
//	GOOS=linux GOARCH=arm64 go run ./gen/tools/sizes -only attention
//
// Sizes are of the file that go build writes, and of the file that it writes without symbols and
// debug information (-ldflags '-s -w'). A cold build begins with an empty build cache: it compiles
// the standard library, too. A warm one follows a change of the program's own file. Modules of
// others come from the module cache, and their download does not count. All builds are without cgo.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed testdata/*.go
var sources embed.FS

// programs are the names of the sources, in the order of the table.
var programs = []string{"hello", "attention", "embedder"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// run prints the table.
func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("sizes", flag.ContinueOnError)
	only := f.String("only", "", "build this program alone: "+strings.Join(programs, ", "))
	if err := f.Parse(args); err != nil {
		return err
	}
	names := programs
	if *only != "" {
		if names = []string{*only}; !slices.Contains(programs, *only) {
			return fmt.Errorf("-only: got %q, want one of %s", *only, strings.Join(programs, ", "))
		}
	}
	fmt.Fprintln(out, "| program | size, MB | without symbols, MB | cold build, s | warm build, s |\n|---|---|---|---|---|")
	for _, name := range names {
		r, err := measure(ctx, name, true)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %.1f | %.1f |\n", name, mb(r.size), mb(r.stripped), r.cold.Seconds(), r.warm.Seconds())
	}
	return nil
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

// A result is what was measured of a program.
type result struct {
	size, stripped int64
	cold, warm     time.Duration
}

// measure builds a program three times: at first, with a changed source, and without symbols. With
// ownCache the build cache is empty at first, otherwise it is the user's.
func measure(ctx context.Context, name string, ownCache bool) (r result, err error) {
	source, err := sources.ReadFile("testdata/" + name + ".go")
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "sizes")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	b := builder{file: filepath.Join(dir, name+".go"), program: filepath.Join(dir, name), env: append(os.Environ(), "CGO_ENABLED=0")}
	if ownCache {
		b.env = append(b.env, "GOCACHE="+filepath.Join(dir, "cache"))
	}
	if err := os.WriteFile(b.file, source, 0o666); err != nil {
		return r, err
	}
	if r.size, r.cold, err = b.build(ctx); err != nil {
		return r, err
	}
	if err := os.WriteFile(b.file, append(source, "\nvar Changed = 1\n"...), 0o666); err != nil {
		return r, err
	}
	if _, r.warm, err = b.build(ctx); err != nil {
		return r, err
	}
	r.stripped, _, err = b.build(ctx, "-ldflags=-s -w")
	return r, err
}

// A builder builds a program from one file.
type builder struct {
	file, program string
	env           []string
}

// build returns the size of the program and the time that go build took.
func (b builder) build(ctx context.Context, flags ...string) (size int64, took time.Duration, err error) {
	args := append([]string{"build", "-o", b.program}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, b.file)...)
	command.Env = b.env
	start := time.Now()
	if text, err := command.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", command, err, text)
	}
	took = time.Since(start)
	info, err := os.Stat(b.program)
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), took, nil
}
