// Package program has what the commands of the examples share.
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/attn-go/attn/examples/heat"
)

// A UsageError says what is wrong with a command line.
type UsageError struct{ error }

// Usage returns err as a [UsageError].
func Usage(err error) error { return UsageError{err} }

// Exit reports err as an error of the command called name and ends the program: with
// status 2 for a [UsageError] and status 1 for any other error. It returns if err is nil
// or [flag.ErrHelp].
func Exit(name string, err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(UsageError)):
		fmt.Fprintf(os.Stderr, "%s: %v\nRun %[1]s -h for help.\n", name, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Pictures are the files that a command draws a figure into. A name that is empty stands
// for no file.
type Pictures struct{ SVG, PNG string }

// Flags adds the flags -svg and -png. The files are called name.svg and name.png if
// the command line says nothing else.
func (p *Pictures) Flags(fs *flag.FlagSet, name string) {
	fs.StringVar(&p.SVG, "svg", name+".svg", "SVG `file` to draw, overwritten if it exists; -svg='' draws none")
	fs.StringVar(&p.PNG, "png", name+".png", "PNG `file` to draw, overwritten if it exists; -png='' draws none")
}

// Write draws the figure into the files and reports which files were written.
func (p *Pictures) Write(f *heat.Figure, report io.Writer) error {
	var written []string
	defer func() {
		if len(written) > 0 {
			fmt.Fprintf(report, "wrote %s\n", strings.Join(written, ", "))
		}
	}()
	for _, name := range []string{p.PNG, p.SVG} {
		if name == "" {
			continue
		}
		if err := f.WriteFile(name); err != nil {
			return err
		}
		written = append(written, name)
	}
	return nil
}
