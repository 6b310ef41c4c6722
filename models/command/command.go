// Package command has what the commands of attn share: how a command line is parsed, and how a
// program ends. Wrong usage and failure are told apart:
//
//	func main() { command.Exit("search", run(os.Args[1:])) }
//
//	func run(args []string) error {
//		fs := flag.NewFlagSet("search", flag.ContinueOnError)
//		top := fs.Int("top", 5, "how many lines to print")
//		if err := command.Parse(fs, args, os.Stdout); err != nil {
//			return err
//		}
//		if *top < 1 {
//			return command.Usage(fmt.Errorf("-top is %d, want 1 or more", *top))
//		}
//		...
//	}
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// A UsageError says what is wrong with a command line.
type UsageError struct{ error }

// Unwrap returns the error without the mark.
func (e UsageError) Unwrap() error { return e.error }

// Usage returns err as a [UsageError].
func Usage(err error) error { return UsageError{err} }

// Parse parses a command line. If it asks for help, help gets it, and the error is
// [flag.ErrHelp]. Other errors are a [UsageError].
func Parse(fs *flag.FlagSet, args []string, help io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(help)
		fs.Usage()
		return err
	case err != nil:
		return Usage(err)
	}
	return nil
}

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
