package jinja

import (
	"fmt"

	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

// SyntaxError reports a template that is not Jinja, or not the part of it that is known here.
type SyntaxError = syntax.Error

// RenderError reports what a template does with values that does not work, or too much work.
type RenderError struct {
	Line    int // from 1
	Message string
}

func (e *RenderError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// RaisedError is raised by a template that calls raise_exception.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }
