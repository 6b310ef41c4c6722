//go:build (amd64 || arm64) && !purego

package parallel

import "github.com/attn-go/attn/asm"

// pause waits a moment, see ukernel.Machine. It is the first function of its table, and of no
// instruction set.
var pause = asm.Machine[0].Kernels.Pause
