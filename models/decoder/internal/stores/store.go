package stores

import (
	"fmt"

	"github.com/attn-go/attn/models/gguf"
)

// A Store has the tensors of a model, by their names in GGUF files: a [File] or a [Folder].
type Store interface {
	Has(name string) bool
	Shape(name string) []int // nil without the tensor
	Tensor(name string, shape ...int) (gguf.Tensor, error)
	Skip(name string)     // it is not needed
	Forget(t gguf.Tensor) // it has been copied
	Unused() error        // reports a tensor that nothing has asked for
}

// An Error reports a tensor that a file lacks, that has another shape, or that nobody has a use for.
type Error struct {
	Tensor string // its name
	Got    string
	Want   string
}

// Error returns "tensor NAME: got GOT, want WANT".
func (e *Error) Error() string {
	return fmt.Sprintf("tensor %q: got %s, want %s", e.Tensor, e.Got, e.Want)
}

func badTensor(name, got, want string) error { return &Error{name, got, want} }
