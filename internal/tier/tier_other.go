//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels.QKF16, QKBF16 and QKInt8, which there are none
// of.
const NarrowStep = ukernel.SkinnyGroup

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
