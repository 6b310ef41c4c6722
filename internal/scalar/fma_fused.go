//go:build gc && (arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || amd64.v3)

package scalar

// FMA returns x·y + z rounded once, with subnormals, infinities and signed zeros as in
// IEEE 754. x and y must not both be constants: if this is an instruction, the compiler
// would multiply them itself, and round.
func FMA(x, y, z float32) float32 { return MulAdd(x, y, z) }

// Wide, MulAdd and Rare are the steps of FMA, see the comment of the package.
type Wide = float32

// MulAdd is one instruction: on these architectures gc fuses a product and a sum. The
// conversions change no value, but without them fusion is not certain. On amd64 an
// operand that comes from memory may first be merged into MULSS or ADDSS, and then
// nothing is left to fuse. A converted operand is no memory operand, and as z it is no
// product that could be fused instead of x·y.
func MulAdd(x, y, z float32) Wide {
	return float32(x)*float32(y) + float32(z)
}

// Rare reports that rounding s to float32 may not give the fma.
func Rare(Wide) bool { return false }
