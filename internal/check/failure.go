// Package check holds the finding of an argument check.
package check

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
