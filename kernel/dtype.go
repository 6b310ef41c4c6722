package kernel

import "github.com/attn-go/attn/fallback"

// DType is the element type of a Tensor.
type DType uint8

const (
	Float32  DType = iota // IEEE-754 binary32
	Float16               // IEEE-754 binary16
	BFloat16              // the upper half of a binary32
	Int8                  // integers that scales turn into numbers, see Tensor.Scaled
)

// String returns the name of the element type: "float32", "float16", "bfloat16"
// or "int8".
func (t DType) String() string {
	names := [...]string{"float32", "float16", "bfloat16", "int8"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// size is the number of bytes of an element.
func (t DType) size() int { return [...]int{4, 2, 2, 1}[t] }

// Element is a type that the slice of a Tensor may have.
type Element interface {
	float32 | F16 | BF16 | int8
}

// F16 is an IEEE-754 binary16 given as bits: 11 bits of precision, magnitudes from
// 2^-24 to 65504.
type F16 uint16

// BF16 is a bfloat16 given as bits: the upper half of a float32, with 8 bits of
// precision.
type BF16 uint16

// Float32 returns the same number as a float32. A NaN stays one.
func (x F16) Float32() float32 { return fallback.F16(uint16(x)) }

// Float32 returns the same number as a float32. A NaN stays one.
func (x BF16) Float32() float32 { return fallback.BF16(uint16(x)) }

// ToF16 returns the F16 nearest to x, ties to even: infinite from 65520 on,
// subnormal below 2^-14. Every NaN becomes 0x7e00.
func ToF16(x float32) F16 { return F16(fallback.ToF16(x)) }

// ToBF16 returns the BF16 nearest to x, ties to even: infinite from half a unit
// beyond the largest on. Every NaN becomes 0x7fc0.
func ToBF16(x float32) BF16 { return BF16(fallback.ToBF16(x)) }
