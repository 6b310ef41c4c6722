package stores

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
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

// badTensor reports a tensor by its name.
func badTensor(name, got, want string) error {
	return &kernel.Error{Where: fmt.Sprintf("tensor %q", name), Got: got, Want: want}
}
