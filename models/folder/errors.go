package folder

import "fmt"

// An Error says what part of a model's files does not fit. Find it with [errors.As].
type Error struct {
	Path string // of the file
	Name string // of the tensor, of the key, or of what else is meant
	Got  string // what the file has: a type and shape, a value, or "nothing"
	Want string // what was expected
}

// Error returns "PATH: NAME: got GOT, want WANT".
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: got %s, want %s", e.Path, e.Name, e.Got, e.Want)
}
