//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

import "github.com/attn-go/attn/internal/ukernel"

// NarrowStep divides the columns of SkinnyKernels' kernels for float16, bfloat16 and int8, which
// there are none of.
const NarrowStep = ukernel.SkinnyGroup

// NarrowValues is the least number of columns of values of the same.
const NarrowValues = ukernel.SkinnyGroup

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
