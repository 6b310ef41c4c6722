// Package precision says how the linear layers of a model round weights and inputs before they
// multiply them.
package precision

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
)

// A Precision says what weights and inputs of linear layers are rounded to before they are
// multiplied. Each gives the same bits on every CPU, and others than the other two.
type Precision uint8

const (
	// Float32 rounds nothing: weights are as in the file.
	Float32 Precision = iota

	// BFloat16 rounds both to bfloat16, see [github.com/attn-go/attn/linear.RoundBFloat16]. Weights
	// that a file has in blocks of 8 or fewer bits stay, and their products equal Float32's;
	// encoders widen them first.
	BFloat16

	// Int8 rounds both to 8 bits, in blocks of 32. Decoders round inputs alone, and need weights in
	// blocks.
	Int8
)

// Names are the tensor names of all precisions, in their order, as flags have them.
var Names = []string{"float32", "bf16", "int8"}

// String returns the name.
func (p Precision) String() string {
	if int(p) < len(Names) {
		return Names[p]
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// Parse returns the precision of a name. The error is a [*kernel.Error].
func Parse(name string) (Precision, error) {
	for i, n := range Names {
		if n == name {
			return Precision(i), nil
		}
	}
	return 0, bad("precision.Parse: name", fmt.Sprintf("%.40q", name))
}

// Check returns a [*kernel.Error] if there is no such precision, about an argument of that name.
func (p Precision) Check(where string) error {
	if int(p) < len(Names) {
		return nil
	}
	return bad(where, p.String())
}

func bad(where, got string) error {
	return &kernel.Error{Where: where, Got: got, Want: strings.Join(Names[:len(Names)-1], ", ") + " or " + Names[len(Names)-1]}
}
