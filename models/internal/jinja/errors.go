package jinja

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/jinja/syntax"
)

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
