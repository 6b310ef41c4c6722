package born

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/tensor"
)

// shapeError returns the error for a tensor of a wrong shape.
func shapeError(arg string, got tensor.Shape, want string) error {
	return &kernel.Error{Where: arg, Got: fmt.Sprintf("shape %v", []int(got)), Want: want}
}
