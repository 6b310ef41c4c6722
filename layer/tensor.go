package layer

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// checkFloats reports a tensor that is not valid, or not of float32.
func checkFloats(arg string, t *kernel.Tensor) error {
	if err := t.Check(arg); err != nil {
		return err
	}
	if t.DType() != kernel.Float32 {
		return fault(arg, t, "float32")
	}
	return nil
}

// fault is the error of a tensor that is not what is wanted.
func fault(arg string, t *kernel.Tensor, want string) error {
	return &kernel.ArgumentError{Arg: arg, Got: fmt.Sprintf("[B H L D] = %v of %v", t.Shape(), t.DType()), Want: want}
}

// eachRow calls f for every row of a tensor.
func eachRow(shape [4]int, f func(b, h, l int)) {
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range shape[2] {
				f(b, h, l)
			}
		}
	}
}
