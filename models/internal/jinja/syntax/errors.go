package syntax

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// ErrSyntax is the kind of a [kernel.Error] about a template that is not Jinja, or not the part of
// it that is known here. It names the line, counted from 1.
var ErrSyntax = errors.New("the template is not Jinja as it is known here")

// fail ends parsing. Parse recovers.
func fail(line int, format string, args ...any) {
	unexpected(line, fmt.Sprintf(format, args...), "a template of the Jinja that is known here")
}

// unexpected is fail for something in whose place something else should stand.
func unexpected(line int, got, want string) {
	panic(&kernel.Error{Where: fmt.Sprint("line ", line), Got: got, Want: want, Kind: ErrSyntax})
}
