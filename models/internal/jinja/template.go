package jinja

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

// Template is a template, parsed. It does not change and is safe for concurrent use.
type Template struct{ parsed *syntax.Template }

// Parse parses a template. An error is a [*kernel.Error] of the kind [ErrSyntax].
func Parse(source string) (*Template, error) {
	t, err := syntax.Parse(source)
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// Names tells whether a name stands in a tag of the template. Without that it cannot read a
// variable of that name.
func (t *Template) Names(s string) bool { return t.parsed.Names[s] }

// The kinds of a [kernel.Error]. All but ErrRefused name the line of the template, counted from 1.
var (
	ErrSyntax  = syntax.ErrSyntax                                             // the template is not Jinja, or not the part of it that is known here
	ErrRender  = errors.New("the template does what does not work")           // with values, or it takes too much work
	ErrRefused = errors.New("the template refuses the messages that it gets") // it calls raise_exception
)

// failed returns an error of a line. A message may say what was wanted.
func failed(line int, message string) *kernel.Error {
	got, want, ok := strings.Cut(message, ", want ")
	if !ok {
		want = "what templates can do here"
	}
	return &kernel.Error{Where: fmt.Sprint("line ", line), Got: got, Want: want, Kind: ErrRender}
}
