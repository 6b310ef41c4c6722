//go:build gc && (arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || amd64.v3)

package fallback

// FMA returns x·y + z rounded once, with subnormals, infinities and signed zeros as in
// IEEE 754. x and y must not both be constants: if this is an instruction, the compiler
// would multiply them itself, and round.
func FMA(x, y, z float32) float32 { return muladd(x, y, z) }

// wide, muladd and rare are the steps of FMA; see fma.go.
type wide = float32

// muladd is one instruction: on these architectures gc fuses a product and a sum. The
// conversions change no value, but without them fusion is not certain. On amd64 an
// operand that comes from memory may first be merged into MULSS or ADDSS, and then
// nothing is left to fuse. A converted operand is no memory operand, and as z it is no
// product that could be fused instead of x·y.
func muladd(x, y, z float32) wide {
	return float32(x)*float32(y) + float32(z)
}

func rare(wide) bool { return false }
