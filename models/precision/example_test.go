package precision_test

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/precision"
)

// A program takes a precision from its command line. It is a field of the options of packages
// decoder and encoder.
func Example() {
	for _, name := range []string{"int8", "int4"} {
		p, err := precision.Parse(name)
		if errors.Is(err, kernel.ErrArgument) {
			fmt.Println(err)
			continue
		}
		fmt.Println(p, p == precision.Int8)
	}

	// Output:
	// int8 true
	// precision.Parse: name: "int4", want float32, bf16 or int8
}
