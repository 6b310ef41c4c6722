// Package command has what the commands of attn share: how a command line is parsed, where its
// texts come from, and how a program ends. Wrong usage and failure are told apart:
//
//	func main() {
//		ctx, stop := command.Context()
//		defer stop()
//		command.Exit("search", run(ctx, os.Args[1:]))
//	}
//
//	func run(ctx context.Context, args []string) error {
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
//
// Flags have one dash or two and may follow arguments, which [Parse] adds to package flag.
// Other packages for flags read -top as -t -o -p.
//
// The same flag has the same name everywhere: -text for a text, -model for the file or the folder
// of a model, -max for the most tokens or bytes to append, -n for the number of answers, -top for
// the number of results, -temp for the temperature, -seed, -threads and -tier.
package command

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// A UsageError says what is wrong with a command line.
type UsageError struct{ error }

// Unwrap returns the error without the mark.
func (e UsageError) Unwrap() error { return e.error }

// Usage returns err as a [UsageError].
func Usage(err error) error { return UsageError{err} }

// Exit reports err as an error of the command called name and ends the program: with status 2
// for a [UsageError], with 128 and the number of the signal after a [SignalError], and with
// status 1 after any other error. It returns if err is nil or [flag.ErrHelp].
func Exit(name string, err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.As(err, new(UsageError)):
		fmt.Fprintf(os.Stderr, "%s: %v\nRun %[1]s -h for help.\n", name, err)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(status(err))
}

// status returns the exit status for an error.
func status(err error) int {
	var s *SignalError
	switch {
	case errors.As(err, new(UsageError)):
		return 2
	case errors.As(err, &s):
		return s.status()
	}
	return 1
}
