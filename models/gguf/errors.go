package gguf

import "fmt"

// A FormatError reports a file that is damaged, malicious or of a kind that this package does
// not read. Find it with errors.As.
type FormatError struct {
	Offset int64  // of what is at fault, in bytes from the start of the file
	Part   string // of the file: "header", `metadata "general.name"`, `tensor "output.weight"`, ...
	Got    string // what was found
	Want   string // what was expected
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("gguf: byte %d: %s: %s, want %s", e.Offset, e.Part, e.Got, e.Want)
}

// A KeyError reports a metadata entry that a file does not have, or that has another type or
// value than was asked for.
type KeyError struct {
	Key   string
	Found string // the type that the entry has, and its value if that is the problem; "" if there is no such entry
	Want  string // the type that was asked for
}

func (e *KeyError) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("gguf: metadata have no %q, want a value of type %s", e.Key, e.Want)
	}
	return fmt.Sprintf("gguf: metadata %q: %s, want %s", e.Key, e.Found, e.Want)
}

// A TensorError reports a tensor that cannot be converted: its type is not supported, its Data
// do not fit its Shape, or the result does not fit the address space.
type TensorError struct {
	Name string
	Type Type
	Got  string
	Want string
}

func (e *TensorError) Error() string {
	return fmt.Sprintf("gguf: tensor %q of type %s: %s, want %s", e.Name, e.Type, e.Got, e.Want)
}
