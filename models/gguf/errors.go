package gguf

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// ErrFormat is the kind of a [kernel.Error] about a file that is damaged, malicious or of a kind
// that this package does not read. Where names the byte, counted from the start of the file.
var ErrFormat = errors.New("gguf: this is no GGUF file, or a damaged one")

func formatError(offset int64, part, got, want string) error {
	return &kernel.Error{Where: fmt.Sprintf("gguf: byte %d: %s", offset, part), Got: got, Want: want, Kind: ErrFormat}
}

// KeyError returns a [*kernel.Error] about a metadata entry that a file does not have, for which
// got is "", or that has another type or value than want says.
func KeyError(key, got, want string) error {
	return &kernel.Error{Where: fmt.Sprintf("gguf: metadata %q", key), Got: cmp.Or(got, "nothing"), Want: want}
}
