//go:build (amd64 || arm64) && !purego

package parallel

import "github.com/attn-go/attn/asm"

// pause is for loops that wait for another thread.
func pause() { asm.Pause() }
