// Package check holds the finding of an argument check.
package check

import "fmt"

// A Failure describes an argument that a call cannot work with. A nil *Failure
// means that the check passed.
//
// It is no error on purpose: the public packages convert it to their documented
// *kernel.ArgumentError, which has the same fields, and the compiler finds a place
// that forgets to.
type Failure struct {
	Arg  string // the argument: "out", "q", "Options.Scale", ...
	Got  string // what was given: shape and strides, length or value
	Want string // what was expected
}

// Threads reports a negative number of threads.
func Threads(n int) *Failure {
	if n < 0 {
		return &Failure{Arg: "Options.Threads", Got: fmt.Sprint(n), Want: "at least 1, or 0 for all"}
	}
	return nil
}
