// Package terminal tells whether a stream of a command is a terminal, whose user can be talked
// with.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is tells whether a reader or a writer is a terminal: a file that is one, or, for tests, what has
// a method Terminal that says so.
func Is(stream any) bool {
	switch f := stream.(type) {
	case interface{ Terminal() bool }:
		return f.Terminal()
	case *os.File:
		return term.IsTerminal(int(f.Fd()))
	}
	return false
}
