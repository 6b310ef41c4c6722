// Package skinny generates the kernels for few query rows, as in decoding: keys or columns of V
// are in the lanes.
package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
)

type gen struct{ *emit.Gen }

// New returns what emits these kernels into the file of g.
func New(g *emit.Gen) spec.BF16SkinnyEmitter { return &gen{g} }
