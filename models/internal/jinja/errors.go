package jinja

import "fmt"

// SyntaxError reports a template that is not Jinja, or not the part of it that is known here.
type SyntaxError struct {
	Line int // from 1
	Got  string
	Want string // "" if it is obvious
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message()) }

// Message returns the error without the line.
func (e *SyntaxError) Message() string {
	if e.Want == "" {
		return e.Got
	}
	return fmt.Sprintf("got %s, want %s", e.Got, e.Want)
}

// RenderError reports what a template does with values that does not work, or too much work.
type RenderError struct {
	Line    int // from 1
	Message string
}

func (e *RenderError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// RaisedError is raised by a template that calls raise_exception.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }

// fail ends parsing. Parse recovers.
func fail(line int, format string, args ...any) {
	panic(&SyntaxError{Line: line, Got: fmt.Sprintf(format, args...)})
}
