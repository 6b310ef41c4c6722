//go:build !(gc && (arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || amd64.v3))

package fallback

// FMA returns x·y + z rounded once, with subnormals, infinities and signed zeros as in
// IEEE 754. x and y must not both be constants: if this is an instruction, the compiler
// would multiply them itself, and round.
func FMA(x, y, z float32) float32 { return fmaEmulated(x, y, z) }

// wide, muladd and rare are the steps of FMA; see fma.go.
type wide = float64

func muladd(x, y, z float32) wide { return muladd64(x, y, z) }

func rare(s wide) bool { return rare64(s) }
