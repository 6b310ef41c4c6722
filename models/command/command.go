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
type UsageError struct {
	error
	subcommand string // "" means the command itself
}

// Unwrap returns the error without the mark.
func (e UsageError) Unwrap() error { return e.error }

// Usage returns err as a [UsageError].
func Usage(err error) error { return UsageError{error: err} }

// In returns an error of a subcommand: if it is a [UsageError], [Exit] names the help of that
// subcommand.
func In(subcommand string, err error) error {
	var usage UsageError
	if errors.As(err, &usage) {
		return UsageError{err, subcommand}
	}
	return err
}

// Exit reports err as an error of the command called name and ends the program: with status 2
// for a [UsageError], with 128 and the number of the signal after a [SignalError], and with
// status 1 after any other error. It returns if err is nil or [flag.ErrHelp].
func Exit(name string, err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprint(os.Stderr, message(name, err))
	os.Exit(status(err))
}

// message returns what Exit says.
func message(name string, err error) string {
	var usage UsageError
	if !errors.As(err, &usage) {
		return fmt.Sprintf("%s: %v\n", name, err)
	}
	help := name
	if usage.subcommand != "" {
		help += " " + usage.subcommand
	}
	return fmt.Sprintf("%s: %v\nRun %s -h for help.\n", name, err, help)
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
