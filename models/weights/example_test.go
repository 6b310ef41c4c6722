package weights_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/attn-go/attn/models/weights"
)

// A model is named by its path, or by the name with which attn fetch has downloaded it.
func ExampleResolve() {
	path, err := weights.Resolve("../testdata/tiny/bert-1")
	fmt.Println(path, err)
	_, err = weights.Resolve("no such model")
	fmt.Println(errors.Is(err, os.ErrNotExist))

	// Output:
	// ../testdata/tiny/bert-1 <nil>
	// true
}
