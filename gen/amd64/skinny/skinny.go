// Package skinny generates the kernels for few query rows, as in decoding: keys or columns of V
// are in the lanes.
package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
)

type gen struct{ *emit.Gen }

// An Emitter emits them.
type Emitter interface {
	spec.BF16SkinnyEmitter
	spec.SkinnyRowsEmitter
}

// New returns what emits these kernels into the file of g.
func New(g *emit.Gen) Emitter { return &gen{g} }
