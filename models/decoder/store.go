package decoder

import (
	"fmt"

	"github.com/attn-go/attn/models/gguf"
)

// A store has the tensors of a model, by their names in GGUF files: a [file] or a [checkpoint].
type store interface {
	has(name string) bool
	shape(name string) []int // nil without the tensor
	tensor(name string, shape ...int) (gguf.Tensor, error)
	skip(name string)     // it is not needed
	forget(t gguf.Tensor) // it has been copied
	unused() error        // reports a tensor that nothing has asked for
}

// A storeError reports a tensor that a file lacks, that has another shape, or that nobody has a use for.
type storeError struct {
	Tensor string // its name
	Got    string
	Want   string
}

// Error returns "tensor NAME: got GOT, want WANT".
func (e *storeError) Error() string {
	return fmt.Sprintf("tensor %q: got %s, want %s", e.Tensor, e.Got, e.Want)
}

func badTensor(name, got, want string) error { return &storeError{name, got, want} }
