package chattemplate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/models/internal/jinja"
)

// SyntaxError reports a template that is not Jinja, or uses a part of the language that this
// package does not have. Find it with errors.As.
type SyntaxError struct {
	Line    int // from 1
	Message string
}

// Error returns "chattemplate: line LINE: MESSAGE".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("chattemplate: line %d: %s", e.Line, e.Message)
}

// RenderError reports a template that does with the messages what does not work, such as adding a
// string to a number, or what takes too much work. Find it with errors.As.
type RenderError struct {
	Line    int // of the template, from 1
	Message string
}

// Error returns "chattemplate: line LINE: MESSAGE".
func (e *RenderError) Error() string {
	return fmt.Sprintf("chattemplate: line %d: %s", e.Line, e.Message)
}

// RefusedError reports messages that the template refuses, such as two of the user in a row. Find
// it with errors.As.
type RefusedError struct{ Message string } // what the template says

// Error returns "chattemplate: the template refuses the messages: MESSAGE".
func (e *RefusedError) Error() string {
	return "chattemplate: the template refuses the messages: " + e.Message
}

// VariableError reports a variable of [Options] or of a [Conversation] whose type is none that it can have, or a part
// of these that should be JSON and is not. Find it with errors.As.
type VariableError struct {
	Name string
	Type string // or what is wrong with the JSON
	Want string // "" is one of the types
}

// Error returns "chattemplate: variable NAME: got TYPE, want WANT", such as nil, bool, int, float64, string or JSON.
func (e *VariableError) Error() string {
	want := cmp.Or(e.Want, "nil, bool, int, float64, string or JSON")
	return fmt.Sprintf("chattemplate: variable %s: got %s, want %s", e.Name, e.Type, want)
}

// renderError returns an error of package jinja as one of this package.
func renderError(ctx context.Context, err error) error {
	var raised *jinja.RaisedError
	var failed *jinja.RenderError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &raised):
		return &RefusedError{raised.Message}
	case errors.As(err, &failed):
		return &RenderError{failed.Line, failed.Message}
	}
	return err
}
