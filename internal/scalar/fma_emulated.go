//go:build !(gc && (arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || amd64.v3))

package scalar

// FMA returns x·y + z rounded once, with subnormals, infinities and signed zeros as in
// IEEE 754. x and y must not both be constants: if this is an instruction, the compiler
// would multiply them itself, and round.
func FMA(x, y, z float32) float32 { return fmaEmulated(x, y, z) }

// Wide, MulAdd and Rare are the steps of FMA, see the comment of the package.
type Wide = float64

// MulAdd is x·y + z before its last rounding.
func MulAdd(x, y, z float32) Wide { return muladd64(x, y, z) }

// Rare reports that rounding s to float32 may not give the fma.
func Rare(s Wide) bool { return rare64(s) }
