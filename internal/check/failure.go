// Package check holds the finding of an argument check.
package check

import (
	"errors"
	"fmt"
)

// A Failure says why a call cannot work. A nil *Failure means that the check passed.
//
// It is no error on purpose: a public function converts it to its documented *kernel.Error,
// which has the same fields, and the compiler finds a place that forgets to. There it gets
// the function's name, by In.
type Failure struct {
	Where string // the argument: "out", "q", "Options.Scale", ...
	Got   string // what was given: shape and strides, length or value
	Want  string // what was expected
	Kind  error  // an error below, nil for ErrArgument
}

// The kinds of failures, which package kernel exports.
var (
	ErrArgument = errors.New("attn: an argument does not fit")
	ErrMemory   = errors.New("attn: the memory does not suffice")
	ErrTier     = errors.New("attn: the tier cannot run")
)

// In returns f as the failure of a function, which the caller knows by this name.
func (f *Failure) In(function string) *Failure {
	return &Failure{Where: function + ": " + f.Where, Got: f.Got, Want: f.Want, Kind: f.Kind}
}

// TooLarge reports a size for which the memory does not suffice.
func TooLarge(arg, got string) *Failure {
	return &Failure{Where: arg, Got: got, Want: "a size that fits memory and the memory limit of the program", Kind: ErrMemory}
}

// Threads reports a negative number of threads.
func Threads(arg string, n int) *Failure {
	if n < 0 {
		return &Failure{Where: arg, Got: fmt.Sprint(n), Want: "at least 1, or 0 for all"}
	}
	return nil
}

// Length reports got elements where want are wanted: "one per output".
func Length(arg string, got, want int, what string) *Failure {
	if got != want {
		return &Failure{Where: arg, Got: fmt.Sprintf("%d numbers", got), Want: fmt.Sprintf("%d, %s", want, what)}
	}
	return nil
}

// LengthOrNil is Length for a slice that may be nil.
func LengthOrNil(arg string, x []float32, want int, what string) *Failure {
	if x == nil || len(x) == want {
		return nil
	}
	return Length(arg, len(x), want, what+", or nil")
}

// Least reports a number below the least that fits.
func Least(arg string, n, least int) *Failure {
	if n < least {
		return &Failure{Where: arg, Got: fmt.Sprint(n), Want: fmt.Sprintf("at least %d", least)}
	}
	return nil
}
