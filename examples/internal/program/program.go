// Package program is what the examples' main functions share.
package program

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// A UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Usage makes one of an error.
func Usage(err error) error { return UsageError{err} }

// Exit ends the program called name as err says: with 2 if the command line makes no
// sense, with 1 if anything else is wrong. It returns if err is nil, or if help was asked
// for.
func Exit(name string, err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(UsageError)):
		fmt.Fprintf(os.Stderr, "%s: %v\n%[1]s -h lists the flags\n", name, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
