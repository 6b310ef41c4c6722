package jinja

import "fmt"

// syntaxError reports a template that is not Jinja, or not the part of it that is known here.
type syntaxError struct {
	Line int // from 1
	Got  string
	Want string // "" if it is obvious
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message()) }

// Message returns the error without the line.
func (e *syntaxError) Message() string {
	if e.Want == "" {
		return e.Got
	}
	return fmt.Sprintf("got %s, want %s", e.Got, e.Want)
}

// fail ends parsing. Parse recovers.
func fail(line int, format string, args ...any) {
	panic(&syntaxError{Line: line, Got: fmt.Sprintf(format, args...)})
}
