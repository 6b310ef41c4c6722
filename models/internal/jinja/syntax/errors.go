package syntax

import "fmt"

// An Error reports a template that is not Jinja, or not the part of it that is known here.
type Error struct {
	Line int // from 1
	Got  string
	Want string // "" if it is obvious
}

// Error returns "line LINE: " and the message.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message()) }

// Message returns "got GOT, want WANT", or GOT alone.
func (e *Error) Message() string {
	if e.Want == "" {
		return e.Got
	}
	return fmt.Sprintf("got %s, want %s", e.Got, e.Want)
}

// fail ends parsing. Parse recovers.
func fail(line int, format string, args ...any) {
	panic(&Error{Line: line, Got: fmt.Sprintf(format, args...)})
}
